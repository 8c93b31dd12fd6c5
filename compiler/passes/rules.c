/*
 * rules.c - what is written otherwise, one function a rule.
 *
 * Each looks at a node about to be made and returns a node that stands for it, or CR_NONE.  What
 * it makes goes through the rules in its turn.
 */
#include "rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/eval.h"
#include "factors.h"

static const struct cr_node *operand(const struct cr_rewrite *rw, const struct cr_draft *d, int i)
{
    return &rw->to->nodes[d->in[i]];
}

static bool is_const(const struct cr_node *node, double value)
{
    return node->op == CR_OP_const && node->value == value;
}

static cr_id fold_constants(struct cr_rewrite *rw, const struct cr_draft *d)
{
    double value[3] = {0};
    if (cr_ops[d->op].kind != CR_KIND_ELEMENTWISE)
        return CR_NONE;
    for (int i = 0; i < d->n; i++) {
        if (operand(rw, d, i)->op != CR_OP_const)
            return CR_NONE;
        value[i] = operand(rw, d, i)->value;
    }
    struct cr_node node;
    if (!cr_infer(rw->to, d->op, d->n, d->in, &d->attr, &node))
        abort();
    struct cr_attr attr = cr_attr_of(&node);
    attr.value = cr_eval(d->op, value[0], value[1], value[2]);
    return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &attr);
}

/* Ops that return an operand as it is, to the bit; detach, once gradients are made. */
static cr_id drop_neutral(struct cr_rewrite *rw, const struct cr_draft *d)
{
    if (d->op == CR_OP_mul && is_const(operand(rw, d, 0), 1))
        return d->in[1];
    if ((d->op == CR_OP_mul || d->op == CR_OP_div) && is_const(operand(rw, d, 1), 1))
        return d->in[0];
    if (d->op == CR_OP_neg && operand(rw, d, 0)->op == CR_OP_neg)
        return cr_in(rw->to, d->in[0], 0);
    if (d->op == CR_OP_where && operand(rw, d, 0)->op == CR_OP_const)
        return d->in[operand(rw, d, 0)->value != 0 ? 1 : 2];
    if (d->op == CR_OP_detach || (d->op == CR_OP_concat && d->n == 1))
        return d->in[0];
    return CR_NONE;
}

static bool moves_nothing(const struct cr_draft *d, const struct cr_node *in)
{
    if (d->op == CR_OP_permute) {
        for (int i = 0; i < in->rank; i++)
            if (d->attr.index[i] != i)
                return false;
        return true;
    }
    int rank = d->op == CR_OP_slice ? in->rank : d->attr.rank;
    return rank == in->rank &&
           memcmp(d->attr.shape, in->shape, (size_t)rank * sizeof *in->shape) == 0;
}

/* Movement of nothing, of a constant, or of what the same op has moved already. */
static cr_id merge_moves(struct cr_rewrite *rw, const struct cr_draft *d)
{
    if (cr_ops[d->op].kind != CR_KIND_MOVE)
        return CR_NONE;
    const struct cr_node *in = operand(rw, d, 0);
    if (moves_nothing(d, in))
        return d->in[0];
    if (in->op == CR_OP_const) {
        struct cr_node node;
        if (!cr_infer(rw->to, d->op, 1, d->in, &d->attr, &node))
            abort();
        struct cr_attr attr = cr_attr_of(&node);
        attr.value = in->value;
        return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &attr);
    }
    if (in->op != d->op)
        return CR_NONE;
    struct cr_attr attr = d->attr;
    for (int i = 0; i < in->rank; i++) {
        if (d->op == CR_OP_permute)
            attr.index[i] = in->index[d->attr.index[i]];
        if (d->op == CR_OP_slice)
            attr.index[i] += in->index[i];
    }
    cr_id below = cr_in(rw->to, d->in[0], 0);
    return cr_rewrite_add(rw, d->op, 1, &below, &attr);
}

/* a + -b is a - b, to the bit, also where the minus stands before b is repeated. */
static cr_id subtract(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op == CR_OP_expand && operand(rw, d, 0)->op == CR_OP_neg) {
        cr_id in = cr_in(g, d->in[0], 0);
        cr_id wide = cr_rewrite_add(rw, CR_OP_expand, 1, &in, &d->attr);
        return cr_rewrite_add(rw, CR_OP_neg, 1, &wide, NULL);
    }
    if (d->op != CR_OP_add || operand(rw, d, 1)->op != CR_OP_neg)
        return CR_NONE;
    cr_id in[2] = {d->in[0], cr_in(g, d->in[1], 0)};
    return cr_rewrite_add(rw, CR_OP_sub, 2, in, NULL);
}

