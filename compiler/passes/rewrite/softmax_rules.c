/*
 * softmax_rules.c - rules that give softmax one form, exp(s) / sum(exp(s)), and its gradients one
 * form, too, for the attention passes to match.  In the comments, e is exp(s), l is its sum over
 * rows, expanded or not, and p is e / l.  Where l is 0 or NaN, all p of the row are NaN.
 */
#include "softmax_rules.h"

#include <string.h>

#include "batch_views.h"
#include "factors.h"
#include "rule_tools.h"

static cr_id quotient(struct cr_rewrite *rw, cr_id a, cr_id b)
{
    return cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){a, b}, NULL);
}

/* Expands node `row`, which has one column, along the rows of node `like`. */
static cr_id repeated(struct cr_rewrite *rw, cr_id row, cr_id like)
{
    struct cr_attr shape = cr_attr_of(&rw->to->nodes[like]);
    return cr_rewrite_add(rw, CR_OP_expand, 1, &row, &shape);
}

/* Returns e if node `id` is sum(e, last axis), expanded or not; otherwise CR_NONE. */
static cr_id summed_rows(const struct cr_graph *g, cr_id id)
{
    if (g->nodes[id].op == CR_OP_expand)
        id = cr_in(g, id, 0);
    const struct cr_node *sum = &g->nodes[id];
    bool rows = sum->op == CR_OP_sum && sum->axis == sum->rank - 1;
    return rows ? cr_in(g, id, 0) : CR_NONE;
}

/* Returns e if node `id` is a denominator: sum(e), or sum(e) plus one number a row, a sink
 * (softmax.h).  Otherwise returns CR_NONE. */
static cr_id normalised(const struct cr_graph *g, cr_id id)
{
    id = cr_operand_of_expand(g, id);
    for (int i = 0; g->nodes[id].op == CR_OP_add && i < 2; i++) {
        cr_id e = summed_rows(g, cr_in(g, id, i));
        if (e != CR_NONE && g->nodes[e].op == CR_OP_exp)
            return e;
    }
    return summed_rows(g, id);
}

/* True if a node is the denominator l of a softmax without a sink. */
static bool is_sum_of_exp(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *sum = &g->nodes[cr_operand_of_expand(g, id)];
    return sum->op == CR_OP_sum && sum->axis == sum->rank - 1 &&
           g->nodes[cr_inputs(g, sum)[0]].op == CR_OP_exp;
}

/* True if a node is the denominator l of a softmax, without a sink or with a sink of one number a
 * row. */
static bool is_denominator(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *sum = &g->nodes[cr_operand_of_expand(g, id)];
    cr_id e = normalised(g, id);
    return e != CR_NONE && g->nodes[e].op == CR_OP_exp && sum->shape[sum->rank - 1] == 1;
}

/* Returns l, not expanded, if node `id` is a quotient by l row by row; otherwise CR_NONE. */
static cr_id divisor(const struct cr_graph *g, cr_id id)
{
    cr_id wide = g->nodes[id].op == CR_OP_div ? cr_in(g, id, 1) : CR_NONE;
    if (wide == CR_NONE || g->nodes[wide].op != CR_OP_expand || !is_denominator(g, wide))
        return CR_NONE;
    cr_id row = cr_in(g, wide, 0);
    return g->nodes[row].rank == g->nodes[id].rank ? row : CR_NONE;
}

static bool is_probs(const struct cr_graph *g, cr_id id)
{
    cr_id sum = divisor(g, id);
    return sum != CR_NONE && normalised(g, sum) == cr_in(g, id, 0);
}

/*
 * Replaces (exp(s) v) / sum(exp(s)) by (exp(s) / sum(exp(s))) v, the form of softmax that the
 * attention passes match.  With a sink, too.
 */
