/* Random graphs: parts of models (projections, norms, attention) in many spellings. */
#include <math.h>
#include <string.h>

#include "maker.h"

/* ---- projections ---- */

/* Returns a weight matrix [.., K, N], of rank 2 or more for a batch: as it is, transposed, a slice
 * of a larger one, concatenated with another, or one for each batch. */
static cr_id weight(struct cr_maker *m, cr_id x, int64_t n)
{
    const struct cr_node *node = cr_node_of(m, x);
    int64_t K = node->shape[node->rank - 1], shape[CR_MAX_RANK];
    double size = 1 / sqrt((double)K);
    int rank = node->rank;
    memcpy(shape, node->shape, sizeof shape);
    switch (cr_below(m, 7)) {
    case 0:
        return cr_make_swap(m, cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){n, K}, size));
    case 1: {
        cr_id all = cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){K, n + 3}, size);
        return cr_make_slice(m, all, 1, cr_below(m, 4), n);
    }
    case 2: {
        cr_id left = cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){K, n}, size);
        cr_id right = cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){K, 5}, size);
        return cr_make_slice(m, cr_make_concat(m, 2, (cr_id[]){left, right}, 1), 1, 0, n);
    }
    case 3:
        if (rank < 3)
            break;
        shape[rank - 2] = K;
        shape[rank - 1] = n;
        shape[0] = cr_chance(m, 50) ? 1 : shape[0];
        if (cr_elements(rank, shape) <= 20000)
            return cr_make_leaf(m, CR_OP_param, rank, shape, size);
        break;
    case 4:
        return cr_make_leaf(m, CR_OP_input, 2, (int64_t[]){K, n}, size);
    }
    return cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){K, n}, size);
}

/* Returns b repeated for the batch of a. */
static cr_id for_batch(struct cr_maker *m, cr_id b, cr_id a)
{
    const struct cr_node *x = cr_node_of(m, a), *y = cr_node_of(m, b);
    struct cr_attr attr = cr_attr_of(x);
    attr.shape[x->rank - 2] = y->shape[y->rank - 2];
    attr.shape[x->rank - 1] = y->shape[y->rank - 1];
    if (x->rank == y->rank &&
        memcmp(attr.shape, y->shape, sizeof *attr.shape * (size_t)x->rank) == 0)
        return b;
    return cr_make(m, CR_OP_expand, 1, &b, &attr);
}

static cr_id product(struct cr_maker *m, cr_id a, cr_id b)
{
    return cr_make2(m, CR_OP_matmul, a, for_batch(m, b, a));
}

cr_id cr_make_linear(struct cr_maker *m, cr_id x, int64_t n)
{
    cr_id y = product(m, x, weight(m, x, n));
    if (cr_chance(m, 60))
        y = cr_make2(m, CR_OP_add, y, cr_make_like(m, cr_make_leaf(m, CR_OP_param, 1, &n, 0.3), y));
    return y;
}

cr_id cr_recipe_activation(struct cr_maker *m, cr_id x)
{
    cr_id y;
    switch (cr_below(m, 5)) {
    case 0: /* GELU */
        y = cr_make_with(m, CR_OP_add, cr_make1(m, CR_OP_erf, cr_make_with(m, CR_OP_mul, x, 0.7)),
                         1);
        return cr_make2(m, CR_OP_mul, cr_make_with(m, CR_OP_mul, x, 0.5), y);
    case 1: /* GELU by tanh */
        y = cr_make2(m, CR_OP_mul, cr_make2(m, CR_OP_mul, x, x), x);
        y = cr_make2(m, CR_OP_add, x, cr_make_with(m, CR_OP_mul, y, 0.044715));
        y = cr_make1(m, CR_OP_tanh, cr_make_with(m, CR_OP_mul, y, 0.79788456));
        return cr_make2(m, CR_OP_mul, x, cr_make_with(m, CR_OP_add, y, 1));
    case 2: /* SiLU */
        y = cr_make_with(m, CR_OP_add, cr_make1(m, CR_OP_exp, cr_make1(m, CR_OP_neg, x)), 1);
        return cr_make2(m, CR_OP_div, x, y);
    case 3: /* ReLU, by a comparison */
        y = cr_make_with(m, CR_OP_gt, x, 0);
        return cr_make_select(m, y, x, cr_make_const(m, x, 0));
    default:
        return cr_make_with(m, CR_OP_maximum, x, 0);
    }
}