/* a > b ? a : max(a, b) is max(a, b), to the bit: how a script gives a maximum another
 * gradient where the two are equal. */
static cr_id choose_larger(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_where || operand(rw, d, 0)->op != CR_OP_gt ||
        operand(rw, d, 2)->op != CR_OP_maximum)
        return CR_NONE;
    cr_id a = d->in[1], b = cr_in(g, d->in[0], 1), larger = d->in[2];
    bool same = cr_in(g, d->in[0], 0) == a && cr_in(g, larger, 0) == a && cr_in(g, larger, 1) == b;
    return same ? larger : CR_NONE;
}

/* The e of sum(e, last axis) repeated along that axis, or CR_NONE. */
static cr_id summed_rows(const struct cr_graph *g, cr_id id)
{
    if (g->nodes[id].op == CR_OP_expand)
        id = cr_in(g, id, 0);
    const struct cr_node *sum = &g->nodes[id];
    bool rows = sum->op == CR_OP_sum && sum->axis == sum->rank - 1;
    return rows ? cr_in(g, id, 0) : CR_NONE;
}

/*
 * (exp(s) v) / sum(exp(s)) is (exp(s) / sum(exp(s))) v: softmax has one spelling, the one
 * that attention is recognised by.
 */
static cr_id normalise_first(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_div || operand(rw, d, 0)->op != CR_OP_matmul)
        return CR_NONE;
    cr_id e = cr_in(g, d->in[0], 0), v = cr_in(g, d->in[0], 1);
    if (g->nodes[e].op != CR_OP_exp || summed_rows(g, d->in[1]) != e)
        return CR_NONE;
    cr_id sum = d->in[1];
    if (g->nodes[sum].op == CR_OP_expand)
        sum = cr_in(g, sum, 0);
    struct cr_attr shape = cr_attr_of(&g->nodes[e]);
    cr_id spread = cr_rewrite_add(rw, CR_OP_expand, 1, &sum, &shape);
    cr_id p = cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){e, spread}, NULL);
    return cr_rewrite_add(rw, CR_OP_matmul, 2, (cr_id[]){p, v}, NULL);
}

static cr_id multiply(struct cr_rewrite *rw, cr_id a, cr_id b)
{
    return cr_rewrite_add(rw, CR_OP_mul, 2, (cr_id[]){a, b}, NULL);
}

/* The x of 1 + op(x), where the sum is of these two nodes in either order, or CR_NONE. */
static cr_id one_plus(const struct cr_graph *g, cr_id a, cr_id b, enum cr_op op)
{
    if (is_const(&g->nodes[a], 1) && g->nodes[b].op == op)
        return cr_in(g, b, 0);
    if (is_const(&g->nodes[b], 1) && g->nodes[a].op == op)
        return cr_in(g, a, 0);
    return CR_NONE;
}

static cr_id constant_like(struct cr_rewrite *rw, cr_id id, double value)
{
    struct cr_attr attr = cr_attr_of(&rw->to->nodes[id]);
    attr.value = value;
    return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &attr);
}

/*
 * 1 + tanh(x) is 2 sigmoid(2 x), which is cheaper and, for x < 0, more accurate; it is
 * what GELU and its like consist of.
 */
static cr_id sigmoid_for_tanh(struct cr_rewrite *rw, const struct cr_draft *d)
{
    cr_id x = d->op == CR_OP_add ? one_plus(rw->to, d->in[0], d->in[1], CR_OP_tanh) : CR_NONE;
    if (x == CR_NONE)
        return CR_NONE;
    cr_id two = constant_like(rw, x, 2);
    x = multiply(rw, two, x);
    return multiply(rw, two, cr_rewrite_add(rw, CR_OP_sigmoid, 1, &x, NULL));
}

