/*
 * Random values of any type, by ops of the whole table.
 *
 * An expression is made from the result back to its leaves: a function a kind of op, which asks
 * for operands of the types and shapes that give the result asked for.
 */
#include <math.h>
#include <string.h>

#include "maker.h"

/* The properties of a wanted value. */
struct wanted_value {
    enum cr_dtype dtype;
    int rank;
    int64_t shape[CR_MAX_RANK];
    int depth;
    int *budget; /* the number of nodes, without leaves, that may still be made for this value; each value has a
                  * budget of its own, so that layers are alike */
};

static cr_id make_wanted(struct cr_maker *m, const struct wanted_value *w);

static cr_id grant_other(struct cr_maker *m, const struct wanted_value *w, enum cr_dtype dtype)
{
    struct wanted_value other = *w;
    other.dtype = dtype;
    other.depth--;
    return make_wanted(m, &other);
}

static int64_t elements(const struct wanted_value *w)
{
    return cr_elements(w->rank, w->shape);
}

/* ---- leaves ---- */

static cr_id new_leaf(struct cr_maker *m, const struct wanted_value *w)
{
    static const double sizes[] = {1, 1, 0.5, 4};
    enum cr_op op = w->dtype == CR_F32 && cr_chance(m, 40) ? CR_OP_param : CR_OP_input;
    if (w->dtype == CR_F32)
        return cr_make_leaf(m, op, w->rank, w->shape, sizes[cr_below(m, 4)]);
    if (w->dtype == CR_BOOL) { /* a script cannot declare bool inputs */
        cr_id number = cr_make_integers(m, w->rank, w->shape, 0, 1);
        return cr_make2(m, CR_OP_ne, number, cr_make_const(m, number, 0));
    }
    if (m->wild && cr_chance(m, 25))
        return cr_make_leaf_of(m, op, CR_I32, w->rank, w->shape, "edge");
    int low = -(int)cr_below(m, 4), high = (int)cr_below(m, 40);
    return cr_make_integers(m, w->rank, w->shape, low, high);
}

static cr_id new_constant(struct cr_maker *m, const struct wanted_value *w)
{
    static const double tame[] = {0, 1, -1, 0.5, 2, -3, 0.25}, wild[] = {-0.0, 1e38, 1e-40};
    struct cr_attr attr = {.dtype = w->dtype, .rank = w->rank};
    memcpy(attr.shape, w->shape, sizeof attr.shape);
    attr.value = tame[cr_below(m, 7)];
    if (w->dtype == CR_F32 && m->wild && cr_chance(m, 30)) {
        int64_t way = cr_below(m, 6);
        attr.value = way < 3 ? wild[way] : way == 3 ? INFINITY : way == 4 ? -INFINITY : NAN;
    }
    if (w->dtype == CR_I32)
        attr.value = (double)cr_below(m, 9) - 3;
    if (w->dtype == CR_BOOL)
        attr.value = (double)cr_below(m, 2);
    return cr_make(m, CR_OP_const, 0, NULL, &attr);
}

/* Returns a random word: one of a few, so that equal values occur, or any. */
static uint32_t random_word(struct cr_maker *m, enum cr_dtype dtype)
{
    float value = (float)(cr_below(m, 17) - 8) / 4;
    uint32_t word = (uint32_t)cr_below(m, 9) - 3;
    if (dtype == CR_I32)
        return m->wild && cr_chance(m, 20) ? (uint32_t)cr_next(m) : word;
    if (dtype == CR_BOOL)
        value = (float)cr_below(m, 2);
    else if (m->wild && cr_chance(m, 10))
        value = cr_chance(m, 50) ? NAN : -INFINITY;
    memcpy(&word, &value, sizeof word);
    return word;
}

static cr_id new_literal(struct cr_maker *m, const struct wanted_value *w)
{
    struct cr_attr attr = {.dtype = w->dtype, .rank = w->rank};
    uint32_t words[512];
    int64_t n = elements(w);
    if (n > (int64_t)(sizeof words / sizeof *words))
        return new_constant(m, w);
    memcpy(attr.shape, w->shape, sizeof attr.shape);
    for (int64_t i = 0; i < n; i++)
        words[i] = random_word(m, w->dtype);
    attr.value = cr_add_literal(m->g, &(struct cr_literal){w->dtype, n, words});
    return cr_make(m, CR_OP_literal, 0, NULL, &attr);
}

