/*
 * rules.c - the rewrite rules, one function each.
 *
 * A rule gets a node that is about to be added and returns a node that replaces it, or CR_NONE.
 * The nodes that a rule adds go through the rules, too.
 *
 * A rule may round differently from the formula that it replaces, but gives NaN and infinity where
 * the formula does.  If the formula overflows in an intermediate result, a rule may give the finite
 * result instead; a rule never overflows where the formula does not.  Exceptions are rules that
 * apply only to gradients (cr_is_gradient) and cr_rule_attend_twice: they are exact for finite
 * values, as long as no intermediate product overflows.
 */
#include "rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/eval.h"
#include "concat_rules.h"
#include "limit_rules.h"
#include "repeat_rules.h"
#include "rule_tools.h"
#include "softmax_rules.h"

/* Replaces an elementwise op on constants by a constant.  Evaluates it like the interpreter: in
 * double, or exactly for i32. */
static cr_id fold_constants(struct cr_rewrite *rw, const struct cr_draft *d)
{
    double value[3] = {0};
    if (cr_ops[d->op].kind != CR_KIND_ELEMENTWISE)
        return CR_NONE;
    for (int i = 0; i < d->n; i++) {
        if (cr_draft_in(rw, d, i)->op != CR_OP_const)
            return CR_NONE;
        value[i] = cr_draft_in(rw, d, i)->value;
    }
    struct cr_node node;
    if (!cr_infer(rw->to, d->op, d->n, d->in, d->attr, &node))
        return CR_NONE; /* an invalid node, which is reported as a bug when it is added */
    struct cr_attr attr = cr_attr_of(&node);
    attr.value = cr_evaluator_of(d->op, node.dtype)(d->op, value[0], value[1], value[2]);
    return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &attr);
}

static bool same_bits(double a, double b)
{
    return a == b && signbit(a) == signbit(b);
}

/* Replaces a reduction of a constant x by x, if x op x and identity op x have the bits of x.  This
 * does not hold for a sum of -0, since 0 + -0 is 0. */
static cr_id fold_reduction(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_node *in = cr_draft_in(rw, d, 0);
    cr_evaluator *combine = cr_evaluator_of(d->op, in->dtype);
    double identity = cr_identity(d->op, in->dtype), x = in->value;
    if (in->op != CR_OP_const || !same_bits(combine(d->op, identity, x, 0), x) ||
        !same_bits(combine(d->op, x, x, 0), x))
        return CR_NONE;
    struct cr_node node;
    if (!cr_infer(rw->to, d->op, 1, d->in, d->attr, &node))
        abort();
    struct cr_attr attr = cr_attr_of(&node);
    attr.value = x;
    return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &attr);
}

/* Replaces ops that return an operand bit by bit by the operand; detach, too, since gradients have
 * been computed by now. */
static cr_id drop_neutral(struct cr_rewrite *rw, const struct cr_draft *d)
{
    if (d->op == CR_OP_mul && cr_is_number(cr_draft_in(rw, d, 0), 1))
        return d->in[1];
    if ((d->op == CR_OP_mul || d->op == CR_OP_div) && cr_is_number(cr_draft_in(rw, d, 1), 1))
        return d->in[0];
    if (d->op == CR_OP_neg && cr_draft_in(rw, d, 0)->op == CR_OP_neg)
        return cr_in(rw->to, d->in[0], 0);
    if (d->op == CR_OP_where && cr_draft_in(rw, d, 0)->op == CR_OP_const)
        return d->in[cr_draft_in(rw, d, 0)->value != 0 ? 1 : 2];
    if (d->op == CR_OP_detach || (d->op == CR_OP_concat && d->n == 1))
        return d->in[0];
    return CR_NONE;
}

static bool moves_nothing(const struct cr_draft *d, const struct cr_node *in)
{
    if (d->op == CR_OP_permute) {
        for (int i = 0; i < in->rank; i++)
            if (d->attr->index[i] != i)
                return false;
        return true;
    }
    int rank = d->op == CR_OP_slice ? in->rank : d->attr->rank;
    return rank == in->rank &&
           memcmp(d->attr->shape, in->shape, (size_t)rank * sizeof *in->shape) == 0;
}

