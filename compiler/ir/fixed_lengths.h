/* fixed_lengths.h - the graph for given values of its lengths. */
#ifndef CR_FIXED_LENGTHS_H
#define CR_FIXED_LENGTHS_H

#include "graph.h"

/*
 * The graph for given values of the lengths, in their order: sizes that were lengths are those, and
 * what meets them is cut to size.  It has no lengths, and stands for what the graph means.  `map`, which may
 * be null, has room for a number by node of g: that of the same node in the new graph.
 */
struct cr_graph *cr_fix_lengths(const struct cr_graph *g, const int64_t *values, cr_id *map);

#endif
