/*
 * repeat_rules.c - replaces a concat or a gather that repeats each part of a tensor several times,
 * as for keys and values that groups of heads share, by a broadcast, which costs nothing.
 */
#include "repeat_rules.h"

#include "compiler/ir/eval.h"

/* Returns x with each part, `size` elements along the axis, repeated `times` times. */
static cr_id repeat(struct cr_rewrite *rw, cr_id x, int axis, int64_t size, int64_t times)
{
    const struct cr_node *node = &rw->to->nodes[x];
    struct cr_attr whole = cr_attr_of(node), apart = {.rank = node->rank + 2};
    if (apart.rank > CR_MAX_RANK)
        return CR_NONE;
    for (int i = 0; i < node->rank; i++)
        apart.shape[i < axis ? i : i + 2] = node->shape[i];
    apart.shape[axis] = node->shape[axis] / size;
    apart.shape[axis + 1] = 1;
    apart.shape[axis + 2] = size;
    whole.shape[axis] *= times;
    x = cr_rewrite_add(rw, CR_OP_reshape, 1, &x, &apart);
    apart.shape[axis + 1] = times;
    x = cr_rewrite_add(rw, CR_OP_expand, 1, &x, &apart);
    return cr_rewrite_add(rw, CR_OP_reshape, 1, &x, &whole);
}

/* ---- concat ---- */

/* The range of elements along an axis that a part of a tensor has. */
struct span {
    cr_id of;
    int64_t start, size;
};

/* Returns the tensor and the range that an operand of a concat is a slice of, if it slices only
 * this axis; otherwise the whole operand. */
static struct span span_of(const struct cr_graph *g, cr_id id, int axis)
{
    const struct cr_node *node = &g->nodes[id];
    const struct span itself = {id, 0, node->shape[axis]};
    if (node->op != CR_OP_slice)
        return itself;
    cr_id of = cr_in(g, id, 0);
    for (int i = 0; i < node->rank; i++)
        if (i != axis && node->shape[i] != g->nodes[of].shape[i])
            return itself;
    return (struct span){of, node->index[axis], node->shape[axis]};
}

/* Replaces concat({a, a, b, b}), where a and b are consecutive slices of x, by x with each slice
 * repeated.  Does not change a concat of parameters, which is only a layout. */
cr_id cr_rule_repeat_parts(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    int axis = d->attr->axis, times = 1;
    struct span first = span_of(g, d->in[0], axis);
    if (d->n < 2 || first.start || g->nodes[first.of].op == CR_OP_param)
        return CR_NONE;
    while (times < d->n && cr_draft_operand(rw, d, times) == d->in[0])
        times++;
    for (int i = 0; i < d->n; i++) {
        struct span span = span_of(g, cr_draft_operand(rw, d, i), axis);
        if (span.of != first.of || span.size != first.size || span.start != i / times * span.size)
            return CR_NONE;
    }
    if (d->n % times || d->n / times * first.size != g->nodes[first.of].shape[axis])
        return CR_NONE;
    return times == 1 ? first.of : repeat(rw, first.of, axis, first.size, times);
}

/* ---- gather ---- */

enum { MOST_ROWS = 1024 }; /* the longest index whose elements are evaluated */

/* Evaluates element i of a one-axis node, if only iotas and constants compute it; otherwise returns
 * false. */
static bool value_at(const struct cr_graph *g, cr_id id, int64_t i, double *value, int *budget)
{
    const struct cr_node *node = &g->nodes[id];
    double args[3] = {0};
    if (--*budget < 0)
        return false;
    *value = node->op == CR_OP_iota ? (double)i : node->value;
    if (node->op == CR_OP_iota || node->op == CR_OP_const)
        return node->rank <= 1;
    if (node->op == CR_OP_expand && cr_elements(g->nodes[cr_in(g, id, 0)].rank,
                                                g->nodes[cr_in(g, id, 0)].shape) == 1)
        return value_at(g, cr_in(g, id, 0), 0, value, budget);
    if (cr_kind_of(g, id) != CR_KIND_ELEMENTWISE)
        return false;
    for (int a = 0; a < node->n_in; a++)
        if (!value_at(g, cr_in(g, id, a), i, &args[a], budget))
            return false;
    *value = cr_evaluator_of(node->op, node->dtype)(node->op, args[0], args[1], args[2]);
    return true;
}

/* Replaces gather(x, index), for an index 0 0 1 1 2 2 ..., by x with each row repeated. */
cr_id cr_rule_repeat_rows(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    const struct cr_node *table = &g->nodes[d->in[0]], *index = &g->nodes[d->in[1]];
    int64_t n = index->rank == 1 ? index->shape[0] : 0, rows = table->shape[0];
    int budget = 16 * MOST_ROWS;
    double row;
    if (n < 1 || n > MOST_ROWS || n % rows || table->op == CR_OP_param)
        return CR_NONE;
    for (int64_t i = 0; i < n; i++)
        if (!value_at(g, d->in[1], i, &row, &budget) || row != (double)(i / (n / rows)))
            return CR_NONE;
    return n == rows ? d->in[0] : repeat(rw, d->in[0], 0, 1, n / rows);
}
