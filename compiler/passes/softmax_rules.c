/*
 * softmax_rules.c - softmax has one spelling, exp(s) / sum(exp(s)): attention is recognised by it.
 * In the comments, e is exp(s), and l is its sum over rows, repeated or not.
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

/* Whether a node is some l. */
static bool is_sum_of_exp(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *sum = &g->nodes[beneath_expand(g, id)];
    return sum->op == CR_OP_sum && sum->axis == sum->rank - 1 &&
           g->nodes[cr_inputs(g, sum)[0]].op == CR_OP_exp;
}

/* x (1 / l) is x / l. */
cr_id cr_rule_divide_by_sum(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    for (int i = 0; d->op == CR_OP_mul && i < 2; i++) {
        cr_id wide = d->in[i], inverse = beneath_expand(g, wide);
        if (g->nodes[inverse].op != CR_OP_div)
            continue;
        const struct cr_node *one = &g->nodes[cr_in(g, inverse, 0)];
        cr_id sum = cr_in(g, inverse, 1);
        if (one->op != CR_OP_const || one->value != 1 || !is_sum_of_exp(g, sum))
            continue;
        struct cr_attr shape = cr_attr_of(&g->nodes[wide]);
        if (wide != inverse)
            sum = cr_rewrite_add(rw, CR_OP_expand, 1, &sum, &shape);
        return quotient(rw, d->in[1 - i], sum);
    }
    return CR_NONE;
}