/* Returns x + W2 act(W1 x), in some cases with a gate, or without the residual. */
cr_id cr_recipe_feed_forward(struct cr_maker *m, cr_id x)
{
    int64_t inner = 1 + cr_below(m, 70);
    if (cr_node_of(m, x)->rank < 2)
        return CR_NONE;
    cr_id y = cr_recipe_activation(m, cr_make_linear(m, x, inner));
    if (cr_chance(m, 30))
        y = cr_make2(m, CR_OP_mul, y, cr_make_linear(m, x, inner));
    y = cr_make_linear(m, y, cr_size_of(m, x, -1));
    return cr_chance(m, 70) ? cr_make2(m, CR_OP_add, x, y) : y;
}

/* ---- norms ---- */

static cr_id mean(struct cr_maker *m, cr_id x, int axis)
{
    double n = (double)cr_size_of(m, x, axis);
    cr_id sum = cr_make_fold(m, CR_OP_sum, x, axis);
    return cr_chance(m, 50) ? cr_make_with(m, CR_OP_mul, sum, 1 / n)
                            : cr_make_with(m, CR_OP_div, sum, n);
}

/* Returns x / sqrt(v), where v has one element along the last axis. */
static cr_id by_root(struct cr_maker *m, cr_id x, cr_id v)
{
    switch (cr_below(m, 3)) {
    case 0:
        return cr_make2(m, CR_OP_mul, x, cr_make_like(m, cr_make1(m, CR_OP_rsqrt, v), x));
    case 1:
        return cr_make2(m, CR_OP_div, x, cr_make_like(m, cr_make1(m, CR_OP_sqrt, v), x));
    default:
        return cr_make2(m, CR_OP_div, x, cr_make1(m, CR_OP_sqrt, cr_make_like(m, v, x)));
    }
}

cr_id cr_make_norm(struct cr_maker *m, cr_id x, int axis)
{
    int64_t n = cr_size_of(m, x, -1);
    cr_id y = x;
    if (cr_chance(m, 70))
        y = cr_make2(m, CR_OP_sub, x, cr_make_like(m, mean(m, x, axis), x));
    cr_id square = mean(m, cr_make2(m, CR_OP_mul, y, y), axis);
    if (cr_chance(m, 80))
        square = cr_make_with(m, CR_OP_add, square, 0.01);
    y = by_root(m, y, square);
    if (cr_chance(m, 60))
        y = cr_make2(m, CR_OP_mul, y, cr_make_like(m, cr_make_leaf(m, CR_OP_param, 1, &n, 1), y));
    if (cr_chance(m, 50))
        y = cr_make2(m, CR_OP_add, y, cr_make_like(m, cr_make_leaf(m, CR_OP_param, 1, &n, 1), y));
    return y;
}

/* Returns a norm of x along the last axis or another. */
cr_id cr_recipe_norm(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    return cr_make_norm(m, x, cr_chance(m, 75) ? rank - 1 : (int)cr_below(m, rank));
}

/* ---- softmax ---- */

/* The numerator of a softmax, exp(x), and its sum over an axis. */
struct softmax {
    cr_id exp, sum;
};

static struct softmax exponentials(struct cr_maker *m, cr_id x, int axis)
{
    struct softmax s;
    if (cr_chance(m, 75)) {
        cr_id max = cr_make_fold(m, CR_OP_max, x, axis);
        if (cr_chance(m, 75)) /* softmax does not depend on it, so no gradient is lost */
            max = cr_make1(m, CR_OP_detach, max);
        max = cr_make_like(m, max, x);
        x = cr_chance(m, 80) ? cr_make2(m, CR_OP_sub, x, max)
                             : cr_make2(m, CR_OP_add, x, cr_make1(m, CR_OP_neg, max));
    }
    s.exp = cr_make1(m, CR_OP_exp, x);
    s.sum = cr_make_fold(m, CR_OP_sum, s.exp, axis);
    return s;
}

static cr_id divided(struct cr_maker *m, cr_id x, cr_id sum)
{
    cr_id wide;
    switch (cr_below(m, 6)) {
    case 0: /* times the reciprocal of the sum, computed before or after it is broadcast */
        wide = cr_make_like(m, cr_make2(m, CR_OP_div, cr_make_const(m, sum, 1), sum), x);
        return cr_make2(m, CR_OP_mul, x, wide);
    case 1:
        wide = cr_make_like(m, sum, x);
        wide = cr_make2(m, CR_OP_div, cr_make_const(m, wide, 1), wide);
        return cr_make2(m, CR_OP_mul, wide, x);
    default:
        return cr_make2(m, CR_OP_div, x, cr_make_like(m, sum, x));
    }
}

cr_id cr_make_softmax(struct cr_maker *m, cr_id x, int axis)
{
    struct softmax s = exponentials(m, x, axis);
    return divided(m, s.exp, s.sum);
}

