/* generate.h - random graphs over the whole language. */
#ifndef CR_FUZZ_GENERATE_H
#define CR_FUZZ_GENERATE_H

#include "case.h"

/* Graph `number` of a seed; the same for the same numbers.  Some are models of ids, causal ones or
 * encoders, or all of them. */
struct cr_case *cr_generate(uint64_t seed, uint64_t number, bool models);

#endif