/* Removes movement ops that change nothing or move a constant; merges two movement ops of one
 * kind. */
static cr_id merge_moves(struct cr_rewrite *rw, const struct cr_draft *d)
{
    if (cr_ops[d->op].kind != CR_KIND_MOVE)
        return CR_NONE;
    const struct cr_node *in = cr_draft_in(rw, d, 0);
    if (moves_nothing(d, in))
        return d->in[0];
    if (in->op == CR_OP_const) {
        struct cr_node node;
        if (!cr_infer(rw->to, d->op, 1, d->in, d->attr, &node))
            return CR_NONE;
        struct cr_attr attr = cr_attr_of(&node);
        attr.value = in->value;
        return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &attr);
    }
    if (in->op != d->op)
        return CR_NONE;
    struct cr_attr attr = *d->attr;
    for (int i = 0; i < in->rank; i++) {
        if (d->op == CR_OP_permute)
            attr.index[i] = in->index[d->attr->index[i]];
        if (d->op == CR_OP_slice)
            attr.index[i] += in->index[i];
    }
    cr_id below = cr_in(rw->to, d->in[0], 0);
    return cr_rewrite_add(rw, d->op, 1, &below, &attr);
}

static cr_id constant_like(struct cr_rewrite *rw, cr_id id, double value)
{
    struct cr_attr attr = cr_attr_of(&rw->to->nodes[id]);
    attr.value = value;
    return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &attr);
}

/* Replaces a^1, a^2 and a^-1 by a, a a and 1 / a, which are also more exact. */
static cr_id simple_power(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_node *b = cr_draft_in(rw, d, 1);
    cr_id a = d->in[0];
    if (cr_is_number(b, 1))
        return a;
    if (cr_is_number(b, 2))
        return cr_rewrite_add(rw, CR_OP_mul, 2, (cr_id[]){a, a}, NULL);
    if (cr_is_number(b, -1))
        return cr_rewrite_add(rw, CR_OP_div, 2, (cr_id[]){constant_like(rw, d->in[1], 1), a}, NULL);
    return CR_NONE;
}

/* Replaces a + -b and -b + a by a - b, which has the same bits.  Also moves neg above an expand, so
 * that this rule can find it.  The lengths of the expand stay on the expand: a limit above neg
 * would hide neg. */
static cr_id subtract(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op == CR_OP_expand && cr_draft_in(rw, d, 0)->op == CR_OP_neg) {
        cr_id in = cr_in(g, d->in[0], 0);
        cr_id wide = cr_rewrite_add(rw, CR_OP_expand, 1, &in, d->attr);
        wide = cr_rewrite_limited(rw, wide, d->attr->lengths);
        return cr_rewrite_add(rw, CR_OP_neg, 1, &wide, NULL);
    }
    for (int i = 1; d->op == CR_OP_add && i >= 0; i--)
        if (cr_draft_in(rw, d, i)->op == CR_OP_neg) {
            cr_id in[2] = {d->in[1 - i], cr_in(g, d->in[i], 0)};
            return cr_rewrite_add(rw, CR_OP_sub, 2, in, NULL);
        }
    return CR_NONE;
}

/* Replaces a > b ? a : max(a, b) by max(a, b), which has the same bits.  Scripts write the former
 * to get a different gradient where a equals b. */
static cr_id choose_larger(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_where || cr_draft_in(rw, d, 0)->op != CR_OP_gt ||
        cr_draft_in(rw, d, 2)->op != CR_OP_maximum)
        return CR_NONE;
    cr_id a = d->in[1], b = cr_in(g, d->in[0], 1), larger = d->in[2];
    bool same = cr_in(g, d->in[0], 0) == a && cr_in(g, larger, 0) == a && cr_in(g, larger, 1) == b;
    return same ? larger : CR_NONE;
}

/* Replaces c ? a : a by a. */
static cr_id choose_nothing(struct cr_rewrite *rw, const struct cr_draft *d)
{
    (void)rw;
    return d->op == CR_OP_where && d->in[1] == d->in[2] ? d->in[1] : CR_NONE;
}