cr_id cr_rule_normalise_first(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_div || g->nodes[d->in[0]].op != CR_OP_matmul)
        return CR_NONE;
    cr_id e = cr_in(g, d->in[0], 0), v = cr_in(g, d->in[0], 1);
    if (g->nodes[e].op != CR_OP_exp || normalised(g, d->in[1]) != e)
        return CR_NONE;
    cr_id sum = cr_operand_of_expand(g, d->in[1]);
    if (g->nodes[sum].shape[g->nodes[sum].rank - 1] != 1)
        return CR_NONE; /* this sink is expanded before it is added */
    struct cr_attr shape = cr_attr_of(&g->nodes[e]);
    cr_id spread = cr_rewrite_add(rw, CR_OP_expand, 1, &sum, &shape);
    cr_id p = cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){e, spread}, NULL);
    return cr_rewrite_add(rw, CR_OP_matmul, 2, (cr_id[]){p, v}, NULL);
}

/* Replaces x (1 / l) by x / l. */
cr_id cr_rule_divide_by_sum(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    for (int i = 0; d->op == CR_OP_mul && i < 2; i++) {
        cr_id wide = d->in[i], inverse = cr_operand_of_expand(g, wide);
        if (g->nodes[inverse].op != CR_OP_div)
            continue;
        cr_id sum = cr_in(g, inverse, 1);
        bool sink = g->nodes[sum].op == CR_OP_add &&
                    (normalised(g, sum) == d->in[1 - i] ||
                     (cr_is_gradient(rw) && is_denominator(g, sum)));
        if (!cr_is_number(&g->nodes[cr_in(g, inverse, 0)], 1) || !(is_sum_of_exp(g, sum) || sink))
            continue;
        struct cr_attr shape = cr_attr_of(&g->nodes[wide]);
        if (wide != inverse)
            sum = cr_rewrite_add(rw, CR_OP_expand, 1, &sum, &shape);
        return quotient(rw, d->in[1 - i], sum);
    }
    return CR_NONE;
}

/* Replaces sum(x e) / l by sum(x p). */
cr_id cr_rule_divide_terms(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_div || g->nodes[d->in[0]].op != CR_OP_sum ||
        !is_denominator(g, d->in[1]) || g->nodes[d->in[1]].op == CR_OP_expand)
        return CR_NONE;
    cr_id terms = cr_in(g, d->in[0], 0), e = normalised(g, d->in[1]);
    struct cr_attr axis = cr_attr_of(&g->nodes[d->in[0]]);
    for (int i = 0; g->nodes[terms].op == CR_OP_mul && i < 2; i++) {
        cr_id x = cr_in(g, terms, i);
        if (cr_in(g, terms, 1 - i) != e || axis.axis != g->nodes[e].rank - 1)
            continue;
        terms = cr_multiply(rw, x, quotient(rw, e, repeated(rw, d->in[1], e)));
        return cr_rewrite_add(rw, CR_OP_sum, 1, &terms, &axis);
    }
    return CR_NONE;
}

/* In gradients, replaces (x / l) b by (x b) / l, unless x is e: e / l is the form of softmax. */
cr_id cr_rule_divide_product(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    cr_id sum = d->op == CR_OP_matmul && cr_is_gradient(rw) ? divisor(g, d->in[0]) : CR_NONE;
    if (sum == CR_NONE || g->nodes[cr_in(g, d->in[0], 0)].op == CR_OP_exp)
        return CR_NONE;
    cr_id in[] = {cr_in(g, d->in[0], 0), d->in[1]};
    cr_id all = cr_rewrite_add(rw, CR_OP_matmul, 2, in, NULL);
    return quotient(rw, all, repeated(rw, sum, all));
}

/* Replaces e' (x / l) by p' x. */
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
    if (normalised(g, sum) != e || axes.index[last] != last - 1)
        return CR_NONE;
    cr_id p = quotient(rw, e, repeated(rw, sum, e));
    p = cr_rewrite_add(rw, CR_OP_permute, 1, &p, &axes);
    return cr_rewrite_add(rw, CR_OP_matmul, 2, (cr_id[]){p, x}, NULL);
}

/* Matches (a - sum(a p)) p in `terms`, which a sum along `axis` reads.  Returns p and sets *sum to
 * sum(a p), or returns CR_NONE. */