/* 1 - tanh(x)^2, the derivative of tanh, is 4 s (1 - s) with the s of the rule above. */
static cr_id sigmoid_for_slope(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_sub || !is_const(operand(rw, d, 0), 1) || operand(rw, d, 1)->op != CR_OP_mul)
        return CR_NONE;
    cr_id tanh = cr_in(g, d->in[1], 0);
    if (g->nodes[tanh].op != CR_OP_tanh || cr_in(g, d->in[1], 1) != tanh)
        return CR_NONE;
    cr_id x = cr_in(g, tanh, 0), one = d->in[0];
    x = multiply(rw, constant_like(rw, x, 2), x);
    cr_id s = cr_rewrite_add(rw, CR_OP_sigmoid, 1, &x, NULL);
    cr_id rest = cr_rewrite_add(rw, CR_OP_sub, 2, (cr_id[]){one, s}, NULL);
    return multiply(rw, constant_like(rw, x, 4), multiply(rw, s, rest));
}

/* (a x) x is a (x x): squares are shared, and powers of one thing have one spelling. */
static cr_id square(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_mul || operand(rw, d, 0)->op != CR_OP_mul)
        return CR_NONE;
    cr_id a = cr_in(g, d->in[0], 0), x = cr_in(g, d->in[0], 1);
    if (x != d->in[1] || a == x || g->nodes[x].op == CR_OP_const)
        return CR_NONE;
    return multiply(rw, a, multiply(rw, x, x));
}

/* (a + c x) + x is a + (c + 1) x. */
static cr_id count_terms(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_add || operand(rw, d, 0)->op != CR_OP_add ||
        operand(rw, d, 0)->dtype != CR_F32)
        return CR_NONE;
    cr_id a = cr_in(g, d->in[0], 0), term = cr_in(g, d->in[0], 1), x = d->in[1];
    double count = 1;
    if (term != x) {
        const struct cr_node *node = &g->nodes[term];
        if (node->op != CR_OP_mul || cr_in(g, term, 1) != x ||
            g->nodes[cr_in(g, term, 0)].op != CR_OP_const)
            return CR_NONE;
        count = g->nodes[cr_in(g, term, 0)].value;
    }
    cr_id all = multiply(rw, constant_like(rw, x, count + 1), x);
    return cr_rewrite_add(rw, CR_OP_add, 2, (cr_id[]){a, all}, NULL);
}

/* y / (1 + exp(-x)) is y sigmoid(x). */
static cr_id sigmoid_for_exp(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_div || operand(rw, d, 1)->op != CR_OP_add)
        return CR_NONE;
    cr_id minus = one_plus(g, cr_in(g, d->in[1], 0), cr_in(g, d->in[1], 1), CR_OP_exp);
    if (minus == CR_NONE || g->nodes[minus].op != CR_OP_neg)
        return CR_NONE;
    cr_id x = cr_in(g, minus, 0);
    return multiply(rw, d->in[0], cr_rewrite_add(rw, CR_OP_sigmoid, 1, &x, NULL));
}

/* Whether a node is a power of two, so that multiplying by it moves through other products
 * without changing a bit. */
static bool is_power_of_two(const struct cr_node *node)
{
    int exponent;
    return node->op == CR_OP_const && node->dtype == CR_F32 &&
           fabs(frexp(node->value, &exponent)) == 0.5 && abs(exponent) < 32;
}

/* Whether a number is one like any other in f32, too. */
static bool is_tame(double number)
{
    return fabs(number) > 1e-20 && fabs(number) < 1e20;
}

/* Whether the product of two constants is. */
static bool is_tame_product(const struct cr_node *a, const struct cr_node *b)
{
    return a->op == CR_OP_const && b->op == CR_OP_const && a->dtype == CR_F32 &&
           is_tame(a->value * b->value);
}

/* Constants gather in front of a product: c (d x) is (c d) x; and powers of two come out of
 * one: (2 x) y is 2 (x y). */
static cr_id gather_constants(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    for (int i = 0; d->op == CR_OP_mul && i < 2; i++) {
        cr_id factor = d->in[1 - i], product = d->in[i];
        for (int j = 0; g->nodes[product].op == CR_OP_mul && j < 2; j++) {
            cr_id c = cr_in(g, product, j), x = cr_in(g, product, 1 - j);
            if (is_tame_product(&g->nodes[factor], &g->nodes[c]))
                return multiply(rw, multiply(rw, factor, c), x);
            if (is_power_of_two(&g->nodes[c]) && g->nodes[factor].op != CR_OP_const)
                return multiply(rw, c, i ? multiply(rw, factor, x) : multiply(rw, x, factor));
        }
    }
    return CR_NONE;
}

enum { MOST_FACTORS = 16 };

/* A product without one of its factors, x, and without its constants. */
struct division {
    cr_id x;
    double constant;
    bool found;
    int budget;
};

