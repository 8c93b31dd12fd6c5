/*
 * softmax_rules.c - softmax has one spelling, exp(s) / sum(exp(s)), and so have its gradients:
 * attention is recognised by them.  In the comments, e is exp(s), l is its sum over rows,
 * repeated or not, and p is e / l.
 */
#include "rules.h"

static cr_id quotient(struct cr_rewrite *rw, cr_id a, cr_id b)
{
    return cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){a, b}, NULL);
}

/* The x of expand(x), or the node itself. */
static cr_id beneath_expand(const struct cr_graph *g, cr_id id)
{
    return g->nodes[id].op == CR_OP_expand ? cr_in(g, id, 0) : id;
}

static cr_id product(struct cr_rewrite *rw, cr_id a, cr_id b)
{
    return cr_rewrite_add(rw, CR_OP_mul, 2, (cr_id[]){a, b}, NULL);
}

/* A row's number, of a node with one column, all along the rows of another node. */
static cr_id repeated(struct cr_rewrite *rw, cr_id row, cr_id like)
{
    struct cr_attr shape = cr_attr_of(&rw->to->nodes[like]);
    return cr_rewrite_add(rw, CR_OP_expand, 1, &row, &shape);
}

static bool is_number(const struct cr_node *node, double value)
{
    return node->op == CR_OP_const && node->value == value;
}

/* Whether a node is some l. */
static bool is_sum_of_exp(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *sum = &g->nodes[beneath_expand(g, id)];
    return sum->op == CR_OP_sum && sum->axis == sum->rank - 1 &&
           g->nodes[cr_inputs(g, sum)[0]].op == CR_OP_exp;
}

/* The l, not repeated, by which a node is divided row by row; or CR_NONE. */
static cr_id divisor(const struct cr_graph *g, cr_id id)
{
    cr_id wide = g->nodes[id].op == CR_OP_div ? cr_in(g, id, 1) : CR_NONE;
    if (wide == CR_NONE || g->nodes[wide].op != CR_OP_expand || !is_sum_of_exp(g, wide))
        return CR_NONE;
    cr_id row = cr_in(g, wide, 0);
    return g->nodes[row].rank == g->nodes[id].rank ? row : CR_NONE;
}

static bool is_probs(const struct cr_graph *g, cr_id id)
{
    cr_id sum = divisor(g, id);
    return sum != CR_NONE && cr_in(g, sum, 0) == cr_in(g, id, 0);
}

/* x (1 / l) is x / l. */
cr_id cr_rule_divide_by_sum(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    for (int i = 0; d->op == CR_OP_mul && i < 2; i++) {
        cr_id wide = d->in[i], inverse = beneath_expand(g, wide);
        if (g->nodes[inverse].op != CR_OP_div)
            continue;
        cr_id sum = cr_in(g, inverse, 1);
        if (!is_number(&g->nodes[cr_in(g, inverse, 0)], 1) || !is_sum_of_exp(g, sum))
            continue;
        struct cr_attr shape = cr_attr_of(&g->nodes[wide]);
        if (wide != inverse)
            sum = cr_rewrite_add(rw, CR_OP_expand, 1, &sum, &shape);
        return quotient(rw, d->in[1 - i], sum);
    }
    return CR_NONE;
}

/* sum(x e) / l is sum(x p). */
cr_id cr_rule_divide_terms(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_div || g->nodes[d->in[0]].op != CR_OP_sum || !is_sum_of_exp(g, d->in[1]) ||
        g->nodes[d->in[1]].op != CR_OP_sum)
        return CR_NONE;
    cr_id terms = cr_in(g, d->in[0], 0), e = cr_in(g, d->in[1], 0);
    struct cr_attr axis = cr_attr_of(&g->nodes[d->in[0]]);
    for (int i = 0; g->nodes[terms].op == CR_OP_mul && i < 2; i++) {
        cr_id x = cr_in(g, terms, i);
        if (cr_in(g, terms, 1 - i) != e || axis.axis != g->nodes[d->in[1]].axis)
            continue;
        terms = product(rw, x, quotient(rw, e, repeated(rw, d->in[1], e)));
        return cr_rewrite_add(rw, CR_OP_sum, 1, &terms, &axis);
    }
    return CR_NONE;
}