static cr_id find_shifted(struct cr_rewrite *rw, cr_id terms, const struct cr_attr *axis, cr_id *sum)
{
    const struct cr_graph *g = rw->to;
    if (g->nodes[terms].op != CR_OP_mul || axis->axis != g->nodes[terms].rank - 1)
        return CR_NONE;
    cr_id difference = cr_in(g, terms, 0), p = cr_in(g, terms, 1);
    if (g->nodes[difference].op != CR_OP_sub || !is_probs(g, p))
        return CR_NONE;
    cr_id wide = cr_in(g, difference, 1), products = cr_multiply(rw, cr_in(g, difference, 0), p);
    *sum = cr_rewrite_add(rw, CR_OP_sum, 1, &products, axis);
    return g->nodes[wide].op == CR_OP_expand && cr_in(g, wide, 0) == *sum ? p : CR_NONE;
}

static cr_id zero_like(struct cr_rewrite *rw, cr_id id)
{
    struct cr_attr zero = cr_attr_of(&rw->to->nodes[id]);
    zero.value = 0;
    return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &zero);
}

/* In gradients, replaces the sum over rows of (a - sum(a p)) p by 0: shifting a row's scores, for
 * example by their maximum, changes no probability, so the shift has no gradient. */
cr_id cr_rule_no_shift(struct cr_rewrite *rw, const struct cr_draft *d)
{
    cr_id sum;
    if (!cr_is_gradient(rw) || d->op != CR_OP_sum)
        return CR_NONE;
    cr_id p = find_shifted(rw, d->in[0], d->attr, &sum);
    if (p == CR_NONE || !is_sum_of_exp(rw->to, cr_in(rw->to, p, 1)))
        return CR_NONE;
    return zero_like(rw, sum);
}

/* True if node `id` is d x / l, written as -(-(d / l) x), where x is the sink in l. */
static bool is_share_of_sink(const struct cr_graph *g, cr_id id, cr_id d, cr_id l)
{
    cr_id product = g->nodes[id].op == CR_OP_neg ? cr_in(g, id, 0) : CR_NONE;
    if (product == CR_NONE || g->nodes[product].op != CR_OP_mul || g->nodes[l].op != CR_OP_add)
        return false;
    for (int i = 0; i < 2; i++) {
        cr_id minus = cr_in(g, product, i), x = cr_in(g, product, 1 - i);
        cr_id share = g->nodes[minus].op == CR_OP_neg ? cr_in(g, minus, 0) : CR_NONE;
        if (share != CR_NONE && g->nodes[share].op == CR_OP_div && cr_in(g, share, 0) == d &&
            cr_in(g, share, 1) == l && (cr_in(g, l, 0) == x || cr_in(g, l, 1) == x))
            return true;
    }
    return false;
}

/* True if node `id` is x / l, where l is the denominator of a softmax with a sink. */
static bool is_share(const struct cr_graph *g, cr_id id)
{
    return g->nodes[id].op == CR_OP_div && is_denominator(g, cr_in(g, id, 1)) &&
           g->nodes[cr_operand_of_expand(g, cr_in(g, id, 1))].op == CR_OP_add;
}

/* Removes zeros from the gradients of a softmax with a sink, whose denominator is l: replaces 0 / l
 * and 0 (x / l) by 0, and x / l + 0 and x / l - 0 by x / l.  Such zeros arise where a slice removes
 * the sink. */
cr_id cr_rule_sink_is_cut(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (!cr_is_gradient(rw))
        return CR_NONE;
    if (d->op == CR_OP_div && g->nodes[d->in[0]].op == CR_OP_sub &&
        cr_is_number(&g->nodes[cr_in(g, d->in[0], 0)], 0) && is_denominator(g, d->in[1]) &&
        g->nodes[cr_operand_of_expand(g, d->in[1])].op == CR_OP_add) {
        cr_id share = quotient(rw, cr_in(g, d->in[0], 1), d->in[1]);
        return cr_rewrite_add(rw, CR_OP_neg, 1, &share, NULL);
    }
    for (int i = 0; i < 2; i++) {
        cr_id zero = d->in[i], other = d->in[1 - i];
        cr_id under = g->nodes[other].op == CR_OP_neg ? cr_in(g, other, 0) : other;
        if (!cr_is_number(&g->nodes[zero], 0))
            continue;
        if (d->op == CR_OP_div && i == 0 && is_denominator(g, other) &&
            g->nodes[cr_operand_of_expand(g, other)].op == CR_OP_add)
            return zero;
        if (d->op == CR_OP_mul && is_share(g, other))
            return zero;
        if (d->op == CR_OP_sub && i == 0 && is_share(g, other))
            return cr_rewrite_add(rw, CR_OP_neg, 1, &other, NULL);
        if ((d->op == CR_OP_add || (d->op == CR_OP_sub && i == 1)) && is_share(g, under))
            return other;
    }
    return CR_NONE;
}

