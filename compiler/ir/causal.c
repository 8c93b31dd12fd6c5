/*
 * causal.c - finds the common value of elements whose key comes after their query; see causal.h.
 *
 * If the query is at position i, a later key is at i + 1 + k for some k >= 0.  Values that depend
 * on positions only are represented as c + i di + k dk, for i and k within bounds.  A comparison
 * of two such values is decided if their difference has one sign within those bounds.
 *
 * A finite mask value does not hide later keys from a query that sees no key: it is then the
 * maximum of the query's scores.  So a second search, in which the key is the query's own token,
 * proves that no mask value hides the token from itself.
 */
#include "causal.h"

#include <math.h>

#include "axes.h"
#include "eval.h"

enum kind { UNKNOWN, AFFINE, HIDDEN };

struct fact {
    enum kind kind;
    double c, di, dk; /* AFFINE: the value is c + i di + k dk.  HIDDEN: the value is at most about
                       * c, even after finite scores are added */
};

/* An axis whose elements are tokens. */
struct side {
    int axis;      /* or CR_NONE: there is none */
    int64_t ahead; /* index along the axis of the element that belongs to token 0 */
};

struct search {
    const struct cr_graph *g;
    double most; /* greatest possible i and k */
    int steps;   /* steps left, which bounds the search: the graph of a mask is small */
    bool own;    /* true: the key is the query's own token; false: it is a later token */
};

enum { MOST_STEPS = 4096 };

static const struct fact unknown = {UNKNOWN, 0, 0, 0};

static struct fact affine(double c, double di, double dk)
{
    return (struct fact){AFFINE, c, di, dk};
}

static struct fact constant(double value)
{
    return affine(value, 0, 0);
}

/* Returns the fact that a value is at most about c: HIDDEN if c is at most -CR_HIDES, else
 * UNKNOWN. */
static struct fact hidden(double c)
{
    return c <= -CR_HIDES ? (struct fact){HIDDEN, c, 0, 0} : unknown;
}

static bool is_constant(const struct fact *f)
{
    return f->kind == AFFINE && f->di == 0 && f->dk == 0;
}

static bool is_value(const struct fact *f, double value)
{
    return is_constant(f) && f->c == value;
}

static bool is_same(const struct fact *a, const struct fact *b)
{
    return a->kind == b->kind && a->c == b->c && a->di == b->di && a->dk == b->dk;
}

static double least(const struct search *s, const struct fact *f)
{
    return f->c + s->most * (fmin(f->di, 0) + fmin(f->dk, 0));
}

static double greatest(const struct search *s, const struct fact *f)
{
    return f->c + s->most * (fmax(f->di, 0) + fmax(f->dk, 0));
}

/* Returns the greatest value that a fact allows; for a HIDDEN fact its bound c. */
static double highest(const struct search *s, const struct fact *f)
{
    return f->kind == HIDDEN ? f->c : greatest(s, f);
}

static bool hides(const struct search *s, const struct fact *f)
{
    return f->kind != UNKNOWN && highest(s, f) <= -CR_HIDES;
}

/* ---- arithmetic ---- */

/* True if a number is a multiple of `step` with a magnitude of at most `bound`. */
static bool is_multiple(double x, double step, double bound)
{
    return x / step == floor(x / step) && fabs(x) <= bound;
}

/* Returns the fact that remains of `f`, which holds for exact arithmetic, in the arithmetic of a
 * type: UNKNOWN if the value may have been rounded or wrapped, but HIDDEN if the value still
 * hides scores.  All multiples of 2^-10 up to 2^14 and all whole numbers up to 2^24 are exact in
 * float32. */
static struct fact exact(const struct search *s, enum cr_dtype type, struct fact f)
{
    double bound = fmax(fabs(least(s, &f)), fabs(greatest(s, &f)));
    if (f.kind != AFFINE || is_constant(&f))
        return f;
    if (type == CR_I32)
        return bound < 2147483648.0 ? f : unknown;
    for (double step = 1; step > 1e-3; step /= 2) {
        double most = 16777216.0 * step;
        if (is_multiple(f.c, step, most) && is_multiple(f.di, step, most) &&
            is_multiple(f.dk, step, most) && bound <= most)
            return f;
    }
    return hidden(greatest(s, &f));
}

