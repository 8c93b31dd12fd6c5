/* id_limits.h - the number of rows of the table that an input's ids select from. */
#ifndef CR_ID_LIMITS_H
#define CR_ID_LIMITS_H

#include "compiler/ir/graph.h"

/* Returns by input, in the graph's order, the bound that ids are below, or 0 if it holds no ids.
 * The caller frees it. */
int64_t *cr_find_id_limits(const struct cr_graph *graph);

#endif