cr_id cr_recipe_softmax(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    return cr_make_softmax(m, x, cr_chance(m, 70) ? rank - 1 : (int)cr_below(m, rank));
}

/* ---- dropout ---- */

cr_id cr_recipe_dropout(struct cr_maker *m, cr_id x)
{
    struct cr_attr attr = cr_attr_of(cr_node_of(m, x));
    struct cr_attr five = {.dtype = CR_I32, .value = 5};
    attr.value = (double)cr_below(m, 4);
    cr_id seed = cr_chance(m, 50) ? cr_make_integers(m, 0, (int64_t[]){0}, 0, 99)
                                  : cr_make(m, CR_OP_const, 0, NULL, &five);
    cr_id random = cr_make(m, CR_OP_random, 1, &seed, &attr);
    if (cr_chance(m, 30))
        return cr_make2(m, CR_OP_mul, x, random);
    cr_id kept = cr_make_with(m, CR_OP_ge, random, 0.25);
    return cr_make_select(m, kept, cr_make_with(m, CR_OP_mul, x, 1.25), cr_make_const(m, x, 0));
}

/* ---- attention ---- */

/* Returns a mask, a bool of the scores' shape: the keys (last axis) that a query (the axis before)
 * sees. */
static cr_id visible(struct cr_maker *m, cr_id scores)
{
    cr_id key = cr_make_iota(m, scores, -1), query = cr_make_iota(m, scores, -2);
    int64_t keys = cr_size_of(m, scores, -1), few = cr_below(m, 6);
    cr_id first = cr_make_const(m, key, (double)(cr_chance(m, 50) ? few : keys - few / 2));
    int64_t window = 1 + cr_below(m, cr_chance(m, 50) ? 4 : keys + 2);
    cr_id causal =
        cr_chance(m, 50) ? cr_make2(m, CR_OP_le, key, query) : cr_make2(m, CR_OP_ge, query, key);
    switch (cr_below(m, 11)) {
    case 0: /* keys ahead by a few, too */
        return cr_make2(m, CR_OP_lt, key, cr_make2(m, CR_OP_add, query, first));
    case 1:
    case 2: { /* a window */
        cr_id near = cr_make_with(m, CR_OP_lt, cr_make2(m, CR_OP_sub, query, key), (double)window);
        return cr_make2(m, CR_OP_logical_and, causal, near);
    }
    case 3: /* causal, but all queries see the first keys */
        return cr_make2(m, CR_OP_logical_or, causal, cr_make2(m, CR_OP_lt, key, first));
    case 4: /* keys below a number that is an input, and the query's own */
        first = cr_make_integers(m, 1, (int64_t[]){1}, 0, 30);
        first = cr_make2(m, CR_OP_le, key, cr_make_like(m, first, key));
        return cr_make2(m, CR_OP_logical_or, first, cr_make2(m, CR_OP_eq, key, query));
    case 5: /* the query's own key and later ones */
        return cr_make2(m, CR_OP_ge, key, query);
    case 6: { /* keys within a distance of the query, on both sides */
        cr_id way = cr_make1(m, CR_OP_abs, cr_make2(m, CR_OP_sub, key, query));
        return cr_make_with(m, cr_chance(m, 70) ? CR_OP_lt : CR_OP_ge, way, (double)window);
    }
    case 7: { /* keys up to the maximum, or the minimum, of two positions */
        enum cr_op op = cr_chance(m, 70) ? CR_OP_maximum : CR_OP_minimum;
        return cr_make2(m, CR_OP_le, key, cr_make2(m, op, query, first));
    }
    case 8: { /* a sliding window, and the first keys */
        cr_id near = cr_make_with(m, CR_OP_lt, cr_make2(m, CR_OP_sub, query, key), (double)window);
        near = cr_make2(m, CR_OP_logical_or, cr_make2(m, CR_OP_lt, key, first), near);
        return cr_chance(m, 70) ? cr_make2(m, CR_OP_logical_and, causal, near) : near;
    }
    default:
        return causal;
    }
}

/* Returns the inverse mask: the keys that are hidden. */
static cr_id hidden(struct cr_maker *m, cr_id scores)
{
    if (cr_chance(m, 30))
        return cr_make1(m, CR_OP_logical_not, visible(m, scores));
    cr_id key = cr_make_iota(m, scores, -1), query = cr_make_iota(m, scores, -2);
    cr_id later =
        cr_chance(m, 50) ? cr_make2(m, CR_OP_gt, key, query) : cr_make2(m, CR_OP_lt, query, key);
    if (cr_chance(m, 50))
        return later;
    cr_id behind = cr_make2(m, CR_OP_sub, query, key);
    cr_id far = cr_make_with(m, CR_OP_ge, behind, 1 + (double)cr_below(m, 9));
    return cr_make2(m, CR_OP_logical_or, far, later);
}