/* In gradients, replaces a / l + expand(-(x / l)) by a / l - expand(x / l). */
cr_id cr_rule_subtract_share(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    for (int i = 0; cr_is_gradient(rw) && i < 2; i++) {
        cr_id wide = d->in[i], minus = cr_operand_of_expand(g, wide);
        if (wide == minus || g->nodes[minus].op != CR_OP_neg || !is_share(g, cr_in(g, minus, 0)) ||
            !is_share(g, d->in[1 - i]))
            continue;
        struct cr_attr shape = cr_attr_of(&g->nodes[wide]);
        cr_id x = cr_in(g, minus, 0);
        x = cr_rewrite_add(rw, CR_OP_expand, 1, &x, &shape);
        return cr_rewrite_add(rw, CR_OP_sub, 2, (cr_id[]){d->in[1 - i], x}, NULL);
    }
    return CR_NONE;
}

/* In gradients, with a sink x in l, replaces d x / l minus the sum over rows of (a - d) p by 0,
 * where d = sum(a p): shifting the scores and the sink changes nothing. */
cr_id cr_rule_no_shift_of_sink(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    cr_id sum;
    if (!cr_is_gradient(rw) || d->op != CR_OP_sub || g->nodes[d->in[1]].op != CR_OP_sum)
        return CR_NONE;
    struct cr_attr axis = cr_attr_of(&g->nodes[d->in[1]]);
    cr_id p = find_shifted(rw, cr_in(g, d->in[1], 0), &axis, &sum);
    if (p == CR_NONE || !is_share_of_sink(g, d->in[0], sum, divisor(g, p)))
        return CR_NONE;
    return zero_like(rw, sum);
}

/* In gradients, replaces where(c, 0 / n, 0) by 0, where n is the number of true c in a row.
 * Gradients of a row's maximum have this form.  Also removes the addition of a 0 to a softmax's
 * gradient. */
cr_id cr_rule_share_nothing(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (!cr_is_gradient(rw))
        return CR_NONE; /* -0 is not the same: -0 + 0 is 0 */
    if (d->op == CR_OP_add && cr_is_number(&g->nodes[d->in[1]], 0) &&
        g->nodes[d->in[0]].op == CR_OP_mul && is_probs(g, cr_in(g, d->in[0], 1)))
        return d->in[0];
    if (d->op != CR_OP_where || !cr_is_number(&g->nodes[d->in[2]], 0))
        return CR_NONE;
    cr_id share = cr_operand_of_expand(g, d->in[1]);
    if (g->nodes[share].op != CR_OP_div || !cr_is_number(&g->nodes[cr_in(g, share, 0)], 0))
        return CR_NONE;
    cr_id count = cr_in(g, share, 1), each = g->nodes[count].n_in ? cr_in(g, count, 0) : CR_NONE;
    bool counts = g->nodes[count].op == CR_OP_sum && g->nodes[each].op == CR_OP_float &&
                  cr_in(g, each, 0) == d->in[0];
    return counts ? d->in[2] : CR_NONE;
}

/* ---- sums of softmaxes ---- */

/* Returns the product from which elementwise ops, reshapes and permutes compute node `id`; CR_NONE
 * if there is none among the first `budget` nodes visited. */
