/* reduce.h - reduces a graph on which an oracle finds an error. */
#ifndef CR_FUZZ_REDUCE_H
#define CR_FUZZ_REDUCE_H

#include "workers.h"

/* Tries for some seconds to make the graph smaller.  Returns the smallest graph, which the caller
 * frees; *verdict is the error that the oracle finds on it. */
struct cr_graph *cr_reduce_graph(const struct cr_graph *g, int oracle, int64_t seconds,
                                 struct cr_verdict *verdict);

#endif