/* Returns scores whose invisible elements are hidden, in one of several ways. */
static cr_id masked(struct cr_maker *m, cr_id scores)
{
    cr_id minus = cr_make_const(m, scores, cr_chance(m, 70) ? -INFINITY : -1e30);
    int64_t way = cr_below(m, 5);
    if (way == 0)
        return cr_make_select(m, hidden(m, scores), minus, scores);
    cr_id mask = visible(m, scores);
    if (way == 1) {
        cr_id bias = cr_make_select(m, mask, cr_make_const(m, scores, 0), minus);
        return cr_make2(m, CR_OP_add, scores, bias);
    }
    if (way == 2) { /* a bias besides */
        cr_id bias = cr_make_like(m, cr_make_leaf(m, CR_OP_param, 1, (int64_t[]){1}, 1), scores);
        return cr_make2(m, CR_OP_add, cr_make_select(m, mask, scores, minus), bias);
    }
    return cr_make_select(m, mask, scores, minus);
}

/* Applies a mask that is an input: numbers to add, such as -inf, or integers that select. */
static cr_id given_mask(struct cr_maker *m, cr_id scores)
{
    const struct cr_node *node = cr_node_of(m, scores);
    int64_t shape[CR_MAX_RANK];
    int rank = 1 + (int)cr_below(m, node->rank);
    for (int i = 0; i < rank; i++)
        shape[i] = i >= rank - 2 || cr_chance(m, 50) ? node->shape[node->rank - rank + i] : 1;
    if (cr_chance(m, 40)) {
        cr_id tells = cr_make_like(m, cr_make_integers(m, rank, shape, 0, 1), scores);
        cr_id sees = cr_make_with(m, CR_OP_ne, tells, 0);
        return cr_make_select(m, sees, scores, cr_make_const(m, scores, -1e9));
    }
    const char *kind = m->wild && cr_chance(m, 60) ? "mask" : "";
    cr_id bias = cr_make_leaf_of(m, CR_OP_input, CR_F32, rank, shape, kind);
    return cr_make2(m, CR_OP_add, scores, cr_make_like(m, bias, scores));
}

/* Adds a bias that depends on the distance of query and key: from a table for each head, or
 * proportional to it. */
static cr_id by_distance(struct cr_maker *m, cr_id scores)
{
    const struct cr_node *node = cr_node_of(m, scores);
    int64_t heads = node->rank > 2 ? node->shape[node->rank - 3] : 1;
    bool large = cr_elements(node->rank, node->shape) > 20000;
    cr_id way = cr_make2(m, CR_OP_sub, cr_make_iota(m, scores, -1), cr_make_iota(m, scores, -2));
    if (cr_chance(m, 40))
        way = cr_make1(m, CR_OP_abs, way);
    if (cr_chance(m, 40) || large)
        return cr_make_with(m, CR_OP_mul, cr_make1(m, CR_OP_float, way), -0.125);
    int64_t rows[2] = {cr_size_of(m, scores, -2), cr_size_of(m, scores, -1)};
    cr_id flat = cr_make_leaf(m, CR_OP_param, 2, rows, 1); /* no more than a shape */
    way = cr_make2(m, CR_OP_sub, cr_make_iota(m, flat, 0), cr_make_iota(m, flat, 1));
    way = cr_make1(m, CR_OP_abs, way);
    way = cr_make_with(m, CR_OP_minimum, way, 6);
    cr_id table = cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){7, heads}, 1);
    struct cr_attr attr = {0};
    cr_id bias = cr_make(m, CR_OP_gather, 2, (cr_id[]){table, way}, &attr);
    return cr_make_like(m, cr_make_permute(m, bias, (int64_t[]){2, 0, 1}), scores);
}

/* Returns, for each query and key of the scores, the i32 key - query or, sometimes, the key's position. */
static cr_id distance(struct cr_maker *m, cr_id scores)
{
    struct cr_attr attr = {
        .rank = 2, .shape = {cr_size_of(m, scores, -2), cr_size_of(m, scores, -1)}, .axis = 1};
    cr_id key = cr_make(m, CR_OP_iota, 0, NULL, &attr);
    attr.axis = 0;
    cr_id query = cr_make(m, CR_OP_iota, 0, NULL, &attr);
    return cr_chance(m, 70) ? cr_make2(m, CR_OP_sub, key, query) : key;
}

