/* fixed_lengths.h - copies a graph for given values of its lengths. */
#ifndef CR_FIXED_LENGTHS_H
#define CR_FIXED_LENGTHS_H

#include "graph.h"

/*
 * Returns a copy of the graph for given values of the lengths, in order of their indices: each
 * length becomes a number, and operands of the bound's size are sliced to that number.  The
 * result has no lengths; it defines the meaning of `g` for these values.  A ragged length becomes
 * its bound, and sums over it are made row by row: rows[i] holds the sizes of the rows for length
 * i; null stands for the bound in all rows, and for lengths that are not ragged.  `map`, which
 * may be null, receives for each node of `g` its id in the result.
 */
struct cr_graph *cr_fix_lengths(const struct cr_graph *g, const int64_t *values,
                                const int32_t *const *rows, cr_id *map);

#endif