/* Returns the fact of a + sign * b.  HIDDEN + a score (UNKNOWN) is HIDDEN; HIDDEN + a known
 * number is HIDDEN if the sum is still at most -CR_HIDES. */
static struct fact plus(const struct search *s, struct fact a, struct fact b, double sign)
{
    if (b.kind == AFFINE)
        b = affine(sign * b.c, sign * b.di, sign * b.dk);
    else if (b.kind == HIDDEN && sign < 0)
        b = unknown;
    if (a.kind == AFFINE && b.kind == AFFINE)
        return affine(a.c + b.c, a.di + b.di, a.dk + b.dk);
    if (a.kind != UNKNOWN && b.kind != UNKNOWN)
        return hidden(highest(s, &a) + highest(s, &b));
    if (a.kind == UNKNOWN)
        a = b;
    return a.kind == UNKNOWN ? unknown : hidden(highest(s, &a));
}

/* Returns the fact of a product.  A factor 0 makes it 0, whatever the other factor is. */
static struct fact times(struct fact a, struct fact b)
{
    if (is_value(&a, 0) || is_value(&b, 0))
        return constant(0);
    if (is_constant(&a)) {
        struct fact swap = a;
        a = b, b = swap;
    }
    if (!is_constant(&b))
        return unknown;
    if (a.kind == AFFINE)
        return affine(a.c * b.c, a.di * b.c, a.dk * b.c);
    return a.kind == HIDDEN && b.c > 0 ? hidden(a.c * b.c) : unknown;
}

static struct fact over(struct fact a, struct fact b)
{
    if (is_value(&a, 0))
        return a;
    return is_constant(&b) && b.c != 0 ? times(a, constant(1 / b.c)) : unknown;
}

static struct fact absolute(const struct search *s, struct fact a)
{
    if (a.kind != AFFINE)
        return unknown;
    if (least(s, &a) >= 0)
        return a;
    return greatest(s, &a) <= 0 ? affine(-a.c, -a.di, -a.dk) : unknown;
}

/* Returns the fact of max(a, b); with sign -1, of min(a, b). */
static struct fact extreme(const struct search *s, struct fact a, struct fact b, double sign)
{
    if (sign > 0 && hides(s, &a) && hides(s, &b))
        return hidden(fmax(highest(s, &a), highest(s, &b)));
    if (sign > 0 && a.kind == HIDDEN && b.kind == AFFINE && least(s, &b) >= -CR_HIDES)
        return b;
    if (sign > 0 && b.kind == HIDDEN && a.kind == AFFINE && least(s, &a) >= -CR_HIDES)
        return a;
    if (sign < 0 && (hides(s, &a) || hides(s, &b)))
        return hidden(hides(s, &a) ? highest(s, &a) : highest(s, &b));
    if (a.kind != AFFINE || b.kind != AFFINE)
        return unknown;
    struct fact gap = affine(a.c - b.c, a.di - b.di, a.dk - b.dk);
    if (least(s, &gap) >= 0)
        return sign > 0 ? a : b;
    return greatest(s, &gap) <= 0 ? (sign > 0 ? b : a) : unknown;
}

/* Returns the fact of a < b, or with `equal` of a <= b. */
static struct fact less(const struct search *s, struct fact a, struct fact b, bool equal)
{
    if (a.kind != AFFINE || b.kind != AFFINE)
        return unknown;
    struct fact gap = affine(a.c - b.c, a.di - b.di, a.dk - b.dk);
    double low = least(s, &gap), high = greatest(s, &gap);
    if (equal ? high <= 0 : high < 0)
        return constant(1);
    return (equal ? low > 0 : low >= 0) ? constant(0) : unknown;
}

static struct fact equal(const struct search *s, struct fact a, struct fact b, double yes)
{
    struct fact below = less(s, a, b, true), above = less(s, b, a, true);
    if (is_value(&below, 0) || is_value(&above, 0))
        return constant(1 - yes);
    return is_value(&below, 1) && is_value(&above, 1) ? constant(yes) : unknown;
}

/* Returns the value of an op whose operands are all constants; UNKNOWN if an operand is not a
 * constant. */
