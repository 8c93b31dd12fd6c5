/* along.h - recognises gather(a, index, axis) in a graph. */
#ifndef CR_ALONG_H
#define CR_ALONG_H

#include "graph.h"

/* y[.., j, ..] = a[.., index[.., j, ..], ..] along an axis; an index out of bounds gives NaN, or
 * the least i32. */
struct cr_along {
    cr_id a, index; /* both have the rank of y; the index has its shape */
    int axis;
};

/*
 * True if a node is gather(a, index, axis) as the front end writes it (frontend/composites.c): a gather from
 * `a` reshaped to one axis, by element numbers that are computed from the index.
 */
bool cr_find_along(const struct cr_graph *g, cr_id id, struct cr_along *along);

#endif
