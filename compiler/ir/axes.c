#include "axes.h"

/* Returns the product of the sizes of the axes after `axis`. */
static int64_t elements_after(const struct cr_node *node, int axis)
{
    return cr_elements(node->rank - axis - 1, node->shape + axis + 1);
}

int cr_reshaped_axis(const struct cr_node *in, const struct cr_node *node, int axis)
{
    for (int a = 0; a < in->rank; a++)
        if (in->shape[a] == node->shape[axis] &&
            elements_after(in, a) == elements_after(node, axis))
            return a;
    return CR_NONE;
}

/* Returns the axis of the operand that becomes `axis` in the result of a view or other movement
 * op; CR_NONE if no single axis does. */
static int moved_axis(const struct cr_node *in, const struct cr_node *node, int axis)
{
    int aligned = axis - (node->rank - in->rank);
    switch (node->op) {
    case CR_OP_reshape:
        return cr_reshaped_axis(in, node, axis);
    case CR_OP_permute:
        return (int)node->index[axis];
    case CR_OP_expand:
        return aligned >= 0 && in->shape[aligned] == node->shape[axis] ? aligned : CR_NONE;
    default: /* slice, detach, limit */
        return in->shape[axis] == node->shape[axis] ? axis : CR_NONE;
    }
}

int cr_axis_in_operand(const struct cr_node *node, int i, const struct cr_node *in, int axis)
{
    int r = node->rank;
    switch (cr_ops[node->op].kind) {
    case CR_KIND_ELEMENTWISE:
        return axis;
    case CR_KIND_REDUCE:
    case CR_KIND_SCAN:
    case CR_KIND_CONCAT:
        return axis != node->axis ? axis : CR_NONE;
    case CR_KIND_CONTRACT:
        return axis != (i == 0 ? r - 1 : r - 2) ? axis : CR_NONE;
    case CR_KIND_MOVE:
        return moved_axis(in, node, axis);
    case CR_KIND_TAKE:
        return i == 1 || axis != node->axis ? axis : CR_NONE;
    case CR_KIND_GATHER: {
        int indices = i == 1 ? in->rank : r - in->rank + 1;
        if (i == 1)
            return axis < indices ? axis : CR_NONE;
        return axis >= indices ? axis - indices + 1 : CR_NONE;
    }
    default:
        return CR_NONE;
    }
}

int cr_operand_axis(const struct cr_graph *g, cr_id id, int i, int axis)
{
    return cr_axis_in_operand(&g->nodes[id], i, &g->nodes[cr_in(g, id, i)], axis);
}