static struct fact evaluated(const struct search *s, cr_id id, const struct fact *in)
{
    const struct cr_node *node = &s->g->nodes[id];
    double values[3] = {0, 0, 0};
    for (int i = 0; i < node->n_in; i++) {
        if (!is_constant(&in[i]))
            return unknown;
        values[i] = in[i].c;
    }
    enum cr_dtype type = s->g->nodes[cr_in(s->g, id, node->n_in - 1)].dtype;
    double value = cr_evaluator_of(node->op, type)(node->op, values[0], values[1], values[2]);
    return constant(node->dtype == CR_F32 ? (double)(float)value : value);
}

static bool is_whole(const struct fact *f)
{
    return f->kind == AFFINE && f->c == floor(f->c) && f->di == floor(f->di) &&
           f->dk == floor(f->dk);
}

/* Returns the fact of an elementwise op in exact arithmetic, from the facts of its operands. */
static struct fact ideal(const struct search *s, cr_id id, const struct fact *in)
{
    switch (s->g->nodes[id].op) {
    case CR_OP_add:
        return plus(s, in[0], in[1], 1);
    case CR_OP_sub:
        return plus(s, in[0], in[1], -1);
    case CR_OP_fma:
        return plus(s, times(in[0], in[1]), in[2], 1);
    case CR_OP_neg:
        return times(in[0], constant(-1));
    case CR_OP_mul:
        return times(in[0], in[1]);
    case CR_OP_div:
        return over(in[0], in[1]);
    case CR_OP_abs:
        return absolute(s, in[0]);
    case CR_OP_maximum:
        return extreme(s, in[0], in[1], 1);
    case CR_OP_minimum:
        return extreme(s, in[0], in[1], -1);
    case CR_OP_lt:
        return less(s, in[0], in[1], false);
    case CR_OP_le:
        return less(s, in[0], in[1], true);
    case CR_OP_gt:
        return less(s, in[1], in[0], false);
    case CR_OP_ge:
        return less(s, in[1], in[0], true);
    case CR_OP_eq:
        return equal(s, in[0], in[1], 1);
    case CR_OP_ne:
        return equal(s, in[0], in[1], 0);
    case CR_OP_logical_and: /* of 0 and 1 */
        return times(in[0], in[1]);
    case CR_OP_logical_or:
        return is_value(&in[0], 1) || is_value(&in[1], 1) ? constant(1) : evaluated(s, id, in);
    case CR_OP_logical_not:
        return plus(s, constant(1), in[0], -1);
    case CR_OP_exp:
    case CR_OP_sigmoid:
        return hides(s, &in[0]) ? constant(0) : evaluated(s, id, in);
    case CR_OP_float:
    case CR_OP_int:
    case CR_OP_floor:
    case CR_OP_round:
        return is_whole(&in[0]) ? in[0] : evaluated(s, id, in);
    default:
        return evaluated(s, id, in);
    }
}

/* Returns the fact of an elementwise op in the arithmetic of its type, from the facts of its
 * operands. */
static struct fact of_elementwise(const struct search *s, cr_id id, const struct fact *in)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct fact of_constants = evaluated(s, id, in);
    return is_constant(&of_constants) ? of_constants : exact(s, node->dtype, ideal(s, id, in));
}

/* ---- nodes ---- */

static struct fact find(struct search *s, cr_id id, struct side query, struct side key);

static struct side operand_side(const struct search *s, cr_id id, int i, struct side side)
{
    if (side.axis != CR_NONE)
        side.axis = cr_operand_axis(s->g, id, i, side.axis);
    return side;
}

/* Returns the fact of operand i of a node, with the query's and key's axes mapped to axes of the
 * operand. */
static struct fact find_operand(struct search *s, cr_id id, int i, struct side query,
                                struct side key)
{
    return find(s, cr_in(s->g, id, i), operand_side(s, id, i, query), operand_side(s, id, i, key));
}

/* Returns the token position to which element number `element` of a literal belongs along the
 * axis of `side`. */
static int64_t token_of(const struct cr_node *node, int64_t element, struct side side)
{
    int64_t behind = cr_elements(node->rank - side.axis - 1, node->shape + side.axis + 1);
    return element / behind % node->shape[side.axis] - side.ahead;
}

/* Returns the fact of those elements of a literal whose key is later than the query: their value
 * if all are equal, HIDDEN if all hide scores. */
