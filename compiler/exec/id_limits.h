/* id_limits.h - finds the upper bound of the token ids in each input. */
#ifndef CR_ID_LIMITS_H
#define CR_ID_LIMITS_H

#include "compiler/ir/graph.h"

/* Returns for each input, in the graph's order, the number of rows of the table that its ids
 * select from, so that valid ids are smaller; 0 if the input holds no ids.  The caller frees the
 * array. */
int64_t *cr_find_id_limits(const struct cr_graph *graph);

#endif