/* Adds a bias from a table, indexed by the distance of query and key, for each head or for all. */
static cr_id looked_up(struct cr_maker *m, cr_id scores)
{
    int rank = cr_node_of(m, scores)->rank;
    int64_t n = 1 + cr_below(m, 12), heads = rank > 2 && cr_chance(m, 60) ? cr_size_of(m, scores, -3) : 1;
    cr_id index = distance(m, scores);
    if (cr_chance(m, 80))
        index = cr_make_with(m, CR_OP_minimum, cr_make_with(m, CR_OP_maximum, index, 0),
                             (double)(n - 1));
    cr_id table = cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){n, heads}, 1);
    cr_id bias = cr_make2(m, CR_OP_gather, table, index);
    return cr_make_permute(m, bias, (int64_t[]){2, 0, 1});
}

/* Multiplies scores by, or adds to them, something trained: a temperature, slopes, a bias. */
static cr_id trained(struct cr_maker *m, cr_id x)
{
    cr_id w = cr_make_broadcast(m, x, false);
    switch (cr_below(m, 4)) {
    case 0:
        return cr_make2(m, CR_OP_mul, x, w);
    case 1: {
        cr_id far = cr_make_with(m, CR_OP_mul, cr_make1(m, CR_OP_float, distance(m, x)), 0.1);
        return cr_make2(m, CR_OP_add, x, cr_make2(m, CR_OP_mul, w, cr_make_like(m, far, x)));
    }
    case 2:
        if (cr_node_of(m, x)->rank < 3)
            return cr_make2(m, CR_OP_add, x, w);
        return cr_make2(m, CR_OP_add, x, cr_make_like(m, looked_up(m, x), x));
    default:
        return cr_make2(m, CR_OP_add, x, w);
    }
}

/* Applies the ops that stand between the first product and the softmax. */
static cr_id prepared(struct cr_maker *m, cr_id scores, double scale)
{
    cr_id x = scores;
    if (cr_chance(m, 70))
        x = cr_chance(m, 50) ? cr_make_with(m, CR_OP_mul, x, scale)
                             : cr_make_with(m, CR_OP_div, x, 1 / scale);
    if (cr_chance(m, 20)) /* a soft cap */
        x = cr_make_with(m, CR_OP_mul, cr_make1(m, CR_OP_tanh, x), 3);
    if (cr_chance(m, 25))
        x = cr_make2(m, CR_OP_add, x, cr_make_partner(m, x));
    if (cr_chance(m, 15) && cr_node_of(m, x)->rank > 2)
        x = cr_make2(m, CR_OP_add, x, by_distance(m, x));
    if (cr_chance(m, 35))
        x = trained(m, x);
    if (cr_chance(m, 12))
        return given_mask(m, x);
    return cr_chance(m, 75) ? masked(m, x) : x;
}

/* Returns a softmax with an additional score: in the denominator, or concatenated to the others. */
cr_id cr_make_sink(struct cr_maker *m, cr_id x)
{
    int last = cr_node_of(m, x)->rank - 1;
    int64_t keys = cr_size_of(m, x, -1);
    cr_id max = cr_make_fold(m, CR_OP_max, x, last), sink = cr_make_const(m, max, 0);
    if (cr_chance(m, 60))
        sink = cr_make_like(m, cr_make_leaf(m, CR_OP_param, 1, (int64_t[]){1}, 1), max);
    if (cr_chance(m, 30)) {
        cr_id all = cr_make_concat(m, 2, (cr_id[]){x, sink}, last);
        struct softmax s = exponentials(m, all, last);
        return cr_make_slice(m, divided(m, s.exp, s.sum), last, 0, keys);
    }
    cr_id top = cr_chance(m, 70) ? cr_make2(m, CR_OP_maximum, max, sink) : max;
    top = cr_chance(m, 50) ? cr_make1(m, CR_OP_detach, top) : top;
    cr_id e = cr_make1(m, CR_OP_exp, cr_make2(m, CR_OP_sub, x, cr_make_like(m, top, x)));
    cr_id more = cr_make1(m, CR_OP_exp, cr_make2(m, CR_OP_sub, sink, top));
    cr_id sum = cr_make2(m, CR_OP_add, cr_make_fold(m, CR_OP_sum, e, last), more);
    return divided(m, e, sum);
}

/* Returns attention weights of scores that are not normalized over rows. */
static cr_id weights_alone(struct cr_maker *m, cr_id x)
{
    cr_id zero = cr_make_const(m, x, 0);
    cr_id y = cr_chance(m, 50) ? cr_make1(m, CR_OP_sigmoid, masked(m, x))
                               : cr_make_with(m, CR_OP_maximum, x, 0);
    return cr_chance(m, 60) ? cr_make_select(m, visible(m, x), y, zero) : y;
}