static struct fact find_literal(const struct search *s, const struct cr_node *node,
                                struct side query, struct side key)
{
    const struct cr_literal *literal = cr_literal_of(s->g, node);
    bool same = true;
    double first = NAN, most = -INFINITY;
    if (query.axis == CR_NONE || key.axis == CR_NONE)
        return unknown;
    for (int64_t e = 0; e < literal->n; e++) {
        int64_t i = token_of(node, e, query), k = token_of(node, e, key);
        if (i < 0 || (s->own ? k != i : k <= i) || (double)k >= s->most)
            continue;
        float f;
        memcpy(&f, &literal->words[e], sizeof f);
        double value = node->dtype == CR_F32 ? f : (double)(int32_t)literal->words[e];
        first = isnan(first) ? value : first;
        same &= value == first;
        most = value > most || isnan(value) ? value : most;
    }
    return same ? constant(first) : hidden(most);
}

static struct fact find_leaf(const struct search *s, const struct cr_node *node, struct side query,
                             struct side key)
{
    if (node->op == CR_OP_const)
        return constant(node->value);
    if (node->op == CR_OP_iota && node->axis == query.axis)
        return affine((double)query.ahead, 1, 0);
    if (node->op == CR_OP_iota && node->axis == key.axis)
        return s->own ? affine((double)key.ahead, 1, 0) : affine(1 + (double)key.ahead, 1, 1);
    return node->op == CR_OP_literal ? find_literal(s, node, query, key) : unknown;
}

/* Returns the fact of a view: the fact of its operand.  UNKNOWN if a reshape merges the query's
 * or the key's axis. */
static struct fact find_view(struct search *s, cr_id id, struct side query, struct side key)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct side *sides[] = {&query, &key};
    for (int i = 0; i < 2; i++) {
        if (sides[i]->axis == CR_NONE)
            continue;
        if (node->op == CR_OP_slice)
            sides[i]->ahead += node->index[sides[i]->axis];
        else if (node->op == CR_OP_reshape && operand_side(s, id, 0, *sides[i]).axis == CR_NONE)
            return unknown;
    }
    if (node->op == CR_OP_slice)
        return find(s, cr_in(s->g, id, 0), query, key);
    return find_operand(s, id, 0, query, key);
}

/* Returns the fact of a reduction: a reduction of zeros is 0; a maximum of hidden values is
 * hidden. */
static struct fact find_reduced(struct search *s, cr_id id, struct side query, struct side key)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct fact in = find_operand(s, id, 0, query, key);
    if (node->op == CR_OP_max && hides(s, &in))
        return in;
    return is_value(&in, 0) ? in : unknown;
}

/* Returns the fact of a matmul: 0 if an operand that has the query's and the key's axis is 0. */
static struct fact find_contract(struct search *s, cr_id id, struct side query, struct side key)
{
    for (int i = 0; i < 2; i++) {
        if (operand_side(s, id, i, query).axis == CR_NONE ||
            operand_side(s, id, i, key).axis == CR_NONE)
            continue;
        struct fact in = find_operand(s, id, i, query, key);
        if (is_value(&in, 0))
            return in;
    }
    return unknown;
}

/* Returns the fact of a `where`.  If positions alone decide the condition, only the chosen
 * operand counts. */
static struct fact find_where(struct search *s, cr_id id, struct side query, struct side key)
{
    struct fact condition = find_operand(s, id, 0, query, key);
    if (is_constant(&condition))
        return find_operand(s, id, condition.c != 0 ? 1 : 2, query, key);
    struct fact a = find_operand(s, id, 1, query, key), b = find_operand(s, id, 2, query, key);
    return is_same(&a, &b) ? a : unknown;
}

/* Returns the fact that is common to all operands of a concat.  Along an axis of tokens, only
 * operands whose elements belong to tokens count. */