/* Returns x if one of the two nodes is 1 and the other is op(x); otherwise CR_NONE. */
static cr_id one_plus(const struct cr_graph *g, cr_id a, cr_id b, enum cr_op op)
{
    if (cr_is_number(&g->nodes[a], 1) && g->nodes[b].op == op)
        return cr_in(g, b, 0);
    if (cr_is_number(&g->nodes[b], 1) && g->nodes[a].op == op)
        return cr_in(g, a, 0);
    return CR_NONE;
}

/*
 * Replaces 1 + tanh(x) by 2 sigmoid(2 x), which is cheaper and, for x < 0, more accurate.  GELU and
 * similar functions contain it.
 */
static cr_id sigmoid_for_tanh(struct cr_rewrite *rw, const struct cr_draft *d)
{
    cr_id x = d->op == CR_OP_add ? one_plus(rw->to, d->in[0], d->in[1], CR_OP_tanh) : CR_NONE;
    if (x == CR_NONE)
        return CR_NONE;
    cr_id two = constant_like(rw, x, 2);
    x = cr_multiply(rw, two, x);
    return cr_multiply(rw, two, cr_rewrite_add(rw, CR_OP_sigmoid, 1, &x, NULL));
}

/* Replaces 1 - tanh(x)^2, the derivative of tanh, by 4 s (1 - s), where s is sigmoid(2 x). */
static cr_id sigmoid_for_slope(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_sub || !cr_is_number(cr_draft_in(rw, d, 0), 1) ||
        cr_draft_in(rw, d, 1)->op != CR_OP_mul)
        return CR_NONE;
    cr_id tanh = cr_in(g, d->in[1], 0);
    if (g->nodes[tanh].op != CR_OP_tanh || cr_in(g, d->in[1], 1) != tanh)
        return CR_NONE;
    cr_id x = cr_in(g, tanh, 0), one = d->in[0];
    x = cr_multiply(rw, constant_like(rw, x, 2), x);
    cr_id s = cr_rewrite_add(rw, CR_OP_sigmoid, 1, &x, NULL);
    cr_id rest = cr_rewrite_add(rw, CR_OP_sub, 2, (cr_id[]){one, s}, NULL);
    return cr_multiply(rw, constant_like(rw, x, 4), cr_multiply(rw, s, rest));
}

/* True if a node is a constant whose magnitude is at least `least`. */
static bool is_at_least(const struct cr_node *node, double least)
{
    return node->op == CR_OP_const && fabs(node->value) >= least;
}

/* If |a| is at least this number, a x x x overflows whenever x x does. */
#define LEAST_OF_CUBE 1e-19

/*
 * Replaces (a x) x by a (x x), and ((a x) x) x by (a (x x)) x: so squares are shared, and each
 * power has one form.  Outside gradients this applies only if x x overflows no earlier than the
 * formula: |a| is at least 1, or large enough that a x x x overflows whenever x x does.
 */
static cr_id square(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_mul || cr_draft_in(rw, d, 0)->op != CR_OP_mul)
        return CR_NONE;
    cr_id a = cr_in(g, d->in[0], 0), x = cr_in(g, d->in[0], 1);
    if (x != d->in[1] || a == x || g->nodes[x].op == CR_OP_const)
        return CR_NONE;
    if (cr_is_gradient(rw) || is_at_least(&g->nodes[a], 1))
        return cr_multiply(rw, a, cr_multiply(rw, x, x));
    if (g->nodes[a].op != CR_OP_mul || cr_in(g, a, 1) != x ||
        !is_at_least(&g->nodes[cr_in(g, a, 0)], LEAST_OF_CUBE))
        return CR_NONE;
    return cr_multiply(rw, cr_multiply(rw, cr_in(g, a, 0), cr_multiply(rw, x, x)), x);
}

/* In gradients, replaces (a + c x) + x by a + (c + 1) x. */
static cr_id count_terms(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (!cr_is_gradient(rw) || d->op != CR_OP_add || cr_draft_in(rw, d, 0)->op != CR_OP_add ||
        cr_draft_in(rw, d, 0)->dtype != CR_F32)
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
    cr_id all = cr_multiply(rw, constant_like(rw, x, count + 1), x);
    return cr_rewrite_add(rw, CR_OP_add, 2, (cr_id[]){a, all}, NULL);
}

