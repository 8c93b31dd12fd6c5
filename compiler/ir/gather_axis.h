/* gather_axis.h - recognises gather(a, index, axis) in a graph. */
#ifndef CR_GATHER_AXIS_H
#define CR_GATHER_AXIS_H

#include "graph.h"

/* The operands of y[.., j, ..] = a[.., index[.., j, ..], ..] along an axis.  An index out of
 * bounds gives NaN, or the least i32. */
struct cr_gather_axis {
    cr_id a, index; /* a has the rank of y; the index has y's shape */
    int axis;
};

/*
 * True if a node is gather(a, index, axis) as the front end writes it (frontend/composites.c): a
 * gather from `a` reshaped to one axis, by element numbers that are computed from the index.
 */
bool cr_find_gather_axis(const struct cr_graph *g, cr_id id, struct cr_gather_axis *along);

#endif