static cr_id find_product_of(const struct cr_graph *g, cr_id id, int *budget)
{
    enum cr_op op = g->nodes[id].op;
    enum cr_kind kind = cr_kind_of(g, id);
    if (--*budget < 0 || kind == CR_KIND_CONTRACT)
        return kind == CR_KIND_CONTRACT ? id : CR_NONE;
    if (kind != CR_KIND_ELEMENTWISE && op != CR_OP_reshape && op != CR_OP_permute)
        return CR_NONE;
    for (int i = 0; i < g->nodes[id].n_in; i++) {
        cr_id product = find_product_of(g, cr_in(g, id, i), budget);
        if (product != CR_NONE)
            return product;
    }
    return CR_NONE;
}

/* Returns the product of queries and keys if `id` is the probabilities of an attention, else
 * CR_NONE. */
static cr_id scores_of(const struct cr_graph *g, cr_id id)
{
    int budget = 64;
    return is_probs(g, id) ? find_product_of(g, cr_in(g, id, 0), &budget) : CR_NONE;
}

/* If node `id` is the probabilities of an attention, returns it.  If it is a view of their batch
 * axes, as where heads are sliced into halves, moves the view into the attention and returns the
 * new probabilities.  Otherwise returns CR_NONE. */
static cr_id find_attention(struct cr_rewrite *rw, cr_id id)
{
    if (cr_is_batch_view(rw->to, id)) {
        cr_id all = find_attention(rw, cr_in(rw->to, id, 0));
        id = all == CR_NONE ? all : cr_push_batch_view(rw, id, all);
    }
    return id != CR_NONE && scores_of(rw->to, id) != CR_NONE ? id : CR_NONE;
}

/* True for a constant, and for one number a row that is expanded along the row. */
static bool is_row_factor(const struct cr_graph *g, cr_id id)
{
    cr_id row = cr_operand_of_expand(g, id);
    const struct cr_node *node = &g->nodes[row];
    return node->op == CR_OP_const ||
           (row != id && (node->rank == 0 || node->shape[node->rank - 1] == 1));
}

/* A term of a sum of softmaxes: p, or x p, where x has one number a row. */
struct term {
    cr_id p, x; /* x is CR_NONE if the term is p */
};

static bool find_term(struct cr_rewrite *rw, cr_id id, struct term *term)
{
    const struct cr_graph *g = rw->to;
    *term = (struct term){find_attention(rw, id), CR_NONE};
    for (int i = 0; term->p == CR_NONE && g->nodes[id].op == CR_OP_mul && i < 2; i++) {
        term->x = cr_in(g, id, i);
        if (is_row_factor(g, term->x))
            term->p = find_attention(rw, cr_in(g, id, 1 - i));
    }
    return term->p != CR_NONE;
}

/* Returns the product of a term and v: p v for the term p, and x (p v) for the term x p. */
static cr_id attend(struct cr_rewrite *rw, const struct term *term, cr_id v)
{
    cr_id product = cr_rewrite_add(rw, CR_OP_matmul, 2, (cr_id[]){term->p, v}, NULL);
    if (term->x == CR_NONE)
        return product;
    cr_id row = cr_operand_of_expand(rw->to, term->x);
    struct cr_attr number = cr_attr_of(&rw->to->nodes[product]);
    number.value = rw->to->nodes[row].value;
    cr_id factor = rw->to->nodes[row].op == CR_OP_const
                       ? cr_rewrite_add(rw, CR_OP_const, 0, NULL, &number)
                       : repeated(rw, row, product);
    return cr_multiply(rw, factor, product);
}

/*
 * Replaces (p - x q) v by p v - x (q v), for two softmaxes p and q: differential attention (Ye et
 * al. 2024).  Each product becomes an attention, which stores no scores.  Does not apply if p and q
 * have the same scores.  The results may differ at infinity: where p inf - x q inf is infinite, p
 * inf - x (q inf) is NaN; and where x is infinite and an element of q is 0, x q is NaN, but x (q v)
 * is infinite.
 */