/* Returns q k, also spelled as the transpose of k' q'. */
static cr_id first_product(struct cr_maker *m, cr_id q, cr_id k)
{
    if (cr_chance(m, 92))
        return cr_make2(m, CR_OP_matmul, q, k);
    return cr_make_swap(m, cr_make2(m, CR_OP_matmul, cr_make_swap(m, k), cr_make_swap(m, q)));
}

/* Applies further ops to the probabilities: 0 for rows that see nothing, a penalty added to the
 * result, a scale for each query. */
static cr_id with_more_ops(struct cr_maker *m, cr_id p)
{
    switch (cr_below(m, 3)) {
    case 0: {
        cr_id none = cr_make_with(m, CR_OP_lt, cr_make_broadcast(m, p, true), 0);
        return cr_make_select(m, none, cr_make_const(m, p, 0), p);
    }
    case 1: {
        cr_id sum = cr_make2(m, CR_OP_mul, p, p);
        sum = cr_make_fold(m, CR_OP_sum, sum, cr_node_of(m, p)->rank - 1);
        return cr_make2(m, CR_OP_mul, p, cr_make_like(m, sum, p));
    }
    default:
        m->spare = p; /* later steps can use the probabilities, and they may become an output */
        return p;
    }
}

/* Computes two softmaxes as one, concatenated along the first axis, and slices them out, in some
 * cases after a reshape. */
static void halves_of_softmax(struct cr_maker *m, cr_id q, cr_id k, double scale, cr_id *p)
{
    cr_id rows = cr_make_concat(m, 2, (cr_id[]){q, cr_make1(m, CR_OP_tanh, q)}, 0);
    cr_id scores = first_product(m, rows, cr_make_concat(m, 2, (cr_id[]){k, k}, 0));
    cr_id all = cr_make_softmax(m, prepared(m, scores, scale), cr_node_of(m, scores)->rank - 1);
    struct cr_attr half = cr_attr_of(cr_node_of(m, all)), pair = {.rank = half.rank + 1, .shape = {2}};
    half.shape[0] /= 2;
    memcpy(pair.shape + 1, half.shape, (size_t)half.rank * sizeof *half.shape);
    bool reshaped = half.rank < 6 && cr_chance(m, 50);
    if (reshaped)
        all = cr_make_reshape(m, all, pair.rank, pair.shape);
    for (int i = 0; i < 2; i++) {
        p[i] = cr_make_slice(m, all, 0, reshaped ? i : i * half.shape[0], reshaped ? 1 : half.shape[0]);
        if (reshaped)
            p[i] = cr_make_reshape(m, p[i], half.rank, half.shape);
    }
}

/* Returns the difference or sum of two softmaxes of scores, the second of which may be scaled by
 * one number, or by one for each row. */
static cr_id two_softmaxes(struct cr_maker *m, cr_id q, cr_id k, double scale)
{
    cr_id scores[2] = {first_product(m, q, k), first_product(m, cr_make1(m, CR_OP_tanh, q), k)}, p[2];
    if (cr_chance(m, 15))
        scores[1] = scores[0];
    int last = cr_node_of(m, scores[0])->rank - 1;
    for (int i = 0; i < 2; i++)
        p[i] = cr_make_softmax(m, prepared(m, scores[i], scale), last);
    if (last > 1 && cr_chance(m, 40))
        halves_of_softmax(m, q, k, scale, p);
    if (cr_chance(m, 40)) {
        p[1] = cr_make_with(m, CR_OP_mul, p[1], 0.3);
    } else if (cr_chance(m, 60)) {
        cr_id row = cr_make_fold(m, CR_OP_sum, p[1], last);
        p[1] = cr_make2(m, CR_OP_mul, cr_make_like(m, cr_make_broadcast(m, row, false), p[1]), p[1]);
    }
    bool first = cr_chance(m, 80);
    return cr_make2(m, cr_chance(m, 75) ? CR_OP_sub : CR_OP_add, p[!first], p[first]);
}

