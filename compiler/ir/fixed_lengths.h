/* fixed_lengths.h - the graph for given values of its lengths. */
#ifndef CR_FIXED_LENGTHS_H
#define CR_FIXED_LENGTHS_H

#include "graph.h"

/*
 * Returns the graph for given values of the lengths, in their order: each length becomes a number,
 * and operands of the bound's size are sliced to it.  The result has no lengths; it defines the
 * meaning of g for these values.  A ragged length becomes its bound, and sums over it are made row
 * by row: rows[i], by length, has its sizes; null stands for the bound in all rows, as for other
 * lengths.  `map`, by node of g, may be null; it receives the id of that node in the result.
 */
struct cr_graph *cr_fix_lengths(const struct cr_graph *g, const int64_t *values,
                                const int32_t *const *rows, cr_id *map);

#endif
