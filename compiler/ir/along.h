/* along.h - elements that an index takes along an axis, found in the ops that they are made of. */
#ifndef CR_ALONG_H
#define CR_ALONG_H

#include "graph.h"

/* y[.., j, ..] = a[.., index[.., j, ..], ..] along an axis: NaN, of i32 the least, outside of it. */
struct cr_along {
    cr_id a, index; /* of the rank of y; the index has its shape */
    int axis;
};

/*
 * Whether a node is that as the language spells it (gather(a, index, axis), frontend/composites.c):
 * rows of `a` laid flat are gathered by the numbers of its elements, which indices and the index give.
 */
bool cr_find_along(const struct cr_graph *g, cr_id id, struct cr_along *along);

#endif
