/* batch_views.c - moves views of batch axes through ops on matrices; see batch_views.h. */
#include "batch_views.h"

#include <string.h>

/* A view that is moved from a node to its operands, their operands and so on. */
struct push {
    struct cr_rewrite *rw;
    enum cr_op op;
    struct cr_attr attr; /* the attributes of the view; for each node its last two sizes replace
                            those of `shape` */
    int rank;            /* rank of the nodes to which the view can be applied */
    int64_t shape[CR_MAX_RANK]; /* shape of the nodes to which the view can be applied; the last two
                                   sizes are ignored */
    int budget;
};

static cr_id push(struct push *p, cr_id id);

bool cr_is_batch_view(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op != CR_OP_slice && node->op != CR_OP_reshape)
        return false;
    const struct cr_node *in = &g->nodes[cr_in(g, id, 0)];
    return node->rank > 2 && in->rank > 2 &&
           memcmp(node->shape + node->rank - 2, in->shape + in->rank - 2, 2 * sizeof *in->shape) == 0;
}

/* Returns the attributes of the view for a node with `rows` and `columns` as its last two sizes. */
static struct cr_attr viewed(const struct push *p, int64_t rows, int64_t columns)
{
    struct cr_attr attr = p->attr;
    attr.shape[attr.rank - 2] = rows;
    attr.shape[attr.rank - 1] = columns;
    return attr;
}

/* Returns the node that applies the view to node `id`. */
static cr_id view(struct push *p, cr_id id)
{
    const struct cr_node *node = &p->rw->to->nodes[id];
    struct cr_attr attr = viewed(p, node->shape[node->rank - 2], node->shape[node->rank - 1]);
    return cr_rewrite_add(p->rw, p->op, 1, &id, &attr);
}

/* Returns the view of an expand.  If the expand repeats only rows or columns, views its operand and
 * then expands that; an operand without batch axes needs no view.  For any other expand, views its
 * result. */
static cr_id push_expand(struct push *p, cr_id id)
{
    const struct cr_graph *g = p->rw->to;
    const struct cr_node *node = &g->nodes[id];
    cr_id in = cr_in(g, id, 0);
    const struct cr_node *below = &g->nodes[in];
    struct cr_attr wide = viewed(p, node->shape[node->rank - 2], node->shape[node->rank - 1]);
    bool batch = below->rank == node->rank &&
                 memcmp(below->shape, node->shape, (size_t)(node->rank - 2) * sizeof *node->shape) == 0;
    if (batch)
        in = push(p, in);
    else if (below->rank > 2)
        return view(p, id);
    return in == CR_NONE ? in : cr_rewrite_add(p->rw, CR_OP_expand, 1, &in, &wide);
}

/* Returns the view of a node by applying its op to views of its operands; CR_NONE if an operand has
 * none. */
static cr_id push_op(struct push *p, cr_id id, struct cr_attr attr)
{
    const struct cr_node node = p->rw->to->nodes[id];
    cr_id in[3];
    for (int i = 0; i < node.n_in; i++)
        if ((in[i] = push(p, cr_in(p->rw->to, id, i))) == CR_NONE)
            return CR_NONE;
    return cr_rewrite_add(p->rw, node.op, node.n_in, in, &attr);
}

/* Returns the view of a node; CR_NONE if the budget is used up, or if its batch axes differ from
 * those of `shape`: all nodes of a softmax have the same batch axes. */
static cr_id push_node(struct push *p, cr_id id)
{
    const struct cr_node *node = &p->rw->to->nodes[id];
    enum cr_kind kind = cr_kind_of(p->rw->to, id);
    struct cr_attr attr = cr_attr_of(node);
    if (--p->budget < 0)
        return CR_NONE;
    if (node->rank != p->rank ||
        memcmp(node->shape, p->shape, (size_t)(p->rank - 2) * sizeof *p->shape) != 0)
        return CR_NONE;
    if (node->op == CR_OP_expand)
        return push_expand(p, id);
    if ((node->op == CR_OP_sum || node->op == CR_OP_max) && node->axis == node->rank - 1) {
        attr.axis = p->attr.rank - 1;
        return push_op(p, id, attr);
    }
    if (kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_CONTRACT)
        return push_op(p, id, attr);
    return view(p, id);
}

/* Returns the view of a node, with the lengths that the node's rows and columns have, so that sums
 * run over as many elements; or CR_NONE. */
static cr_id push(struct push *p, cr_id id)
{
    cr_id result = push_node(p, id);
    if (result == CR_NONE || !p->rw->from->n_lengths)
        return result;
    signed char lengths[CR_MAX_RANK];
    memcpy(lengths, p->rw->to->nodes[result].lengths, sizeof lengths);
    for (int i = 1; i <= 2; i++)
        lengths[p->attr.rank - i] = p->rw->to->nodes[id].lengths[p->rank - i];
    return cr_rewrite_limited(p->rw, result, lengths);
}

cr_id cr_push_batch_view(struct cr_rewrite *rw, cr_id id, cr_id of)
{
    const struct cr_node *node = &rw->to->nodes[id], *in = &rw->to->nodes[of];
    struct push p = {
        .rw = rw, .op = node->op, .attr = cr_attr_of(node), .rank = in->rank, .budget = 400};
    memcpy(p.shape, in->shape, (size_t)in->rank * sizeof *in->shape);
    return push(&p, of);
}