/* What is left of a product, CR_NONE if nothing is. */
static cr_id divide(struct cr_rewrite *rw, cr_id id, struct division *by)
{
    const struct cr_node *node = &rw->to->nodes[id];
    by->budget--;
    if (id == by->x && !by->found) {
        by->found = true;
        return CR_NONE;
    }
    if (node->op == CR_OP_const) {
        by->constant *= node->value;
        return CR_NONE;
    }
    if (node->op != CR_OP_mul || by->budget < 0)
        return id;
    cr_id a = cr_in(rw->to, id, 0), b = cr_in(rw->to, id, 1);
    cr_id left = divide(rw, a, by), right = divide(rw, b, by);
    if (left == CR_NONE || right == CR_NONE)
        return left == CR_NONE ? right : left;
    return left == a && right == b ? id : multiply(rw, left, right);
}

/* x (a + b y) with numbers a and b. */
struct line {
    cr_id x, y;
    double a, b;
};

static bool scales(const struct cr_graph *g, cr_id id)
{
    return g->nodes[id].op == CR_OP_mul && g->nodes[cr_in(g, id, 0)].op == CR_OP_const;
}

static bool is_line(const struct cr_graph *g, cr_id id, struct line *line)
{
    cr_id sum = g->nodes[id].op == CR_OP_mul ? cr_in(g, id, 1) : CR_NONE;
    if (sum == CR_NONE || g->nodes[sum].op != CR_OP_add || !scales(g, cr_in(g, sum, 1)))
        return false;
    const struct cr_node *first = &g->nodes[cr_in(g, sum, 0)];
    cr_id slope = cr_in(g, sum, 1);
    *line = (struct line){cr_in(g, id, 0), cr_in(g, slope, 1), first->value,
                          g->nodes[cr_in(g, slope, 0)].value};
    return first->op == CR_OP_const;
}

/* Makes one, unless a number is too large or small. */
static cr_id add_line(struct cr_rewrite *rw, const struct line *line)
{
    if (!is_tame(line->a) || !is_tame(line->b))
        return CR_NONE;
    cr_id slope = multiply(rw, constant_like(rw, line->y, line->b), line->y);
    cr_id sum[2] = {constant_like(rw, line->x, line->a), slope};
    return multiply(rw, line->x, cr_rewrite_add(rw, CR_OP_add, 2, sum, NULL));
}

/* scale (plain + term) where the term has the factor x of a plain a x or x (a + b y). */
static cr_id take_out_factor(struct cr_rewrite *rw, double scale, cr_id plain, cr_id term)
{
    const struct cr_graph *g = rw->to;
    struct line line = {.x = plain, .y = CR_NONE, .a = 1};
    if (scales(g, plain))
        line = (struct line){cr_in(g, plain, 1), CR_NONE, g->nodes[cr_in(g, plain, 0)].value, 0};
    else if (!is_line(g, plain, &line) && scale == 1)
        return CR_NONE; /* x + b x y would save nothing */
    struct division by = {.x = line.x, .constant = 1, .budget = MOST_FACTORS};
    cr_id y = divide(rw, term, &by);
    if (!by.found || y == CR_NONE || by.constant == 1 || (line.y != CR_NONE && line.y != y))
        return CR_NONE;
    line = (struct line){line.x, y, scale * line.a, scale * (line.b + by.constant)};
    return add_line(rw, &line);
}

/* The polynomials in GELU and its like in Horner's order, their constants gathered:
 * scale (a x + b x y) is x (scale a + scale b y). */
static cr_id horner(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    cr_id sum[2] = {d->in[0], d->n > 1 ? d->in[1] : CR_NONE}, out = CR_NONE;
    bool scaled = d->op == CR_OP_mul && operand(rw, d, 0)->op == CR_OP_const;
    double scale = scaled ? operand(rw, d, 0)->value : 1;
    struct line line;
    if (scaled && is_line(g, d->in[1], &line)) {
        line.a *= scale;
        line.b *= scale;
        return add_line(rw, &line);
    }
    if (scaled && operand(rw, d, 1)->op == CR_OP_add) {
        sum[0] = cr_in(g, d->in[1], 0);
        sum[1] = cr_in(g, d->in[1], 1);
    } else if (d->op != CR_OP_add) {
        return CR_NONE;
    }
    for (int i = 0; i < 2 && out == CR_NONE && g->nodes[sum[0]].dtype == CR_F32; i++)
        out = take_out_factor(rw, scale, sum[i], sum[1 - i]);
    return out;
}