/* Replaces y / (1 + exp(-x)) by y sigmoid(x). */
static cr_id sigmoid_for_exp(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_div || cr_draft_in(rw, d, 1)->op != CR_OP_add)
        return CR_NONE;
    cr_id minus = one_plus(g, cr_in(g, d->in[1], 0), cr_in(g, d->in[1], 1), CR_OP_exp);
    if (minus == CR_NONE || g->nodes[minus].op != CR_OP_neg)
        return CR_NONE;
    cr_id x = cr_in(g, minus, 0);
    return cr_multiply(rw, d->in[0], cr_rewrite_add(rw, CR_OP_sigmoid, 1, &x, NULL));
}

/* True if a number is far from overflow and from underflow in f32. */
static bool is_tame(double number)
{
    return fabs(number) > 1e-20 && fabs(number) < 1e20;
}

/* True if two nodes are f32 constants whose product is_tame. */
static bool is_tame_product(const struct cr_node *a, const struct cr_node *b)
{
    return a->op == CR_OP_const && b->op == CR_OP_const && a->dtype == CR_F32 &&
           is_tame(a->value * b->value);
}

/* Moves constants to the front of a product and multiplies them: replaces c (d x) by (c d) x. */
static cr_id gather_constants(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    for (int i = 0; d->op == CR_OP_mul && i < 2; i++) {
        cr_id factor = d->in[1 - i], product = d->in[i];
        for (int j = 0; g->nodes[product].op == CR_OP_mul && j < 2; j++) {
            cr_id c = cr_in(g, product, j), x = cr_in(g, product, 1 - j);
            if (is_tame_product(&g->nodes[factor], &g->nodes[c]))
                return cr_multiply(rw, cr_multiply(rw, factor, c), x);
        }
    }
    return CR_NONE;
}

/* A product c x, where c is a power of two.  Multiplication by c is exact, so it commutes with
 * other products. */
struct scaled {
    double c;
    cr_id x;
};

/* Returns node `id` as a product c x with a power of two c; if it is no such product, c is 1 and x
 * is `id`. */
static struct scaled find_scale(const struct cr_graph *g, cr_id id)
{
    int exponent;
    for (int i = 0; g->nodes[id].op == CR_OP_mul && i < 2; i++) {
        const struct cr_node *c = &g->nodes[cr_in(g, id, i)];
        if (c->op == CR_OP_const && c->dtype == CR_F32 && fabs(frexp(c->value, &exponent)) == 0.5 &&
            abs(exponent) < 32)
            return (struct scaled){c->value, cr_in(g, id, 1 - i)};
    }
    return (struct scaled){1, id};
}

/* Returns the product of x and y, with `scale` multiplied into y if `second`, else into x. */
static cr_id scale_factor(struct cr_rewrite *rw, double scale, cr_id x, cr_id y, bool second)
{
    cr_id number = constant_like(rw, x, scale);
    return second ? cr_multiply(rw, x, cr_multiply(rw, number, y)) : cr_multiply(rw, cr_multiply(rw, number, x), y);
}

/*
 * Returns scale x y.  A scale of at least 1 is multiplied last, a smaller one with factor number
 * `which` first, so that no intermediate result is larger than the product, x or y.  In gradients
 * the scale is always multiplied last, where rules can merge it with other scales.
 */
static cr_id scale_product(struct cr_rewrite *rw, double scale, cr_id x, cr_id y, int which)
{
    if (fabs(scale) >= 1 || cr_is_gradient(rw)) {
        cr_id number = constant_like(rw, x, scale);
        return cr_multiply(rw, number, cr_multiply(rw, x, y));
    }
    return scale_factor(rw, scale, x, y, which == 1);
}

/* Merges a constant of at least 1 in front of a product with a power of two below 1 inside it:
 * replaces 3 ((0.5 x) y) by 1.5 (x y). */
