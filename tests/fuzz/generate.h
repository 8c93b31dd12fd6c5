/* generate.h - random graphs over the whole language. */
#ifndef CR_FUZZ_GENERATE_H
#define CR_FUZZ_GENERATE_H

#include "case.h"

/* Makes graph `number` of a seed, always the same one.  Some graphs are models of token ids, causal models or
 * encoders; with `models`, all are. */
struct cr_case *cr_generate(uint64_t seed, uint64_t number, bool models);

#endif
