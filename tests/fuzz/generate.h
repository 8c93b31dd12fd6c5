/* generate.h - random graphs with all ops of the language. */
#ifndef CR_FUZZ_GENERATE_H
#define CR_FUZZ_GENERATE_H

#include "case.h"

/* Returns graph `number` of a seed, which is always the same graph.  Some graphs are models of token
 * ids (causal models or encoders); with `models`, all are. */
struct cr_case *cr_generate(uint64_t seed, uint64_t number, bool models);

#endif