static cr_id meet_scale(struct cr_rewrite *rw, const struct cr_node *front, cr_id product)
{
    const struct cr_graph *g = rw->to;
    if (g->nodes[product].op != CR_OP_mul || !is_at_least(front, 1))
        return CR_NONE;
    for (int i = 0; i < 2; i++) {
        cr_id in[2] = {cr_in(g, product, 0), cr_in(g, product, 1)};
        struct scaled inner = find_scale(g, in[i]);
        double scale = front->value * inner.c;
        if (fabs(inner.c) >= 1 || !is_tame(scale))
            continue;
        in[i] = inner.x;
        return scale_product(rw, scale, in[0], in[1], i);
    }
    return CR_NONE;
}

/*
 * In gradients, moves powers of two out of a product: replaces (2 x) y by 2 (x y).
 *
 * Elsewhere a power above 1 stays inside: a sum could make an fma of (2 x) y, but not of 2 (x y),
 * where x y is rounded first.  A power below 1 also stays inside, since x y may overflow where (0.5
 * x) y does not; it moves to the factor that is computed later, since the other factor may be
 * needed unscaled before.  Powers above and below 1 cancel: (0.5 x) (2 y) becomes x y; if the
 * larger one is not used up, the rest stays with its factor.
 */
static cr_id gather_scales(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_mul || cr_draft_in(rw, d, 0)->dtype != CR_F32)
        return CR_NONE;
    for (int i = 0; i < 2; i++)
        if (cr_draft_in(rw, d, i)->op == CR_OP_const)
            return meet_scale(rw, cr_draft_in(rw, d, i), d->in[1 - i]);
    struct scaled a = find_scale(g, d->in[0]), b = find_scale(g, d->in[1]);
    bool small_a = fabs(a.c) < 1, small_b = fabs(b.c) < 1, later = a.x < b.x;
    double scale = a.c * b.c;
    if (a.c == 1 && b.c == 1)
        return CR_NONE;
    if (cr_is_gradient(rw))
        return scale_product(rw, scale, a.x, b.x, 0);
    if (fabs(scale) >= 1)
        return small_a || small_b ? scale_factor(rw, scale, a.x, b.x, small_a) : CR_NONE;
    if (small_a == small_b || ((small_a ? b.c : a.c) == 1 && small_a != later))
        return CR_NONE;
    return scale_factor(rw, scale, a.x, b.x, later);
}

enum { MOST_FACTORS = 16 /* the most nodes of a product that are visited */ };

/* The division of a product by one of its factors, x.  `constant` is the product of all constants
 * among the factors. */
struct division {
    cr_id x;
    double constant;
    bool found;
    int budget;
};

/* Returns the product `id` without the factor `by->x` and without constants; CR_NONE if no factor
 * is left. */
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
    return left == a && right == b ? id : cr_multiply(rw, left, right);
}

/* The product x (a + b y), where a and b are numbers. */
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

/* Returns p if node `id` is the power x^p; a negative number if it has other factors. */
static int power_of(const struct cr_graph *g, cr_id id, cr_id x, int *budget)
{
    if (id == x)
        return 1;
    if (--*budget < 0 || g->nodes[id].op != CR_OP_mul)
        return -MOST_FACTORS;
    return power_of(g, cr_in(g, id, 0), x, budget) + power_of(g, cr_in(g, id, 1), x, budget);
}

/*
 * True if a x + b x y equals x (a + b y) for all values.  That is false if x can be infinite where
 * a + b y is 0, or has another sign than a or b y.  So y has to be an even power of x, as in the
 * polynomial of GELU; y then overflows only where b x y does.
 */
static bool is_exact(const struct cr_graph *g, const struct line *line)
{
    int budget = MOST_FACTORS, power = power_of(g, line->y, line->x, &budget);
    return power > 0 && power % 2 == 0 && line->a * line->b > 0 && fabs(line->b) >= LEAST_OF_CUBE;
}

/* Returns x (a + b y); CR_NONE if a or b is too large or too small for f32, or if the result would
 * not be exact. */