static cr_id make_leaf(struct cr_maker *m, const struct wanted_value *w)
{
    if (w->dtype == CR_I32 && w->rank > 0 && cr_chance(m, 40)) {
        struct cr_attr attr = {.rank = w->rank, .axis = (int)cr_below(m, w->rank)};
        memcpy(attr.shape, w->shape, sizeof attr.shape);
        return cr_make(m, CR_OP_iota, 0, NULL, &attr);
    }
    if (cr_chance(m, 10))
        return new_literal(m, w);
    return cr_chance(m, 25) ? new_constant(m, w) : new_leaf(m, w);
}

/* ---- elementwise ---- */

/* Applies an elementwise op whose result has the wanted type. */
static cr_id make_elementwise(struct cr_maker *m, const struct wanted_value *w)
{
    static const enum cr_rule numbers[] = {CR_RULE_ARITH, CR_RULE_FLOAT, CR_RULE_SELECT,
                                           CR_RULE_CONVERT};
    enum cr_rule rule = numbers[cr_below(m, 4)];
    enum cr_dtype type = w->dtype;
    if (w->dtype == CR_I32)
        rule = cr_chance(m, 70)   ? CR_RULE_ARITH
               : cr_chance(m, 60) ? CR_RULE_SELECT
                                  : CR_RULE_TRUNCATE;
    if (w->dtype == CR_BOOL)
        rule = cr_chance(m, 60)   ? CR_RULE_COMPARE
               : cr_chance(m, 70) ? CR_RULE_LOGIC
                                  : CR_RULE_SELECT;
    if (rule == CR_RULE_COMPARE)
        type = cr_chance(m, 50) ? CR_F32 : CR_I32;
    if (rule == CR_RULE_CONVERT)
        type = cr_chance(m, 50) ? CR_BOOL : CR_I32;
    if (rule == CR_RULE_TRUNCATE)
        type = cr_chance(m, 20) ? CR_BOOL : CR_F32;
    enum cr_op op = cr_random_op(m, CR_KIND_ELEMENTWISE, rule);
    cr_id in[3];
    for (int i = 0; i < cr_ops[op].arity; i++) {
        bool again = i > 0 && cr_chance(m, 10) && rule != CR_RULE_SELECT;
        enum cr_dtype wanted = rule == CR_RULE_SELECT && i == 0 ? CR_BOOL : type;
        in[i] = again ? in[0] : grant_other(m, w, wanted);
    }
    return cr_make(m, op, cr_ops[op].arity, in, NULL);
}

/* ---- movement ---- */

static cr_id grant_permuted(struct cr_maker *m, const struct wanted_value *w)
{
    struct wanted_value below = *w;
    int64_t axes[CR_MAX_RANK];
    for (int i = 0; i < w->rank; i++)
        axes[i] = i;
    for (int i = w->rank - 1; i > 0; i--) {
        int j = (int)cr_below(m, i + 1);
        int64_t axis = axes[i];
        axes[i] = axes[j];
        axes[j] = axis;
    }
    for (int i = 0; i < w->rank; i++)
        below.shape[axes[i]] = w->shape[i];
    below.depth--;
    return cr_make_permute(m, make_wanted(m, &below), axes);
}

/* Reshapes a value with one axis, with two, or without axes of size 1. */
static cr_id make_reshaped(struct cr_maker *m, const struct wanted_value *w)
{
    struct wanted_value below = *w;
    below.depth--;
    below.rank = 0;
    if (cr_chance(m, 40)) {
        below.rank = 1;
        below.shape[0] = elements(w);
        return cr_make_reshape(m, make_wanted(m, &below), w->rank, w->shape);
    }
    for (int i = 0; i < w->rank; i++) {
        if (w->shape[i] > 1 || cr_chance(m, 50))
            below.shape[below.rank++] = w->shape[i];
    }
    return cr_make_reshape(m, make_wanted(m, &below), w->rank, w->shape);
}