cr_id cr_rule_attend_twice(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_node *sum = &rw->to->nodes[d->in[0]];
    if (d->op != CR_OP_matmul || cr_is_gradient(rw) ||
        (sum->op != CR_OP_sub && sum->op != CR_OP_add))
        return CR_NONE;
    enum cr_op op = sum->op;
    cr_id a = cr_in(rw->to, d->in[0], 0), b = cr_in(rw->to, d->in[0], 1);
    struct term terms[2];
    if (!find_term(rw, a, &terms[0]) || !find_term(rw, b, &terms[1]) ||
        scores_of(rw->to, terms[0].p) == scores_of(rw->to, terms[1].p))
        return CR_NONE;
    cr_id products[2] = {attend(rw, &terms[0], d->in[1]), attend(rw, &terms[1], d->in[1])};
    return cr_rewrite_add(rw, op, 2, products, NULL);
}

/* ---- gradients ---- */

/* True if node `wide` expands `row`, which has one column, along its last axis. */
static bool repeats_row(const struct cr_graph *g, cr_id wide, cr_id row)
{
    const struct cr_node *node = &g->nodes[wide], *in = &g->nodes[row];
    return node->op == CR_OP_expand && cr_in(g, wide, 0) == row && in->rank == node->rank &&
           in->shape[in->rank - 1] == 1;
}

/* Replaces sum(-x) over rows by -sum(x) and, in gradients, sum(x / l), with one l a row, by sum(x)
 * / l.  The op then has one element a row.  Does not apply if the rows of x are longer than those
 * of x / l, which happens if l limits their length. */
cr_id cr_rule_work_after_sum(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_sum || d->attr->axis != g->nodes[d->in[0]].rank - 1)
        return CR_NONE;
    cr_id in = d->in[0], x = g->nodes[in].n_in ? cr_in(g, in, 0) : CR_NONE;
    if (g->nodes[in].dtype != CR_F32)
        return CR_NONE;
    if (g->nodes[in].op == CR_OP_neg) {
        cr_id sum = cr_rewrite_add(rw, CR_OP_sum, 1, &x, d->attr);
        return cr_rewrite_add(rw, CR_OP_neg, 1, &sum, NULL);
    }
    if (!cr_is_gradient(rw) || g->nodes[in].op != CR_OP_div ||
        g->nodes[cr_in(g, in, 1)].op != CR_OP_expand)
        return CR_NONE;
    cr_id wide = cr_in(g, in, 1), row = cr_in(g, wide, 0);
    if (!repeats_row(g, wide, row) ||
        cr_length_at(g, x, d->attr->axis) != cr_length_at(g, in, d->attr->axis))
        return CR_NONE;
    cr_id sum = cr_rewrite_add(rw, CR_OP_sum, 1, &x, d->attr);
    struct cr_attr shape = cr_attr_of(&rw->to->nodes[sum]);
    row = cr_rewrite_add(rw, CR_OP_expand, 1, &row, &shape);
    return cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){sum, row}, NULL);
}

/* In gradients, replaces a / l - x / l, where x and l have one number a row, by (a - x) / l. */
cr_id cr_rule_divide_once(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (!cr_is_gradient(rw) || d->op != CR_OP_sub || g->nodes[d->in[0]].op != CR_OP_div ||
        g->nodes[d->in[1]].op != CR_OP_expand)
        return CR_NONE;
    cr_id a = cr_in(g, d->in[0], 0), wide = cr_in(g, d->in[0], 1), row = cr_in(g, d->in[1], 0);
    if (g->nodes[row].op != CR_OP_div || !repeats_row(g, d->in[1], row) ||
        !repeats_row(g, wide, cr_in(g, row, 1)))
        return CR_NONE;
    cr_id x = cr_in(g, row, 0);
    struct cr_attr shape = cr_attr_of(&g->nodes[d->in[1]]);
    x = cr_rewrite_add(rw, CR_OP_expand, 1, &x, &shape);
    cr_id difference = cr_rewrite_add(rw, CR_OP_sub, 2, (cr_id[]){a, x}, NULL);
    return cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){difference, wide}, NULL);
}

/* Replaces (a / l) e, where l is sum(e) with or without a sink, by a (e / l): the softmax has these
 * probabilities already. */