static cr_id add_line(struct cr_rewrite *rw, const struct line *line)
{
    if (!is_tame(line->a) || !is_tame(line->b) ||
        (!cr_is_gradient(rw) && !is_exact(rw->to, line)))
        return CR_NONE;
    cr_id slope = cr_multiply(rw, constant_like(rw, line->y, line->b), line->y);
    cr_id sum[2] = {constant_like(rw, line->x, line->a), slope};
    return cr_multiply(rw, line->x, cr_rewrite_add(rw, CR_OP_add, 2, sum, NULL));
}

/* Returns scale (plain + term) as a product: `plain` is a x or x (a + b y), and `term` has the
 * factor x.  Returns CR_NONE if that is impossible or saves nothing. */
static cr_id take_out_factor(struct cr_rewrite *rw, double scale, cr_id plain, cr_id term)
{
    const struct cr_graph *g = rw->to;
    struct line line = {.x = plain, .y = CR_NONE, .a = 1};
    if (scales(g, plain))
        line = (struct line){cr_in(g, plain, 1), CR_NONE, g->nodes[cr_in(g, plain, 0)].value, 0};
    else if (!is_line(g, plain, &line) && scale == 1)
        return CR_NONE; /* writing x + b x y as a product would save nothing */
    struct division by = {.x = line.x, .constant = 1, .budget = MOST_FACTORS};
    cr_id y = divide(rw, term, &by);
    if (!by.found || y == CR_NONE || by.constant == 1 || (line.y != CR_NONE && line.y != y))
        return CR_NONE;
    line = (struct line){line.x, y, scale * line.a, scale * (line.b + by.constant)};
    return add_line(rw, &line);
}

/* Writes polynomials, as in GELU, in Horner's form with merged constants: replaces scale (a x + b x
 * y) by x (scale a + scale b y).  Applies in gradients, and elsewhere if is_exact. */
static cr_id horner(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    cr_id sum[2] = {d->in[0], d->n > 1 ? d->in[1] : CR_NONE}, out = CR_NONE;
    bool scaled = d->op == CR_OP_mul && cr_draft_in(rw, d, 0)->op == CR_OP_const;
    double scale = scaled ? cr_draft_in(rw, d, 0)->value : 1;
    struct line line;
    if ((d->op != CR_OP_mul && d->op != CR_OP_add) || cr_draft_in(rw, d, 0)->dtype != CR_F32)
        return CR_NONE;
    if (scaled && is_line(g, d->in[1], &line)) {
        line.a *= scale;
        line.b *= scale;
        return add_line(rw, &line);
    }
    if (scaled && cr_draft_in(rw, d, 1)->op == CR_OP_add) {
        sum[0] = cr_in(g, d->in[1], 0);
        sum[1] = cr_in(g, d->in[1], 1);
    } else if (d->op != CR_OP_add) {
        return CR_NONE;
    }
    for (int i = 0; i < 2 && out == CR_NONE; i++)
        out = take_out_factor(rw, scale, sum[i], sum[1 - i]);
    return out;
}

/* True if a node is a parameter, or movement ops and concats of parameters. */
static bool is_weight(const struct cr_graph *g, cr_id id)
{
    enum cr_kind kind = cr_kind_of(g, id);
    bool weight = g->nodes[id].op == CR_OP_param || kind == CR_KIND_MOVE || kind == CR_KIND_CONCAT;
    for (int i = 0; i < g->nodes[id].n_in && weight; i++)
        weight = is_weight(g, cr_in(g, id, i));
    return weight;
}

bool cr_is_stored_transposed(const struct cr_graph *g, cr_id product)
{
    return g->nodes[product].op == CR_OP_matmul &&
           g->nodes[cr_in(g, product, 0)].op == CR_OP_permute && !is_weight(g, cr_in(g, product, 1));
}

/* Replaces the transpose of a' b by b' a, also if other axes are permuted.  So the product is
 * stored in the order in which it is read, and a gradient has the layout of its parameter.  Weights
 * remain right operands, which products read as panels in their own format. */
