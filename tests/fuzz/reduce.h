/* reduce.h - a smaller graph on which an oracle still finds something. */
#ifndef CR_FUZZ_REDUCE_H
#define CR_FUZZ_REDUCE_H

#include "workers.h"

/* Tries for so many seconds; *verdict is that of the graph returned, which the caller frees. */
struct cr_graph *cr_reduce_graph(const struct cr_graph *g, int oracle, int64_t seconds,
                                 struct cr_verdict *verdict);

#endif