/* Returns softmax(q k) v, for k [.., d, keys]. */
static cr_id attend(struct cr_maker *m, cr_id q, cr_id k, cr_id v)
{
    double scale = 1 / sqrt((double)cr_size_of(m, q, -1));
    cr_id scores = first_product(m, q, k);
    int rank = cr_node_of(m, scores)->rank;
    int axis = cr_chance(m, 95) ? rank - 1 : rank - 2;
    if (cr_chance(m, 8))
        return cr_make2(m, CR_OP_matmul, two_softmaxes(m, q, k, scale), v);
    if (cr_chance(m, 8))
        return cr_make2(m, CR_OP_matmul, weights_alone(m, cr_make_with(m, CR_OP_mul, scores, scale)),
                        v);
    if (cr_chance(m, 10))
        return cr_make2(m, CR_OP_matmul, cr_make_sink(m, prepared(m, scores, scale)), v);
    struct softmax s = exponentials(m, prepared(m, scores, scale), axis);
    if (axis == rank - 1 && cr_chance(m, 20)) /* divided after the product */
        return divided(m, cr_make2(m, CR_OP_matmul, s.exp, v), s.sum);
    cr_id p = divided(m, s.exp, s.sum);
    if (cr_chance(m, 10))
        p = cr_make2(m, CR_OP_mul, p, cr_make_partner(m, p));
    else if (cr_chance(m, 20))
        p = cr_recipe_dropout(m, p);
    else if (cr_chance(m, 8) && !m->in_layer)
        p = with_more_ops(m, p);
    return cr_make2(m, CR_OP_matmul, p, v);
}

/* Splits [B, T, h d] into heads [B, h, T, d]. */
static cr_id split_heads(struct cr_maker *m, cr_id x, int64_t heads)
{
    int64_t B = cr_size_of(m, x, 0), T = cr_size_of(m, x, 1), d = cr_size_of(m, x, 2) / heads;
    cr_id y = cr_make_reshape(m, x, 4, (int64_t[]){B, T, heads, d});
    return cr_make_permute(m, y, (int64_t[]){0, 2, 1, 3});
}

static cr_id merge_heads(struct cr_maker *m, cr_id y)
{
    int64_t B = cr_size_of(m, y, 0), T = cr_size_of(m, y, 2);
    int64_t C = cr_size_of(m, y, 1) * cr_size_of(m, y, 3);
    y = cr_make_permute(m, y, (int64_t[]){0, 2, 1, 3});
    return cr_make_reshape(m, y, 3, (int64_t[]){B, T, C});
}

/* Returns the first head, repeated for all heads. */
static cr_id one_head(struct cr_maker *m, cr_id x)
{
    return cr_make_like(m, cr_make_slice(m, x, 1, 0, 1), x);
}

/* Returns half of the heads, each repeated. */
static cr_id half_of_heads(struct cr_maker *m, cr_id x)
{
    const struct cr_node node = *cr_node_of(m, x);
    int64_t groups = node.shape[1] / 2;
    bool inside = cr_chance(m, 70); /* or all of them twice */
    struct cr_attr attr = {.rank = 5, .shape = {node.shape[0], inside ? groups : 1,
                                                inside ? 1 : groups, node.shape[2], node.shape[3]}};
    x = cr_make_reshape(m, cr_make_slice(m, x, 1, 0, groups), 5, attr.shape);
    attr.shape[inside ? 2 : 1] = 2;
    x = cr_make(m, CR_OP_expand, 1, &x, &attr);
    return cr_make_reshape(m, x, 4, node.shape);
}

/* Rotates pairs of columns (of halves, or adjacent ones), or permutes columns; some columns may
 * stay unchanged. */
static cr_id rotated(struct cr_maker *m, cr_id x)
{
    int last = cr_node_of(m, x)->rank - 1;
    int64_t all = cr_size_of(m, x, -1), half = all / 2;
    if (half < 1)
        return x;
    cr_id a = cr_make_slice(m, x, last, 0, half), b = cr_make_slice(m, x, last, half, half);
    cr_id cos = cr_make_broadcast(m, a, false), sin = cr_make_broadcast(m, a, false);
    cr_id parts[3] = {
        cr_make2(m, CR_OP_sub, cr_make2(m, CR_OP_mul, a, cos), cr_make2(m, CR_OP_mul, b, sin)),
        cr_make2(m, CR_OP_add, cr_make2(m, CR_OP_mul, b, cos), cr_make2(m, CR_OP_mul, a, sin))};
    if (cr_chance(m, 30) && 2 * half == all) { /* rotate_half */
        cr_id turned = cr_make_concat(m, 2, (cr_id[]){cr_make1(m, CR_OP_neg, b), a}, last);
        turned = cr_make2(m, CR_OP_mul, turned, cr_make_broadcast(m, x, false));
        return cr_make2(m, CR_OP_add, cr_make2(m, CR_OP_mul, x, cr_make_broadcast(m, x, false)),
                        turned);
    }
    if (cr_chance(m, 30) && last < 5) { /* side by side */
        struct cr_attr wide = cr_attr_of(cr_node_of(m, parts[0]));
        wide.shape[last + 1] = 1;
        for (int i = 0; i < 2; i++)
            parts[i] = cr_make_reshape(m, parts[i], last + 2, wide.shape);
        cr_id pairs = cr_make_concat(m, 2, parts, last + 1);
        wide.shape[last] = 2 * half;
        return cr_make_reshape(m, pairs, last + 1, wide.shape);
    }
    if (2 * half < all || cr_chance(m, 20))
        parts[2] = cr_make_slice(m, x, last, all - 1, 1);
    return cr_make_concat(m, parts[2] ? 3 : 2, parts, last);
}