static cr_id transpose_product(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    if (d->op != CR_OP_permute || !cr_is_stored_transposed(g, d->in[0]))
        return CR_NONE;
    cr_id a = cr_in(g, d->in[0], 0), b = cr_in(g, d->in[0], 1);
    int rank = cr_draft_in(rw, d, 0)->rank, at[CR_MAX_RANK];
    for (int i = 0; i < rank; i++)
        at[d->attr->index[i]] = i;
    if (at[rank - 1] > at[rank - 2])
        return CR_NONE;
    a = cr_transpose_last(rw, a);
    cr_id product =
        cr_rewrite_add(rw, CR_OP_matmul, 2, (cr_id[]){cr_transpose_last(rw, b), a}, NULL);
    struct cr_attr attr = *d->attr;
    attr.index[at[rank - 1]] = rank - 2;
    attr.index[at[rank - 2]] = rank - 1;
    return cr_rewrite_add(rw, CR_OP_permute, 1, &product, &attr);
}

/* Replaces a write of rows that are all outside the tensor by the tensor. */
static cr_id write_nothing(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_node *to = cr_draft_in(rw, d, 0), *rows = cr_draft_in(rw, d, 1),
                         *at = cr_draft_in(rw, d, 2);
    int axis = d->attr->axis;
    bool inside = at->value < (double)to->shape[axis] && at->value + (double)rows->shape[axis] > 0;
    return at->op == CR_OP_const && !inside ? d->in[0] : CR_NONE;
}

#define OF(name) (UINT64_C(1) << CR_OP_##name)
#define OR_OF(name, ...) | OF(name)
#define ELEMENTWISE (0 CR_ELEMENTWISE(OR_OF))
#define REDUCTIONS (0 CR_REDUCTIONS(OR_OF))
#define MOVES (OF(reshape) | OF(permute) | OF(expand) | OF(slice) | OF(detach))

_Static_assert(CR_OP_COUNT <= 64, "a set of ops is a word");

static const struct cr_rewrite_rule rules[] = {
    {cr_rule_limit_nothing, OF(limit)},
    {cr_rule_limit_once, ELEMENTWISE},
    {cr_rule_limit_constant, ELEMENTWISE | MOVES},
    {fold_constants, ELEMENTWISE},
    {fold_reduction, REDUCTIONS},
    {drop_neutral, OF(mul) | OF(div) | OF(neg) | OF(where) | OF(detach) | OF(concat)},
    {merge_moves, MOVES},
    {simple_power, OF(pow)},
    {subtract, OF(add) | OF(expand)},
    {cr_rule_join_constants, OF(concat)},
    {cr_rule_repeat_parts, OF(concat)},
    {cr_rule_repeat_rows, OF(gather)},
    {cr_rule_work_on_part, OF(slice)},
    {cr_rule_reduce_parts, OF(sum) | OF(max)},
    {cr_rule_normalise_first, OF(div)},
    {sigmoid_for_tanh, OF(add)},
    {sigmoid_for_exp, OF(div)},
    {sigmoid_for_slope, OF(sub)},
    {gather_constants, OF(mul)},
    {gather_scales, OF(mul)},
    {square, OF(mul)},
    {count_terms, OF(add)},
    {horner, OF(add) | OF(mul)},
    {cr_rule_work_after_sum, OF(sum)},
    {cr_rule_divide_once, OF(sub)},
    {cr_rule_normalise_exp, OF(mul)},
    {cr_rule_sum_of_heads, OF(sum)},
    {transpose_product, OF(permute)},
    {cr_rule_divide_by_sum, OF(mul)},
    {cr_rule_divide_terms, OF(div)},
    {cr_rule_attend_twice, OF(matmul)},
    {cr_rule_divide_product, OF(matmul)},
    {cr_rule_divide_transposed, OF(matmul)},
    {cr_rule_no_shift, OF(sum)},
    {cr_rule_no_shift_of_sink, OF(sub)},
    {cr_rule_sink_is_cut, OF(add) | OF(sub) | OF(mul) | OF(div)},
    {cr_rule_subtract_share, OF(add)},
    {cr_rule_share_nothing, OF(add) | OF(where)},
    {choose_larger, OF(where)},
    {choose_nothing, OF(where)},
    {write_nothing, OF(write)},
};

const struct cr_rewrite_rules cr_rules = {rules, sizeof rules / sizeof *rules};