static cr_id grant_expanded(struct cr_maker *m, const struct wanted_value *w)
{
    struct wanted_value below = *w;
    struct cr_attr attr = {.rank = w->rank};
    memcpy(attr.shape, w->shape, sizeof attr.shape);
    int dropped = (int)cr_below(m, w->rank + 1);
    dropped = cr_chance(m, 50) ? 0 : dropped;
    below.rank -= dropped;
    for (int i = 0; i < below.rank; i++)
        below.shape[i] = cr_chance(m, 50) ? 1 : w->shape[i + dropped];
    below.depth--;
    cr_id in = make_wanted(m, &below);
    return cr_make(m, CR_OP_expand, 1, &in, &attr);
}

static cr_id grant_slice(struct cr_maker *m, const struct wanted_value *w)
{
    struct wanted_value below = *w;
    struct cr_attr attr = {0};
    memcpy(attr.shape, w->shape, sizeof attr.shape);
    for (int i = 0; i < w->rank && elements(&below) < 2000; i++) {
        if (cr_chance(m, 50))
            continue;
        attr.index[i] = cr_below(m, 3);
        below.shape[i] += attr.index[i] + cr_below(m, 3);
    }
    below.depth--;
    cr_id in = make_wanted(m, &below);
    return cr_make(m, CR_OP_slice, 1, &in, &attr);
}

static cr_id grant_detached(struct cr_maker *m, const struct wanted_value *w)
{
    return cr_make1(m, CR_OP_detach, grant_other(m, w, w->dtype));
}

static cr_id make_move(struct cr_maker *m, const struct wanted_value *w)
{
    static cr_id (*const ways[])(struct cr_maker *, const struct wanted_value *) = {
        grant_permuted, make_reshaped, grant_expanded, grant_slice, grant_detached};
    return ways[cr_below(m, 5)](m, w);
}

/* ---- the other kinds ---- */

static cr_id make_join(struct cr_maker *m, const struct wanted_value *w)
{
    cr_id parts[3];
    int n = 0, axis = w->rank ? (int)cr_below(m, w->rank) : 0;
    if (w->rank == 0)
        return make_leaf(m, w);
    for (int64_t left = w->shape[axis]; left > 0; n++) {
        struct wanted_value part = *w;
        part.depth--;
        part.shape[axis] = n == 2 ? left : 1 + cr_below(m, left);
        left -= part.shape[axis];
        parts[n] = make_wanted(m, &part);
    }
    return cr_make_concat(m, n, parts, axis);
}

/* Reduces an axis of another size; a wanted axis of size above 1 is then made by an expand. */
static cr_id make_reduce(struct cr_maker *m, const struct wanted_value *w)
{
    struct wanted_value below = *w;
    int axis = w->rank ? (int)cr_below(m, w->rank) : 0;
    if (w->rank == 0 || w->dtype == CR_BOOL)
        return make_elementwise(m, w);
    int64_t room = 3000 / (elements(w) / w->shape[axis]) + 1;
    below.shape[axis] = cr_random_size(m, room < 130 ? room : 130);
    below.depth--;
    cr_id fold = cr_make_fold(m, cr_random_op(m, CR_KIND_REDUCE, 0), make_wanted(m, &below), axis);
    struct cr_attr attr = {.rank = w->rank};
    memcpy(attr.shape, w->shape, sizeof attr.shape);
    return w->shape[axis] == 1 ? fold : cr_make(m, CR_OP_expand, 1, &fold, &attr);
}

static cr_id make_product(struct cr_maker *m, const struct wanted_value *w)
{
    struct wanted_value a = *w, b = *w;
    if (w->rank < 2 || w->dtype != CR_F32)
        return make_elementwise(m, w);
    int64_t rest = elements(w) / w->shape[w->rank - 1] / w->shape[w->rank - 2];
    int64_t K = cr_random_size(m, 1 + 600 / rest);
    a.shape[w->rank - 1] = b.shape[w->rank - 2] = K < 70 ? K : 70;
    a.depth = b.depth = w->depth - 1;
    cr_id left = make_wanted(m, &a);
    return cr_make2(m, CR_OP_matmul, left, make_wanted(m, &b));
}