/* (x / l) b is (x b) / l for other x than e, of which the opposite is done. */
cr_id cr_rule_divide_product(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    cr_id sum = d->op == CR_OP_matmul ? divisor(g, d->in[0]) : CR_NONE;
    if (sum == CR_NONE || g->nodes[cr_in(g, d->in[0], 0)].op == CR_OP_exp)
        return CR_NONE;
    cr_id in[] = {cr_in(g, d->in[0], 0), d->in[1]};
    cr_id all = cr_rewrite_add(rw, CR_OP_matmul, 2, in, NULL);
    return quotient(rw, all, repeated(rw, sum, all));
}

/* e' (x / l) is p' x. */
cr_id cr_rule_divide_transposed(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    cr_id sum = d->op == CR_OP_matmul ? divisor(g, d->in[1]) : CR_NONE;
    if (sum == CR_NONE || g->nodes[d->in[0]].op != CR_OP_permute)
        return CR_NONE;
    cr_id e = cr_in(g, d->in[0], 0), x = cr_in(g, d->in[1], 0);
    struct cr_attr axes = cr_attr_of(&g->nodes[d->in[0]]);
    int last = g->nodes[e].rank - 1;
    for (int i = 0; i < last - 1; i++)
        if (axes.index[i] != i)
            return CR_NONE;
    if (cr_in(g, sum, 0) != e || axes.index[last] != last - 1)
        return CR_NONE;
    cr_id p = quotient(rw, e, repeated(rw, sum, e));
    p = cr_rewrite_add(rw, CR_OP_permute, 1, &p, &axes);
    return cr_rewrite_add(rw, CR_OP_matmul, 2, (cr_id[]){p, x}, NULL);
}

/* -b + a is a - b. */
cr_id cr_rule_subtract_first(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_add || g->nodes[d->in[0]].op != CR_OP_neg)
        return CR_NONE;
    cr_id in[] = {d->in[1], cr_in(g, d->in[0], 0)};
    return cr_rewrite_add(rw, CR_OP_sub, 2, in, NULL);
}

/* The sum over rows of (a - sum(a p)) p is 0: shifting all of a row's scores by their maximum,
 * say, changes no probability, so no gradient goes that way. */
cr_id cr_rule_no_shift(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_sum || g->nodes[d->in[0]].op != CR_OP_mul ||
        d->attr.axis != g->nodes[d->in[0]].rank - 1)
        return CR_NONE;
    cr_id difference = cr_in(g, d->in[0], 0), p = cr_in(g, d->in[0], 1);
    if (g->nodes[difference].op != CR_OP_sub || !is_probs(g, p))
        return CR_NONE;
    cr_id wide = cr_in(g, difference, 1), terms = product(rw, cr_in(g, difference, 0), p);
    cr_id sum = cr_rewrite_add(rw, CR_OP_sum, 1, &terms, &d->attr);
    if (g->nodes[wide].op != CR_OP_expand || cr_in(g, wide, 0) != sum)
        return CR_NONE;
    struct cr_attr zero = cr_attr_of(&g->nodes[sum]);
    zero.value = 0;
    return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &zero);
}

/* where(c, 0 / n, 0) is 0, n being how many of a row's c are true: as the gradient of a maximum
 * is shared out.  What is added to the gradient of softmax is then nothing. */
cr_id cr_rule_share_nothing(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op == CR_OP_add && is_number(&g->nodes[d->in[1]], 0) &&
        g->nodes[d->in[0]].op == CR_OP_mul && is_probs(g, cr_in(g, d->in[0], 1)))
        return d->in[0];
    if (d->op != CR_OP_where || !is_number(&g->nodes[d->in[2]], 0))
        return CR_NONE;
    cr_id share = beneath_expand(g, d->in[1]);
    if (g->nodes[share].op != CR_OP_div || !is_number(&g->nodes[cr_in(g, share, 0)], 0))
        return CR_NONE;
    cr_id count = cr_in(g, share, 1), each = g->nodes[count].n_in ? cr_in(g, count, 0) : CR_NONE;
    bool counts = g->nodes[count].op == CR_OP_sum && g->nodes[each].op == CR_OP_float &&
                  cr_in(g, each, 0) == d->in[0];
    return counts ? d->in[2] : CR_NONE;
}
