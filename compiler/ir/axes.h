/* axes.h - which axis of an operand an axis of a node comes from. */
#ifndef CR_AXES_H
#define CR_AXES_H

#include "graph.h"

/*
 * The axis of operand i whose elements an axis of the node runs through, one after another and all
 * of them: element j along `axis` is computed from elements j of it.  CR_NONE if there is none: the
 * operand has no such axis, or it is cut, merged, joined or repeated.  Of an axis of size 1 the answer may be
 * another axis of size 1.
 */
int cr_operand_axis(const struct cr_graph *g, cr_id id, int i, int axis);

#endif