/* ---- rules for the gradient of softmax, so that it, too, has one spelling ---- */

/* Whether a node is `row`, which has one column, repeated along its last axis. */
static bool repeats_row(const struct cr_graph *g, cr_id wide, cr_id row)
{
    const struct cr_node *node = &g->nodes[wide], *in = &g->nodes[row];
    return node->op == CR_OP_expand && cr_in(g, wide, 0) == row && in->rank == node->rank &&
           in->shape[in->rank - 1] == 1;
}

/* The sum over rows of -x is minus that of x, and that of x / l, with an l for each row, is
 * divided by l: done once a row. */
static cr_id work_after_sum(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_sum || d->attr.axis != operand(rw, d, 0)->rank - 1)
        return CR_NONE;
    cr_id in = d->in[0], x = g->nodes[in].n_in ? cr_in(g, in, 0) : CR_NONE;
    if (g->nodes[in].dtype != CR_F32)
        return CR_NONE;
    if (g->nodes[in].op == CR_OP_neg) {
        cr_id sum = cr_rewrite_add(rw, CR_OP_sum, 1, &x, &d->attr);
        return cr_rewrite_add(rw, CR_OP_neg, 1, &sum, NULL);
    }
    if (g->nodes[in].op != CR_OP_div || g->nodes[cr_in(g, in, 1)].op != CR_OP_expand)
        return CR_NONE;
    cr_id wide = cr_in(g, in, 1), row = cr_in(g, wide, 0);
    if (!repeats_row(g, wide, row))
        return CR_NONE;
    cr_id sum = cr_rewrite_add(rw, CR_OP_sum, 1, &x, &d->attr);
    struct cr_attr shape = cr_attr_of(&rw->to->nodes[sum]);
    row = cr_rewrite_add(rw, CR_OP_expand, 1, &row, &shape);
    return cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){sum, row}, NULL);
}

/* a / l - x / l, with an x and an l for each row, is (a - x) / l. */
static cr_id divide_once(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_sub || operand(rw, d, 0)->op != CR_OP_div ||
        operand(rw, d, 1)->op != CR_OP_expand)
        return CR_NONE;
    cr_id a = cr_in(g, d->in[0], 0), wide = cr_in(g, d->in[0], 1), row = cr_in(g, d->in[1], 0);
    if (g->nodes[row].op != CR_OP_div || !repeats_row(g, d->in[1], row) ||
        !repeats_row(g, wide, cr_in(g, row, 1)))
        return CR_NONE;
    cr_id x = cr_in(g, row, 0);
    struct cr_attr shape = cr_attr_of(operand(rw, d, 1));
    x = cr_rewrite_add(rw, CR_OP_expand, 1, &x, &shape);
    cr_id difference = cr_rewrite_add(rw, CR_OP_sub, 2, (cr_id[]){a, x}, NULL);
    return cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){difference, wide}, NULL);
}

/* (a / l) e with l = sum(e) is a (e / l): the probabilities that softmax has already. */
static cr_id normalise_exp(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    for (int i = 0; d->op == CR_OP_mul && i < 2; i++) {
        cr_id quotient = d->in[i], e = d->in[1 - i];
        if (g->nodes[quotient].op != CR_OP_div || g->nodes[e].op != CR_OP_exp ||
            summed_rows(g, cr_in(g, quotient, 1)) != e)
            continue;
        cr_id a = cr_in(g, quotient, 0), sum = cr_in(g, quotient, 1);
        return multiply(rw, a, cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){e, sum}, NULL));
    }
    return CR_NONE;
}