/* Attention with several heads, over one projection to queries, keys and values. */
static cr_id fused_heads(struct cr_maker *m, cr_id x)
{
    int64_t heads = 1 + cr_below(m, 4), C = heads * (1 + cr_below(m, cr_chance(m, 20) ? 66 : 9));
    cr_id qkv = cr_make_linear(m, x, 3 * C);
    cr_id q = split_heads(m, cr_make_slice(m, qkv, 2, 0, C), heads);
    cr_id k = split_heads(m, cr_make_slice(m, qkv, 2, C, C), heads);
    cr_id v = split_heads(m, cr_make_slice(m, qkv, 2, 2 * C, C), heads);
    if (cr_chance(m, 20)) {
        q = rotated(m, q);
        k = rotated(m, k);
        if (cr_size_of(m, q, -1) != cr_size_of(m, k, -1))
            return CR_NONE;
    }
    if (heads > 1 && cr_chance(m, 20)) { /* one head of keys and values for all heads of queries */
        k = one_head(m, k);
        v = cr_chance(m, 80) ? one_head(m, v) : v;
    } else if (heads % 2 == 0 && cr_chance(m, 40)) {
        k = half_of_heads(m, k);
        v = half_of_heads(m, v);
    }
    if (cr_chance(m, 20))
        q = cr_make_with(m, CR_OP_mul, q, 0.5);
    return merge_heads(m, attend(m, q, cr_make_swap(m, k), v));
}

/* Attention with a separate projection for each head; results are concatenated. */
static cr_id single_heads(struct cr_maker *m, cr_id x)
{
    int n = 1 + (int)cr_below(m, 3);
    int64_t d = 1 + cr_below(m, 12);
    cr_id y[3];
    uint64_t state = m->state;
    for (int i = 0; i < n; i++) {
        m->state = state; /* made alike */
        cr_id q = cr_make_linear(m, x, d), k = cr_make_linear(m, x, d);
        cr_id v = cr_make_linear(m, x, d);
        y[i] = attend(m, q, cr_make_swap(m, k), v);
    }
    return cr_make_concat(m, n, y, 2);
}

/* Attention with rows of x as queries; keys and values are views of leaves or of x itself. */
static cr_id cross(struct cr_maker *m, cr_id x)
{
    int64_t B = cr_size_of(m, x, 0), C = cr_size_of(m, x, 2), keys = 1 + cr_below(m, 20);
    if (cr_chance(m, 15))
        keys = 120 + cr_below(m, 150);
    if (cr_chance(m, 30) && cr_size_of(m, x, 1) > 1) {
        cr_id some = cr_make_slice(m, x, 1, 1, cr_size_of(m, x, 1) - 1);
        return attend(m, x, cr_make_swap(m, some), some);
    }
    if (B * C * keys > 20000)
        return CR_NONE;
    cr_id k = cr_make_leaf(m, CR_OP_input, 3, (int64_t[]){B, C, keys}, 1);
    cr_id v = cr_make_leaf(m, CR_OP_input, 3, (int64_t[]){keys, B, C}, 1);
    v = cr_make_permute(m, v, (int64_t[]){1, 0, 2});
    if (cr_chance(m, 30))
        v = cr_make_with(m, CR_OP_add, v, 0.25);
    return attend(m, x, k, v);
}

cr_id cr_recipe_attention(struct cr_maker *m, cr_id x)
{
    const struct cr_node node = *cr_node_of(m, x);
    int64_t batch = cr_elements(node.rank - 2, node.shape), way = cr_below(m, 3), C;
    if (node.rank < 2 || node.shape[node.rank - 2] > 300 || batch > 40)
        return CR_NONE;
    C = node.shape[node.rank - 1];
    cr_id y = cr_make_reshape(m, x, 3, (int64_t[]){batch, node.shape[node.rank - 2], C});
    y = way == 0 ? fused_heads(m, y) : way == 1 ? single_heads(m, y) : cross(m, y);
    if (y == CR_NONE)
        return y;
    if (cr_chance(m, 30))
        y = cr_recipe_activation(m, y);
    if (cr_size_of(m, y, -1) != C || cr_chance(m, 40))
        y = cr_make_linear(m, y, C);
    y = cr_make_reshape(m, y, node.rank, node.shape);
    return cr_chance(m, 50) ? cr_make2(m, CR_OP_add, x, y) : y;
}