static struct fact find_concat(struct search *s, cr_id id, struct side query, struct side key)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct fact all = unknown;
    struct side *sides[] = {&query, &key};
    bool is_first = true;
    for (int i = 0; i < node->n_in; i++) {
        cr_id in = cr_in(s->g, id, i);
        int64_t n = s->g->nodes[in].shape[node->axis];
        bool counts = true;
        for (int k = 0; k < 2; k++)
            if (sides[k]->axis == node->axis)
                counts &= sides[k]->ahead < n && (double)sides[k]->ahead + s->most > 0;
        struct fact of_one = counts ? find(s, in, query, key) : all;
        if (counts)
            all = is_first || is_same(&all, &of_one) ? of_one : unknown;
        is_first &= !counts;
        for (int k = 0; k < 2; k++)
            if (sides[k]->axis == node->axis)
                sides[k]->ahead -= n;
    }
    return all;
}

/* Returns the fact of a node.  The axis of `query` or of `key` is CR_NONE if the node has no such
 * axis. */
static struct fact find(struct search *s, cr_id id, struct side query, struct side key)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct fact in[3];
    if (s->steps-- <= 0)
        return unknown;
    switch (cr_ops[node->op].kind) {
    case CR_KIND_LEAF:
        return find_leaf(s, node, query, key);
    case CR_KIND_MOVE:
        return find_view(s, id, query, key);
    case CR_KIND_REDUCE:
        return find_reduced(s, id, query, key);
    case CR_KIND_CONTRACT:
        return find_contract(s, id, query, key);
    case CR_KIND_CONCAT:
        return find_concat(s, id, query, key);
    case CR_KIND_ELEMENTWISE:
        if (node->op == CR_OP_where)
            return find_where(s, id, query, key);
        for (int i = 0; i < node->n_in; i++)
            in[i] = find_operand(s, id, i, query, key);
        return of_elementwise(s, id, in);
    default:
        return unknown;
    }
}

static bool may_hide(struct search *s, cr_id id, struct side query, struct side key);

static bool may_operand_hide(struct search *s, cr_id id, int i, struct side query, struct side key)
{
    return may_hide(s, cr_in(s->g, id, i), operand_side(s, id, i, query),
                    operand_side(s, id, i, key));
}

/* True if a node multiplies by a constant of magnitude CR_HIDES or more: as the other factor may
 * be 0 or 1 by data, the product may hide scores or not. */
static bool is_scaled_to_hide(struct search *s, cr_id id, struct side query, struct side key)
{
    if (s->g->nodes[id].op != CR_OP_mul)
        return false;
    struct fact a = find_operand(s, id, 0, query, key), b = find_operand(s, id, 1, query, key);
    return (is_constant(&a) && fabs(a.c) >= CR_HIDES) || (is_constant(&b) && fabs(b.c) >= CR_HIDES);
}

/* True if a node's values may include, depending on data, a number that hides scores.  Results of
 * products, gathers and reductions count as scores, which are small. */
static bool may_hide(struct search *s, cr_id id, struct side query, struct side key)
{
    const struct cr_node *node = &s->g->nodes[id];
    enum cr_kind kind = cr_ops[node->op].kind;
    struct fact all = find(s, id, query, key);
    if (all.kind != UNKNOWN)
        return hides(s, &all);
    if (s->steps <= 0 || (kind != CR_KIND_MOVE && kind != CR_KIND_ELEMENTWISE))
        return false;
    if (is_scaled_to_hide(s, id, query, key))
        return true;
    int first = 0, last = node->n_in - 1;
    if (node->op == CR_OP_where) {
        struct fact condition = find_operand(s, id, 0, query, key);
        first = is_constant(&condition) && condition.c == 0 ? 2 : 1;
        last = is_constant(&condition) && condition.c != 0 ? 1 : 2;
    }
    for (int i = first; i <= last; i++)
        if (may_operand_hide(s, id, i, query, key))
            return true;
    return false;
}

enum cr_later cr_find_later(const struct cr_graph *g, cr_id id, int query, int key)
{
    struct search s = {g, (double)g->nodes[id].shape[key], MOST_STEPS, false};
    struct search own = {g, s.most, MOST_STEPS, true};
    struct side of_query = {query, 0}, of_key = {key, 0};
    struct fact f = find(&s, id, of_query, of_key);
    if (is_value(&f, 0))
        return CR_LATER_ZERO;
    if (!hides(&s, &f))
        return CR_LATER_UNKNOWN;
    bool tied = highest(&s, &f) > -INFINITY && may_hide(&own, id, of_query, of_key);
    return tied ? CR_LATER_TIED : CR_LATER_HIDDEN;
}
