/* resize.h - the same model of other sizes. */
#ifndef CR_FUZZ_RESIZE_H
#define CR_FUZZ_RESIZE_H

#include "compiler/ir/graph.h"

/* A change of a size: axes of size `from`, or of a multiple of it, get size `to`, or the same multiple. */
struct cr_resize {
    int64_t from, to;
};

/* Returns an extent after all changes: a multiple of the size `from` becomes the same multiple
 * of `to`. */
int64_t cr_resized(const struct cr_resize *sizes, int n, int64_t extent);

/*
 * The graph of one output with other sizes of its axes, or null: where an op does not fit them any
 * more, or a parameter would have another shape.  A size has to be such that no other axis is a
 * multiple of it by chance; a caller that cannot know that looks at what was made.
 */
struct cr_graph *cr_resize_graph(const struct cr_graph *g, int output,
                                 const struct cr_resize *sizes, int n);

#endif
