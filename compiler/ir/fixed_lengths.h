/* fixed_lengths.h - the graph for given values of its lengths. */
#ifndef CR_FIXED_LENGTHS_H
#define CR_FIXED_LENGTHS_H

#include "graph.h"

/*
 * Returns the graph for given values of the lengths, in their order: each length becomes a number,
 * and operands of the bound's size are sliced to it.  The result has no lengths; it defines the
 * meaning of g for these values.  `map`, by node of g, may be null; it receives the id of that node
 * in the result.
 */
struct cr_graph *cr_fix_lengths(const struct cr_graph *g, const int64_t *values, cr_id *map);

#endif