/* Gathers rows of a table of any type; some indices are out of range. */
static cr_id make_gather(struct cr_maker *m, const struct wanted_value *w)
{
    struct wanted_value table = *w;
    int axes = w->rank ? 1 + (int)cr_below(m, w->rank) : 0;
    int64_t rows = 1 + cr_below(m, 9);
    table.rank = w->rank - axes + 1;
    memcpy(table.shape + 1, w->shape + axes, sizeof(int64_t) * (size_t)(w->rank - axes));
    table.shape[0] = rows;
    table.depth--;
    cr_id index = cr_make_integers(m, axes, w->shape, m->wild ? -1 : 0, (int)rows - !m->wild);
    cr_id in = make_wanted(m, &table);
    return cr_make2(m, CR_OP_gather, in, index);
}

static cr_id make_scatter(struct cr_maker *m, const struct wanted_value *w)
{
    struct wanted_value rows = *w;
    if (w->rank == 0 || w->dtype != CR_F32)
        return make_elementwise(m, w);
    rows.shape[0] = 1 + cr_below(m, 12);
    rows.depth--;
    cr_id index = cr_make_integers(m, 1, rows.shape, -1, (int)w->shape[0]);
    cr_id in[2] = {make_wanted(m, &rows), index};
    return cr_make(m, CR_OP_scatter_add, 2, in, &(struct cr_attr){.shape = {w->shape[0]}});
}

static cr_id make_scan(struct cr_maker *m, const struct wanted_value *w)
{
    if (w->rank == 0 || w->dtype == CR_BOOL)
        return make_elementwise(m, w);
    cr_id in = grant_other(m, w, w->dtype);
    struct cr_attr attr = {.axis = (int)cr_below(m, w->rank), .index = {cr_below(m, 2)}};
    return cr_make(m, CR_OP_cumsum, 1, &in, &attr);
}

static cr_id make_random(struct cr_maker *m, const struct wanted_value *w)
{
    if (w->dtype != CR_F32)
        return make_elementwise(m, w);
    struct cr_attr attr = {.rank = w->rank, .value = (double)cr_below(m, 4)};
    memcpy(attr.shape, w->shape, sizeof attr.shape);
    cr_id seed = cr_make_integers(m, 0, (int64_t[]){1}, -3, 99);
    return cr_make(m, CR_OP_random, 1, &seed, &attr);
}

/* The functions that make a value, by kind of op; frequent ones are listed several times. */
static cr_id (*const by_kind[])(struct cr_maker *, const struct wanted_value *) = {
    make_elementwise, make_elementwise, make_elementwise, make_elementwise, make_move,
    make_move,        make_move,        make_join,        make_reduce,      make_reduce,
    make_product,     make_gather,      make_scatter,     make_random,      make_leaf,
    make_scan,
};

static cr_id make_wanted(struct cr_maker *m, const struct wanted_value *w)
{
    if (w->depth <= 0 || --*w->budget < 0)
        return make_leaf(m, w);
    return by_kind[cr_below(m, sizeof by_kind / sizeof *by_kind)](m, w);
}

cr_id cr_make_expression(struct cr_maker *m, enum cr_dtype dtype, int rank, const int64_t *shape,
                         int depth)
{
    int budget = 25;
    struct wanted_value w = {.dtype = dtype, .rank = rank, .depth = depth, .budget = &budget};
    memcpy(w.shape, shape, (size_t)rank * sizeof *shape);
    return make_wanted(m, &w);
}

/* Combines x with a value of any type that has the shape of x. */
cr_id cr_recipe_typed(struct cr_maker *m, cr_id x)
{
    const struct cr_node node = *cr_node_of(m, x);
    enum cr_dtype dtype = (enum cr_dtype)cr_below(m, 3);
    cr_id other = cr_make_expression(m, dtype, node.rank, node.shape, 1 + (int)cr_below(m, 3));
    if (dtype == CR_BOOL)
        return cr_make_select(m, other, x, cr_make_partner(m, x));
    if (dtype == CR_I32)
        other = cr_make1(m, CR_OP_float, other);
    return cr_make2(m, cr_chance(m, 50) ? CR_OP_add : CR_OP_mul, x, other);
}
