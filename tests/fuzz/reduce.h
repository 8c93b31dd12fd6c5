/* reduce.h - a smaller graph on which an oracle still finds something. */
#ifndef CR_FUZZ_REDUCE_H
#define CR_FUZZ_REDUCE_H

#include "workers.h"

/* Tries to make the graph smaller for so many seconds; *verdict is about the graph that is
 * returned, which the caller frees. */
struct cr_graph *cr_reduce_graph(const struct cr_graph *g, int oracle, int64_t seconds,
                                 struct cr_verdict *verdict);

#endif
