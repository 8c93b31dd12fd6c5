/* id_limits.h - inputs that are ids of rows of a table: how many rows that has. */
#ifndef CR_ID_LIMITS_H
#define CR_ID_LIMITS_H

#include "compiler/ir/graph.h"

/* By input, in the graph's order: a value is less than this; 0 for what is no id.  To be freed. */
int64_t *cr_find_id_limits(const struct cr_graph *graph);

#endif
