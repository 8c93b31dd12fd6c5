/* resize.h - the same model with other sizes. */
#ifndef CR_FUZZ_RESIZE_H
#define CR_FUZZ_RESIZE_H

#include "compiler/ir/graph.h"

/* A change of a size: an axis of size n `from` gets the size n `to`. */
struct cr_resize {
    int64_t from, to;
};

/* Returns a size after all changes: n `from` becomes n `to`. */
int64_t cr_resized(const struct cr_resize *sizes, int n, int64_t extent);

/*
 * Returns the graph of one output with other sizes, or null if an op does not accept them or a
 * parameter would change its shape.  No other axis may be a multiple of a changed size by chance; a
 * caller that does not know must check the result.
 */
struct cr_graph *cr_resize_graph(const struct cr_graph *g, int output,
                                 const struct cr_resize *sizes, int n);

#endif
