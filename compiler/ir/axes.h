/* axes.h - maps an axis of a node to the axis of an operand. */
#ifndef CR_AXES_H
#define CR_AXES_H

#include "graph.h"

/*
 * Returns the axis of operand i that corresponds to an axis of the node, element by element:
 * element j along `axis` is computed from elements j along that axis.  Returns CR_NONE if the
 * operand has no such axis, or if it is sliced, merged, concatenated or repeated.  For an axis of
 * size 1 the result may be another axis of size 1.
 */
int cr_operand_axis(const struct cr_graph *g, cr_id id, int i, int axis);

/* Does the same as cr_operand_axis for a node that need not be in a graph; `in` is operand i of
 * the node. */
int cr_axis_in_operand(const struct cr_node *node, int i, const struct cr_node *in, int axis);

/* Returns the axis of `in` that a reshape between `in` and `node` keeps as axis `axis` of `node`:
 * both axes have the same size and as many elements after them.  Either node may be the reshape's
 * operand.  Returns CR_NONE if there is no such axis. */
int cr_reshaped_axis(const struct cr_node *in, const struct cr_node *node, int axis);

#endif
