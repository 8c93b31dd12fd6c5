/*
 * axis_classes.h - classes of axes: axes of one class have the same size because ops require it.  A
 * test makes a class a length.  The rules are the tests' own: they call nothing of
 * compiler/ir/lengths.c.
 */
#ifndef CR_FUZZ_AXIS_CLASSES_H
#define CR_FUZZ_AXIS_CLASSES_H

#include "compiler/ir/graph.h"

/* The classes of axes; an axis is node * CR_MAX_RANK + axis. */
struct cr_axes {
    const struct cr_graph *g;
    int *same;   /* another axis of the class; the axis itself if it represents the class */
    bool *fixed; /* by representative: the axes of the class cannot be lengths */
    bool *loose; /* by representative: as lengths, the axes change bits, because weights that have them
                  * are not joined, or because a gather may be found to keep the order of its rows */
    bool *weights; /* by node: it is computed from parameters by movement ops alone */
};

void cr_find_axes(struct cr_axes *x, const struct cr_graph *g);
void cr_free_axes(struct cr_axes *x);

/* Returns the axis that represents the class of an axis; both are node * CR_MAX_RANK + axis. */
int cr_axis_class(struct cr_axes *x, int axis);

/* True if a script would write the size of this axis as a number of a shape, so that a length
 * can begin here. */
bool cr_size_begins(const struct cr_graph *g, const struct cr_node *node, int axis);

#endif
