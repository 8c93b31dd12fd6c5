/* reduce.h - a smaller graph on which an oracle still finds something. */
#ifndef CR_FUZZ_REDUCE_H
#define CR_FUZZ_REDUCE_H

#include "workers.h"

/* Tries for so many seconds to make the graph smaller.  Returns the smallest graph found, which the caller frees;
 * *verdict is what the oracle finds on it. */
struct cr_graph *cr_reduce_graph(const struct cr_graph *g, int oracle, int64_t seconds,
                                 struct cr_verdict *verdict);

#endif