/* The last two axes exchanged. */
static cr_id transpose(struct cr_rewrite *rw, cr_id id)
{
    struct cr_attr attr = {0};
    int rank = rw->to->nodes[id].rank;
    for (int i = 0; i < rank; i++)
        attr.index[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return cr_rewrite_add(rw, CR_OP_permute, 1, &id, &attr);
}

/* A node older than `than` that is a b already, with an a of these factors; or CR_NONE. */
static cr_id find_product(const struct cr_graph *g, const struct cr_factors *a, cr_id b, cr_id than)
{
    struct cr_factors f;
    for (cr_id id = than - 1; id > b; id--)
        if (g->nodes[id].op == CR_OP_matmul && cr_in(g, id, 1) == b &&
            cr_find_factors(g, cr_in(g, id, 0), &f) && cr_equal_factors(&f, a))
            return id;
    return CR_NONE;
}

/* The move that takes a reshape or permute back, of another node. */
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

/* a b where a is a view of something, and b is there in that form, too: the product of those is
 * what is viewed, and b need not be there in both forms. */
static cr_id multiply_viewed(struct cr_rewrite *rw, cr_id a, cr_id b)
{
    enum cr_op op = rw->to->nodes[a].op;
    if (op != CR_OP_reshape && op != CR_OP_permute)
        return multiply(rw, a, b);
    int known = rw->to->n_nodes;
    cr_id moved = move_back(rw, a, b);
    if (rw->to->n_nodes > known)
        return multiply(rw, a, b);
    struct cr_attr attr = cr_attr_of(&rw->to->nodes[a]);
    cr_id product = multiply_viewed(rw, cr_in(rw->to, a, 0), moved);
    return cr_rewrite_add(rw, op, 1, &product, &attr);
}

/*
 * The sum over rows of p (g v') is that of g (p v).  Of softmax's gradient this makes a sum
 * over the width of a head, of things that are there, instead of one over all keys (Dao et
 * al. 2022); so it is done where p v is there, and is the older of the two products.  Dropout
 * multiplies p by the same factors as g v'.
 */
static cr_id sum_of_heads(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    struct cr_factors all;
    if (d->op != CR_OP_sum || operand(rw, d, 0)->op != CR_OP_mul ||
        d->attr.axis != operand(rw, d, 0)->rank - 1 || !cr_find_factors(g, d->in[0], &all))
        return CR_NONE;
    for (int i = 0; i < all.n; i++) {
        struct cr_factors p = all;
        cr_id product = all.nodes[i];
        if (product < 0 || g->nodes[product].op != CR_OP_matmul || !cr_take_factor(&p, product))
            continue;
        cr_id left = cr_in(g, product, 0), v = transpose(rw, cr_in(g, product, 1));
        cr_id there = find_product(g, &p, v, product);
        if (there == CR_NONE)
            continue;
        cr_id terms = multiply_viewed(rw, left, there);
        return cr_rewrite_add(rw, CR_OP_sum, 1, &terms, &d->attr);
    }
    return CR_NONE;
}

/* The transpose of a' b is b' a, also where other axes change places, too: a product is
 * stored as it is read, and a gradient lies like what it is the gradient of. */
static cr_id transpose_product(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_permute || operand(rw, d, 0)->op != CR_OP_matmul)
        return CR_NONE;
    cr_id a = cr_in(g, d->in[0], 0), b = cr_in(g, d->in[0], 1);
    int rank = operand(rw, d, 0)->rank, at[CR_MAX_RANK];
    for (int i = 0; i < rank; i++)
        at[d->attr.index[i]] = i;
    if (g->nodes[a].op != CR_OP_permute || at[rank - 1] > at[rank - 2])
        return CR_NONE;
    a = transpose(rw, a);
    cr_id product = cr_rewrite_add(rw, CR_OP_matmul, 2, (cr_id[]){transpose(rw, b), a}, NULL);
    struct cr_attr attr = d->attr;
    attr.index[at[rank - 1]] = rank - 2;
    attr.index[at[rank - 2]] = rank - 1;
    return cr_rewrite_add(rw, CR_OP_permute, 1, &product, &attr);
}

static cr_id (*const rules[])(struct cr_rewrite *, const struct cr_draft *) = {
    fold_constants,
    drop_neutral,
    merge_moves,
    subtract,
    normalise_first,
    sigmoid_for_tanh,
    sigmoid_for_exp,
    sigmoid_for_slope,
    gather_constants,
    square,
    count_terms,
    horner,
    work_after_sum,
    divide_once,
    normalise_exp,
    sum_of_heads,
    transpose_product,
    cr_rule_divide_by_sum,
    cr_rule_divide_terms,
    cr_rule_divide_product,
    cr_rule_divide_transposed,
    cr_rule_subtract_first,
    cr_rule_no_shift,
    cr_rule_share_nothing,
    choose_larger,
};

cr_id cr_apply_rules(struct cr_rewrite *rw, const struct cr_draft *draft)
{
    cr_id id = CR_NONE;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && id == CR_NONE; i++)
        id = rules[i](rw, draft);
    return id;
}