cr_id cr_rule_normalise_exp(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    for (int i = 0; d->op == CR_OP_mul && i < 2; i++) {
        cr_id quotient = d->in[i], e = d->in[1 - i];
        if (g->nodes[quotient].op != CR_OP_div || g->nodes[e].op != CR_OP_exp ||
            normalised(g, cr_in(g, quotient, 1)) != e)
            continue;
        cr_id a = cr_in(g, quotient, 0), sum = cr_in(g, quotient, 1);
        return cr_multiply(rw, a, cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){e, sum}, NULL));
    }
    return CR_NONE;
}

/* Searches the current entry for a matmul that is older than node `than`, whose left operand has
 * the factors `a` and whose right operand is `b`.  Returns CR_NONE if there is none. */
static cr_id find_product(struct cr_rewrite *rw, const struct cr_factors *a, cr_id b,
                          cr_id than)
{
    const struct cr_graph *g = rw->to;
    struct cr_factors f;
    rw->looks_around = true;
    for (cr_id id = rw->newest_product[b]; id; id = rw->older_product[id])
        if (id < than && g->nodes[id].where.entry == g->here.entry &&
            cr_find_factors(g, cr_in(g, id, 0), &f) && cr_equal_factors(&f, a))
            return id;
    return CR_NONE;
}

/* Applies the inverse of the reshape or permute `move` to node `id`. */
static cr_id move_back(struct cr_rewrite *rw, cr_id move, cr_id id)
{
    const struct cr_node *node = &rw->to->nodes[move];
    const struct cr_node *in = &rw->to->nodes[cr_in(rw->to, move, 0)];
    struct cr_attr back = {.rank = in->rank};
    memcpy(back.shape, in->shape, sizeof back.shape);
    for (int i = 0; node->op == CR_OP_permute && i < node->rank; i++)
        back.index[node->index[i]] = i;
    return cr_rewrite_add(rw, node->op, 1, &id, &back);
}

/* Returns the product of a and b.  If a is a reshape or permute of a node, and b exists in that
 * node's form, multiplies these two and moves the product, so that b need not exist in both
 * forms. */
static cr_id multiply_viewed(struct cr_rewrite *rw, cr_id a, cr_id b)
{
    enum cr_op op = rw->to->nodes[a].op;
    if (op != CR_OP_reshape && op != CR_OP_permute)
        return cr_multiply(rw, a, b);
    int known = rw->to->n_nodes;
    cr_id moved = move_back(rw, a, b);
    if (rw->to->n_nodes > known)
        return cr_multiply(rw, a, b);
    struct cr_attr attr = cr_attr_of(&rw->to->nodes[a]);
    cr_id product = multiply_viewed(rw, cr_in(rw->to, a, 0), moved);
    return cr_rewrite_add(rw, op, 1, &product, &attr);
}

/*
 * In gradients, replaces sum(p (g v')) over rows by sum(g (p v)).  In the gradient of softmax this
 * replaces a sum over all keys by a sum over the width of a head (Dao et al. 2022).  Applies if p v
 * exists and is older than g v'.  Dropout multiplies p and g v' by the same factors.
 */
cr_id cr_rule_sum_of_heads(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    struct cr_factors all;
    if (!cr_is_gradient(rw) || d->op != CR_OP_sum || g->nodes[d->in[0]].op != CR_OP_mul ||
        d->attr->axis != g->nodes[d->in[0]].rank - 1 || !cr_find_factors(g, d->in[0], &all))
        return CR_NONE;
    for (int i = 0; i < all.n; i++) {
        struct cr_factors p = all;
        cr_id product = all.nodes[i];
        if (product < 0 || g->nodes[product].op != CR_OP_matmul || !cr_take_factor(&p, product))
            continue;
        cr_id left = cr_in(g, product, 0), v = cr_transpose_last(rw, cr_in(g, product, 1));
        cr_id there = find_product(rw, &p, v, product);
        if (there == CR_NONE)
            continue;
        cr_id terms = multiply_viewed(rw, left, there);
        return cr_rewrite_add(rw, CR_OP_sum, 1, &terms, d->attr);
    }
    return CR_NONE;
}
