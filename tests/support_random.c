/* Random graphs: the maker's tools, steps of single ops, and how steps become a graph. */
#include "support_random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* ---- numbers ---- */

/* splitmix64 */
static uint64_t next(struct cr_maker *m)
{
    uint64_t z = m->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

int64_t cr_below(struct cr_maker *m, int64_t n)
{
    return (int64_t)(next(m) % (uint64_t)n);
}

bool cr_chance(struct cr_maker *m, int percent)
{
    return cr_below(m, 100) < percent;
}

/* Roughly normal, never far out. */
static double bell(struct cr_maker *m)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(next(m) >> 11) * 0x1p-53 - 0.5;
    return 1.7 * sum;
}

/* ---- nodes ---- */

const struct cr_node *cr_node_of(const struct cr_maker *m, cr_id id)
{
    return &m->g->nodes[id];
}

int64_t cr_size_of(const struct cr_maker *m, cr_id id, int axis)
{
    const struct cr_node *node = cr_node_of(m, id);
    return node->shape[axis < 0 ? node->rank + axis : axis];
}

/* Evaluates the node that was just made. */
static cr_id enter(struct cr_maker *m, cr_id id, void *data)
{
    if (id >= CR_MAX_RANDOM_NODES)
        abort();
    m->random->data[id] = data;
    cr_bounds_add(m->g, id, data, m->random->bounds);
    return id;
}

cr_id cr_make(struct cr_maker *m, enum cr_op op, int n, const cr_id *in,
              const struct cr_attr *attr)
{
    return enter(m, cr_must(m->g, op, n, in, attr), NULL);
}

cr_id cr_make1(struct cr_maker *m, enum cr_op op, cr_id a)
{
    return cr_make(m, op, 1, &a, NULL);
}

cr_id cr_make2(struct cr_maker *m, enum cr_op op, cr_id a, cr_id b)
{
    return cr_make(m, op, 2, (cr_id[]){a, b}, NULL);
}

cr_id cr_make_select(struct cr_maker *m, cr_id condition, cr_id a, cr_id b)
{
    return cr_make(m, CR_OP_where, 3, (cr_id[]){condition, a, b}, NULL);
}

cr_id cr_make_fold(struct cr_maker *m, enum cr_op op, cr_id a, int axis)
{
    return cr_make(m, op, 1, &a, &(struct cr_attr){.axis = axis});
}

cr_id cr_make_reshape(struct cr_maker *m, cr_id a, int rank, const int64_t *shape)
{
    struct cr_attr attr = {.rank = rank};
    memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    return cr_make(m, CR_OP_reshape, 1, &a, &attr);
}

cr_id cr_make_permute(struct cr_maker *m, cr_id a, const int64_t *axes)
{
    struct cr_attr attr = {0};
    memcpy(attr.index, axes, (size_t)cr_node_of(m, a)->rank * sizeof *axes);
    return cr_make(m, CR_OP_permute, 1, &a, &attr);
}

cr_id cr_make_swap(struct cr_maker *m, cr_id a)
{
    int64_t axes[CR_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    int rank = cr_node_of(m, a)->rank;
    axes[rank - 1] = rank - 2;
    axes[rank - 2] = rank - 1;
    return cr_make_permute(m, a, axes);
}

cr_id cr_make_slice(struct cr_maker *m, cr_id a, int axis, int64_t start, int64_t size)
{
    struct cr_attr attr = cr_attr_of(cr_node_of(m, a));
    memset(attr.index, 0, sizeof attr.index);
    attr.index[axis] = start;
    attr.shape[axis] = size;
    return cr_make(m, CR_OP_slice, 1, &a, &attr);
}

cr_id cr_make_concat(struct cr_maker *m, int n, const cr_id *in, int axis)
{
    return cr_make(m, CR_OP_concat, n, in, &(struct cr_attr){.axis = axis});
}

cr_id cr_make_like(struct cr_maker *m, cr_id a, cr_id shape)
{
    struct cr_attr attr = cr_attr_of(cr_node_of(m, shape));
    if (cr_same_shape(cr_node_of(m, a), cr_node_of(m, shape)))
        return a;
    return cr_make(m, CR_OP_expand, 1, &a, &attr);
}

cr_id cr_make_iota(struct cr_maker *m, cr_id shape, int axis)
{
    struct cr_attr attr = cr_attr_of(cr_node_of(m, shape));
    attr.axis = axis < 0 ? attr.rank + axis : axis;
    return cr_make(m, CR_OP_iota, 0, NULL, &attr);
}

cr_id cr_make_const(struct cr_maker *m, cr_id like, double value)
{
    struct cr_attr attr = cr_attr_of(cr_node_of(m, like));
    attr.value = value;
    attr.name = NULL;
    return cr_make(m, CR_OP_const, 0, NULL, &attr);
}

cr_id cr_make_with(struct cr_maker *m, enum cr_op op, cr_id a, double value)
{
    return cr_make2(m, op, a, cr_make_const(m, a, value));
}

/* ---- leaves ---- */

static cr_id add_leaf(struct cr_maker *m, enum cr_op op, enum cr_dtype dtype, int rank,
                      const int64_t *shape, void *data)
{
    char name[CR_MAX_RANK * 4 + 32];
    snprintf(name, sizeof name, "%s%d", op == CR_OP_param ? "w" : "x", m->n_leaves++);
    struct cr_attr attr = {.dtype = dtype, .rank = rank, .name = cr_intern(m->g, name),
                           .init = op == CR_OP_param ? CR_INIT_NORMAL : 0,
                           .value = op == CR_OP_param ? 0.5 : 0};
    memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    return enter(m, cr_must(m->g, op, 0, NULL, &attr), data);
}

cr_id cr_make_leaf(struct cr_maker *m, enum cr_op op, int rank, const int64_t *shape, double size)
{
    int64_t n = cr_elements(rank, shape);
    float *data = cr_calloc((size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)(size * bell(m));
    if (m->in_layer)
        op = CR_OP_param;
    return add_leaf(m, op, CR_F32, rank, shape, data);
}

/* Layers share theirs, as with inputs of their own they make no loop. */
cr_id cr_make_integers(struct cr_maker *m, int rank, const int64_t *shape, int low, int high)
{
    int64_t n = cr_elements(rank, shape);
    int32_t *data = cr_calloc((size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = low + (int32_t)cr_below(m, high - low + 1);
    if (m->in_layer && m->next_shared < m->n_shared) {
        free(data);
        return m->shared[m->next_shared++];
    }
    cr_id id = add_leaf(m, CR_OP_input, CR_I32, rank, shape, data);
    if (m->in_layer && m->n_shared < CR_MAX_SHARED)
        m->shared[m->n_shared++] = id;
    m->next_shared = m->n_shared;
    return id;
}

static enum cr_op input_or_param(struct cr_maker *m)
{
    return cr_chance(m, 50) ? CR_OP_param : CR_OP_input;
}

/* An axis: often 1, often a prime, seldom longer than a tile. */
static int64_t random_size(struct cr_maker *m, int64_t room)
{
    static const int64_t sizes[] = {1,  1,  1,  2,  2,  3,  4,  5,  6,   7,   8,   11,  13,
                                    16, 17, 24, 31, 32, 33, 48, 64, 65, 97, 128, 130, 257, 1025, 2051};
    int64_t size;
    do
        size = sizes[cr_below(m, (int64_t)(sizeof sizes / sizeof *sizes))];
    while (size > room);
    return size;
}

static int random_shape(struct cr_maker *m, int64_t *shape)
{
    int rank = cr_chance(m, 4) ? 0 : 1 + (int)cr_below(m, cr_chance(m, 10) ? 6 : 4);
    int64_t room = m->budget;
    for (int i = 0; i < rank; i++)
        room /= shape[i] = random_size(m, room);
    for (int i = rank - 1; i > 0; i--) { /* the longest axis may stand anywhere */
        int j = (int)cr_below(m, i + 1);
        int64_t size = shape[i];
        shape[i] = shape[j];
        shape[j] = size;
    }
    return rank;
}

/* [batch, tokens, width], as models have it. */
static cr_id model_leaf(struct cr_maker *m)
{
    static const int64_t tokens[] = {1, 2, 5, 7, 16, 24, 33, 60, 130, 150, 270};
    int64_t batch = 1 + cr_below(m, 3), shape[3] = {batch}, width;
    do
        shape[1] = tokens[cr_below(m, 11)];
    while (batch * shape[1] > m->budget);
    width = m->budget / (batch * shape[1]);
    shape[2] = 1 + cr_below(m, width < 70 ? width : 70);
    return cr_make_leaf(m, CR_OP_input, 3, shape, 1);
}

static cr_id random_leaf(struct cr_maker *m)
{
    int64_t shape[CR_MAX_RANK];
    if (cr_chance(m, 35))
        return model_leaf(m);
    int rank = random_shape(m, shape);
    return cr_make_leaf(m, cr_chance(m, 80) ? CR_OP_input : CR_OP_param, rank, shape, 1);
}

/* A leaf with some axes of x, the others missing or 1, broadcast to the shape of x. */
static cr_id broadcast_leaf(struct cr_maker *m, cr_id x, bool integers)
{
    const struct cr_node *node = cr_node_of(m, x);
    int64_t shape[CR_MAX_RANK];
    int rank = (int)cr_below(m, node->rank + 1);
    for (int i = 0; i < rank; i++)
        shape[i] = cr_chance(m, 60) ? node->shape[node->rank - rank + i] : 1;
    cr_id leaf = integers ? cr_make_integers(m, rank, shape, -3, 9)
                          : cr_make_leaf(m, input_or_param(m), rank, shape, 1);
    return cr_make_like(m, leaf, x);
}

/* ---- values at hand ---- */

/* Often the last one: what nothing goes on from is dead. */
static cr_id any_value(struct cr_maker *m)
{
    int64_t among = cr_chance(m, 60) ? 1 : cr_chance(m, 50) && m->n_pool > 4 ? 4 : m->n_pool;
    return m->pool[m->n_pool - 1 - cr_below(m, among)];
}

/* A value of x's shape, or CR_NONE. */
static cr_id value_like(struct cr_maker *m, cr_id x)
{
    int64_t start = cr_below(m, m->n_pool);
    for (int i = 0; i < m->n_pool; i++) {
        cr_id id = m->pool[(start + i) % m->n_pool];
        if (cr_same_shape(cr_node_of(m, id), cr_node_of(m, x)))
            return id;
    }
    return CR_NONE;
}

/* A value that broadcasts to x's shape but is not of it, broadcast, or CR_NONE. */
static cr_id narrow_value(struct cr_maker *m, cr_id x)
{
    const struct cr_node *to = cr_node_of(m, x);
    int64_t start = cr_below(m, m->n_pool);
    for (int i = 0; i < m->n_pool; i++) {
        cr_id id = m->pool[(start + i) % m->n_pool];
        const struct cr_node *node = cr_node_of(m, id);
        bool fits = node->rank <= to->rank && !cr_same_shape(node, to);
        for (int a = 1; fits && a <= node->rank; a++)
            fits = node->shape[node->rank - a] == 1 ||
                   node->shape[node->rank - a] == to->shape[to->rank - a];
        if (fits)
            return cr_make_like(m, id, x);
    }
    return CR_NONE;
}

cr_id cr_make_partner(struct cr_maker *m, cr_id x)
{
    cr_id id = CR_NONE;
    int64_t way = cr_below(m, 10);
    if (way < 4)
        id = value_like(m, x);
    else if (way < 6)
        id = narrow_value(m, x);
    else if (way < 8)
        return cr_make_const(m, x, (double)cr_below(m, 9) / 4 - 1);
    return id == CR_NONE ? broadcast_leaf(m, x, false) : id;
}

cr_id cr_make_matrix(struct cr_maker *m, cr_id x)
{
    const struct cr_node *node = cr_node_of(m, x);
    int64_t n = cr_elements(node->rank, node->shape);
    if (node->rank >= 2)
        return x;
    return cr_make_reshape(m, x, 2, cr_chance(m, 50) ? (int64_t[]){1, n} : (int64_t[]){n, 1});
}

/* ---- elementwise steps ---- */

static enum cr_op random_op(struct cr_maker *m, enum cr_rule rule)
{
    enum cr_op op;
    do
        op = (enum cr_op)cr_below(m, CR_OP_COUNT);
    while (cr_ops[op].kind != CR_KIND_ELEMENTWISE || cr_ops[op].rule != rule);
    return op;
}

/* i32 of x's shape: indices, numbers that come in, and arithmetic on them. */
static cr_id integers_like(struct cr_maker *m, cr_id x, int depth)
{
    int64_t way = cr_below(m, depth > 0 ? 10 : 6);
    if (way < 4 && cr_node_of(m, x)->rank > 0)
        return cr_make_iota(m, x, (int)cr_below(m, cr_node_of(m, x)->rank));
    if (way < 6)
        return broadcast_leaf(m, x, true);
    cr_id in[2] = {integers_like(m, x, depth - 1), CR_NONE};
    if (way < 8)
        return cr_make_with(m, CR_OP_sub, in[0], (double)cr_below(m, 7) - 2);
    enum cr_op op = random_op(m, CR_RULE_ARITH);
    if (cr_ops[op].arity == 2)
        in[1] = integers_like(m, x, depth - 1);
    return cr_make(m, op, cr_ops[op].arity, in, NULL);
}

/* A bool of x's shape. */
static cr_id condition_like(struct cr_maker *m, cr_id x, int depth)
{
    enum cr_op op = random_op(m, depth > 0 ? CR_RULE_LOGIC : CR_RULE_COMPARE);
    bool integers = cr_chance(m, 60);
    cr_id in[2] = {x, CR_NONE};
    for (int i = 0; i < cr_ops[op].arity; i++) {
        if (depth > 0)
            in[i] = condition_like(m, x, depth - 1);
        else if (integers)
            in[i] = integers_like(m, x, 2 - i);
        else if (i == 1)
            in[i] = cr_make_partner(m, x);
    }
    return cr_make(m, op, cr_ops[op].arity, in, NULL);
}

/* An op of the table that gives f32. */
static cr_id step_elementwise(struct cr_maker *m, cr_id x)
{
    enum cr_rule rule = cr_chance(m, 60) ? CR_RULE_ARITH : CR_RULE_FLOAT;
    enum cr_op op = random_op(m, rule);
    cr_id in[3] = {x, x, x};
    for (int i = 1; i < cr_ops[op].arity; i++)
        in[i] = cr_make_partner(m, x);
    cr_id *last = &in[cr_ops[op].arity - 1];
    if (rule == CR_RULE_FLOAT && cr_chance(m, 60)) /* so that logarithms and quotients exist */
        *last = cr_make_with(m, CR_OP_add, cr_make1(m, CR_OP_abs, *last), 0.5);
    else if (cr_ops[op].arity == 2 && cr_chance(m, 50))
        *last = in[0], in[0] = in[1] == x ? cr_make_partner(m, x) : in[0];
    return cr_make(m, op, cr_ops[op].arity, in, NULL);
}

static cr_id step_select(struct cr_maker *m, cr_id x)
{
    cr_id condition = condition_like(m, x, (int)cr_below(m, 3));
    cr_id other = cr_make_partner(m, x);
    return cr_chance(m, 50) ? cr_make_select(m, condition, x, other)
                            : cr_make_select(m, condition, other, x);
}

/* An op that makes f32 of something else, with x. */
static cr_id step_convert(struct cr_maker *m, cr_id x)
{
    enum cr_op op = random_op(m, CR_RULE_CONVERT);
    cr_id from = cr_chance(m, 50) ? integers_like(m, x, 1) : condition_like(m, x, 0);
    cr_id number = cr_make_with(m, CR_OP_mul, cr_make1(m, op, from), 0.125);
    return cr_make2(m, CR_OP_add, x, number);
}

/* A small elementwise expression, for work between the views of other steps. */
static cr_id some_work(struct cr_maker *m, cr_id x)
{
    switch (cr_below(m, 4)) {
    case 0:
        return cr_make_with(m, CR_OP_mul, x, 0.75);
    case 1:
        return cr_make1(m, CR_OP_tanh, x);
    case 2:
        return cr_make2(m, CR_OP_add, x, cr_make_partner(m, x));
    default:
        return x;
    }
}

/* ---- steps that fold ---- */

static cr_id step_fold(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    int axis = cr_chance(m, 50) ? rank - 1 : (int)cr_below(m, rank);
    double n = (double)cr_size_of(m, x, axis);
    if (cr_chance(m, 40))
        return cr_make_fold(m, CR_OP_max, some_work(m, x), axis);
    return cr_make_with(m, CR_OP_mul, cr_make_fold(m, CR_OP_sum, some_work(m, x), axis), 1 / n);
}

/* x and something of its rows together. */
static cr_id step_rows(struct cr_maker *m, cr_id x)
{
    cr_id fold = step_fold(m, x);
    if (fold == CR_NONE)
        return CR_NONE;
    cr_id wide = cr_make_like(m, fold, x);
    return cr_make2(m, cr_chance(m, 50) ? CR_OP_mul : CR_OP_sub, x, wide);
}

/* ---- steps that move ---- */

static void shuffle(struct cr_maker *m, int n, int64_t *axes)
{
    for (int i = 0; i < n; i++)
        axes[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)cr_below(m, i + 1);
        int64_t axis = axes[i];
        axes[i] = axes[j];
        axes[j] = axis;
    }
}

static cr_id step_permute(struct cr_maker *m, cr_id x)
{
    int64_t axes[CR_MAX_RANK];
    shuffle(m, cr_node_of(m, x)->rank, axes);
    return cr_make_permute(m, x, axes);
}

/* A factor of n other than n itself if there is one. */
static int64_t factor(struct cr_maker *m, int64_t n)
{
    int64_t factors[64];
    int count = 0;
    for (int64_t f = 1; f < n && count < 64; f++)
        if (n % f == 0)
            factors[count++] = f;
    return count ? factors[cr_below(m, count)] : 1;
}

/* Cuts an axis in two, joins two, or puts in an axis of size 1. */
static cr_id step_reshape(struct cr_maker *m, cr_id x)
{
    const struct cr_node *node = cr_node_of(m, x);
    int64_t shape[CR_MAX_RANK + 1];
    int rank = node->rank, axis = rank ? (int)cr_below(m, rank) : 0;
    memcpy(shape, node->shape, sizeof node->shape);
    if (rank >= 2 && axis + 1 < rank && cr_chance(m, 50)) {
        shape[axis] *= shape[axis + 1];
        memmove(shape + axis + 1, shape + axis + 2, (size_t)(rank - axis - 2) * sizeof *shape);
        return cr_make_reshape(m, x, rank - 1, shape);
    }
    if (rank == CR_MAX_RANK)
        return CR_NONE;
    int64_t low = rank ? factor(m, shape[axis]) : 1;
    memmove(shape + axis + 1, shape + axis, (size_t)(rank - axis) * sizeof *shape);
    shape[axis] = rank ? shape[axis + 1] / low : 1;
    if (rank)
        shape[axis + 1] = low;
    return cr_make_reshape(m, x, rank + 1, shape);
}

/* Any other factors of the number of elements. */
static cr_id step_refactor(struct cr_maker *m, cr_id x)
{
    int64_t shape[4], n = cr_elements(cr_node_of(m, x)->rank, cr_node_of(m, x)->shape);
    int rank = 1 + (int)cr_below(m, 4);
    for (int i = rank - 1; i > 0; i--)
        n /= shape[i] = factor(m, n);
    shape[0] = n;
    return cr_make_reshape(m, x, rank, shape);
}

static cr_id step_slice(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    int axis = (int)cr_below(m, rank);
    int64_t all = cr_size_of(m, x, axis), size = 1 + cr_below(m, all);
    return cr_make_slice(m, x, axis, cr_below(m, all - size + 1), size);
}

static cr_id step_expand(struct cr_maker *m, cr_id x)
{
    const struct cr_node *node = cr_node_of(m, x);
    struct cr_attr attr = {.rank = node->rank};
    int64_t extra = node->rank < 6 ? cr_below(m, 2) : 0;
    int64_t room = 20000 / cr_elements(node->rank, node->shape);
    attr.rank += (int)extra;
    if (extra)
        attr.shape[0] = 1 + cr_below(m, room > 5 ? 5 : 1);
    for (int i = 0; i < node->rank; i++) {
        bool repeat = node->shape[i] == 1 && room > 20 && cr_chance(m, 50);
        attr.shape[i + extra] = repeat ? 1 + cr_below(m, 4) : node->shape[i];
    }
    return cr_make(m, CR_OP_expand, 1, &x, &attr);
}

/* Out of the usual order, some work, and back. */
static cr_id step_round_trip(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    int64_t axes[CR_MAX_RANK], back[CR_MAX_RANK], shape[CR_MAX_RANK];
    memcpy(shape, cr_node_of(m, x)->shape, sizeof shape);
    if (cr_chance(m, 40))
        return cr_make_reshape(m, some_work(m, step_refactor(m, x)), rank, shape);
    shuffle(m, rank, axes);
    for (int i = 0; i < rank; i++)
        back[axes[i]] = i;
    return cr_make_permute(m, some_work(m, cr_make_permute(m, x, axes)), back);
}

/* Parts of x in another order. */
static cr_id step_parts(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    int axis = rank ? (int)cr_below(m, rank) : 0;
    if (rank == 0 || cr_size_of(m, x, axis) < 2)
        return CR_NONE;
    int64_t all = cr_size_of(m, x, axis), cut = 1 + cr_below(m, all - 1);
    cr_id high = some_work(m, cr_make_slice(m, x, axis, cut, all - cut));
    cr_id low = some_work(m, cr_make_slice(m, x, axis, 0, cut));
    return cr_make_concat(m, 2, (cr_id[]){high, low}, axis);
}

/* x between other tensors. */
static cr_id step_concat(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank, n = 1 + (int)cr_below(m, 4);
    if (rank == 0)
        return CR_NONE;
    int axis = cr_chance(m, 50) ? rank - 1 : (int)cr_below(m, rank);
    cr_id parts[4];
    for (int i = 0; i < n; i++)
        parts[i] = cr_chance(m, 50) ? cr_make_partner(m, x) : step_elementwise(m, x);
    parts[cr_below(m, n)] = x;
    return cr_make_concat(m, n, parts, axis);
}

/* Two parts of x, of equal size and perhaps the same elements, with each other. */
static cr_id step_gate(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    int axis = cr_chance(m, 60) ? rank - 1 : (int)cr_below(m, rank);
    int64_t all = cr_size_of(m, x, axis), size = 1 + cr_below(m, all), from = cr_below(m, all - size + 1);
    cr_id gate = cr_make1(m, CR_OP_tanh, cr_make_slice(m, x, axis, from, size));
    from = cr_chance(m, 60) ? all - size : cr_below(m, all - size + 1);
    return cr_make2(m, CR_OP_mul, gate, cr_make_slice(m, x, axis, from, size));
}

/* x and its transpose, if that has the same shape. */
static cr_id step_symmetry(struct cr_maker *m, cr_id x)
{
    if (cr_node_of(m, x)->rank < 2 || cr_size_of(m, x, -1) != cr_size_of(m, x, -2))
        return CR_NONE;
    return cr_make2(m, CR_OP_add, x, cr_make_swap(m, x));
}

/* ---- steps with a matrix, a table ---- */

static cr_id step_linear(struct cr_maker *m, cr_id x)
{
    x = cr_make_matrix(m, x);
    int64_t rows = cr_size_of(m, x, -2);
    if (rows > 1 && rows <= 70 && cr_chance(m, 20)) /* one element of the product in two places */
        return step_symmetry(m, cr_make_linear(m, x, rows));
    return cr_make_linear(m, x, random_size(m, 140));
}

/* x times its own transpose, or a leaf with a batch of its own. */
static cr_id step_product(struct cr_maker *m, cr_id x)
{
    x = cr_make_matrix(m, x);
    struct cr_node node = *cr_node_of(m, x);
    int r = node.rank;
    double scale = 1 / sqrt((double)node.shape[r - 1]);
    if (node.shape[r - 2] <= 200 && cr_chance(m, 40))
        return cr_make_with(m, CR_OP_mul, cr_make2(m, CR_OP_matmul, x, cr_make_swap(m, x)), scale);
    node.shape[r - 2] = node.shape[r - 1];
    node.shape[r - 1] = random_size(m, 70);
    if (cr_elements(r, node.shape) > 20000)
        return CR_NONE;
    cr_id b = cr_make_leaf(m, CR_OP_input, r, node.shape, scale);
    return cr_make2(m, CR_OP_matmul, x, cr_chance(m, 50) ? b : some_work(m, b));
}

/* Rows of x, or of a table, by numbers that come in or are computed. */
static cr_id step_gather(struct cr_maker *m, cr_id x)
{
    int64_t shape[CR_MAX_RANK] = {1 + cr_below(m, 9), 1 + cr_below(m, 4)};
    int64_t width = random_size(m, 300), rows = 1 + cr_below(m, 30);
    bool own = cr_node_of(m, x)->rank > 0 && cr_node_of(m, x)->rank < 6 && cr_chance(m, 50);
    cr_id table = own ? x : cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){rows, width}, 1);
    int64_t n = cr_size_of(m, table, 0);
    if (cr_elements(cr_node_of(m, table)->rank - 1, cr_node_of(m, table)->shape + 1) > 600)
        return CR_NONE;
    cr_id index = cr_make_integers(m, 1 + (int)cr_below(m, 2), shape, 0, (int)n - 1);
    if (cr_chance(m, 30)) { /* from the end */
        cr_id end = cr_make_const(m, index, (double)(n - 1));
        index = cr_make2(m, CR_OP_sub, end, index);
    }
    return cr_make2(m, CR_OP_gather, table, index);
}

/* As many rows as x has. */
static cr_id step_pick_rows(struct cr_maker *m, cr_id x)
{
    if (cr_node_of(m, x)->rank == 0)
        return CR_NONE;
    int64_t n = cr_size_of(m, x, 0);
    cr_id index = cr_chance(m, 80) ? cr_make_integers(m, 1, &n, 0, (int)n - 1) : CR_NONE;
    if (index == CR_NONE)
        index = cr_make(m, CR_OP_iota, 0, NULL, &(struct cr_attr){.rank = 1, .shape = {n}});
    return cr_make2(m, CR_OP_gather, x, index);
}

static cr_id step_leaf(struct cr_maker *m, cr_id x)
{
    (void)x;
    return random_leaf(m);
}

/* ---- steps together ---- */

/* Those whose result has the shape of x. */
static cr_recipe *const even_recipes[] = {
    step_elementwise, step_elementwise,       step_select,         step_rows,
    step_round_trip,  step_parts,             step_pick_rows,      cr_recipe_activation,
    cr_recipe_norm,   cr_recipe_feed_forward, cr_recipe_attention, cr_recipe_norm,
    step_convert,     cr_recipe_softmax,      step_symmetry,
};

static cr_recipe *const moving_recipes[] = {
    step_permute, step_reshape, step_refactor,   step_slice, step_slice,
    step_expand,  step_concat,  step_round_trip, step_parts, step_gate,
};

static cr_recipe *const other_recipes[] = {
    step_fold, step_linear, step_product, step_gather, step_gate, step_leaf,
};

static cr_recipe *const heavy_recipes[] = {
    cr_recipe_attention,
    cr_recipe_feed_forward,
};

#define ONE_OF(m, recipes) ((recipes)[cr_below(m, sizeof(recipes) / sizeof *(recipes))])

/* Finite, not large, and known to float's precision or nearly. */
static bool is_tame(const struct cr_maker *m, cr_id id)
{
    const struct cr_node *node = cr_node_of(m, id);
    const struct cr_bounds *b = &m->random->bounds[id];
    int64_t n = cr_elements(node->rank, node->shape);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(b->value[i]) < 50) || !(b->error[i] < 1e-4 * (1 + fabs(b->value[i]))))
            return false;
    return n <= 60000;
}

static void take_back(struct cr_maker *m, int n_nodes, int n_operands)
{
    for (int i = n_nodes; i < m->g->n_nodes; i++) {
        cr_bounds_free(&m->random->bounds[i]);
        free(m->random->data[i]);
        m->random->data[i] = NULL;
    }
    m->g->n_nodes = n_nodes;
    m->g->n_operands = n_operands;
}

/* Sets where nodes come from; now and then taps the value, under a name of its own. */
static void mark(struct cr_maker *m, cr_id id, int layer, int step)
{
    char name[64];
    snprintf(name, sizeof name, "t%d", (int)id);
    if (cr_chance(m, 20) && id != CR_NONE && !m->g->nodes[id].tap)
        m->g->nodes[id].tap = cr_intern(m->g, name);
    snprintf(name, sizeof name, layer < 0 ? "s%d" : "s%d.%d", step, layer);
    m->g->here.file = cr_intern(m->g, "random.lua");
    m->g->here.line = step + 1;
    m->g->here.scope = cr_intern(m->g, name);
}

static cr_id attempt(struct cr_maker *m, cr_recipe *recipe, cr_id x)
{
    int n_nodes = m->g->n_nodes, n_operands = m->g->n_operands;
    cr_id y = recipe(m, x);
    if (y != CR_NONE && is_tame(m, y))
        return y;
    take_back(m, n_nodes, n_operands);
    return CR_NONE;
}

/* One layer of a block: a few steps that keep the shape, and perhaps what went in. */
static cr_id layer(struct cr_maker *m, cr_id x, int n_steps, int number)
{
    cr_id y = x;
    m->in_layer = true;
    m->next_shared = 0;
    if (number == 0)
        m->n_shared = 0;
    for (int i = 0; i < n_steps && y != CR_NONE; i++) {
        mark(m, i > 0 ? y : CR_NONE, number, i);
        bool heavy = i == 0 && cr_chance(m, 70); /* a product ends a kernel */
        y = attempt(m, heavy ? ONE_OF(m, heavy_recipes) : ONE_OF(m, even_recipes), y);
    }
    m->in_layer = false;
    if (y == CR_NONE || !cr_same_shape(cr_node_of(m, x), cr_node_of(m, y)))
        return CR_NONE;
    if (cr_chance(m, 60))
        y = cr_make2(m, CR_OP_add, x, y);
    return is_tame(m, y) ? y : CR_NONE;
}

/* A seed from which a layer comes out well; what was tried is taken back. */
static uint64_t layer_seed(struct cr_maker *m, cr_id x, int n_steps)
{
    int n_nodes = m->g->n_nodes, n_operands = m->g->n_operands, n_leaves = m->n_leaves;
    uint64_t seed = 0;
    cr_id y = CR_NONE;
    for (int i = 0; i < 10 && y == CR_NONE; i++) {
        m->state = seed = next(m);
        y = layer(m, x, n_steps, 0);
        take_back(m, n_nodes, n_operands);
        m->n_leaves = n_leaves;
    }
    return seed;
}

/* Layers made alike, that outlining should find to be so; a second value may be handed on,
 * and what is in the middle be of use later. */
static cr_id step_block(struct cr_maker *m, cr_id x)
{
    int n_layers = 2 + (int)cr_below(m, 4), n_steps = 1 + (int)cr_below(m, 4);
    if (cr_node_of(m, x)->rank < 2)
        x = model_leaf(m);
    cr_id sum = cr_chance(m, 45) ? x : CR_NONE, made[8];
    uint64_t seed = layer_seed(m, x, n_steps);
    for (int i = 0; i < n_layers && x != CR_NONE; i++) {
        m->state = seed;
        x = layer(m, x, n_steps, i);
        if (x != CR_NONE && sum != CR_NONE)
            x = cr_make_with(m, CR_OP_mul, sum = cr_make2(m, CR_OP_add, sum, x), 0.5);
        made[i] = x;
    }
    m->state = seed ^ 1;
    for (int i = 0; x != CR_NONE && is_tame(m, x) && i < n_layers - 1; i++)
        if (cr_chance(m, 5))
            m->pool[m->n_pool++] = made[i];
    return x;
}

static bool is_output(const struct cr_graph *g, cr_id id)
{
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].id == id)
            return true;
    return false;
}

/* The last value, and others: leaves, views, what is used inside, the same one twice. */
static void choose_outputs(struct cr_maker *m)
{
    int n = 1 + (int)cr_below(m, cr_chance(m, 50) ? 1 : 5);
    char name[16];
    for (int i = 0; i < n; i++) {
        cr_id id = i == 0 ? m->pool[m->n_pool - 1] : any_value(m);
        if (i > 0 && cr_chance(m, 20)) /* anything, of any type */
            id = (cr_id)cr_below(m, m->g->n_nodes);
        if (is_output(m->g, id) && !cr_chance(m, 10))
            continue;
        snprintf(name, sizeof name, "y%d", i);
        cr_add_output(m->g, name, id);
    }
}

/* What a graph is mostly about. */
enum subject { ANYTHING, MOVEMENT, ATTENTION, LAYERS, N_SUBJECTS };

static cr_recipe *choose_recipe(struct cr_maker *m, enum subject subject)
{
    int64_t way = cr_below(m, 100);
    if (way < (subject == MOVEMENT ? 70 : 25))
        return ONE_OF(m, moving_recipes);
    if (way < 80)
        return ONE_OF(m, even_recipes);
    return way < 97 ? ONE_OF(m, other_recipes) : step_block;
}

/* A step, in so many tries. */
static void add_step(struct cr_maker *m, cr_recipe *recipe, int number, int tries)
{
    cr_id y = CR_NONE;
    for (int i = 0; i < tries && y == CR_NONE; i++) {
        mark(m, m->pool[m->n_pool - 1], -1, number + 1);
        y = attempt(m, recipe, any_value(m));
    }
    if (y != CR_NONE)
        m->pool[m->n_pool++] = y;
}

static void add_steps(struct cr_maker *m, enum subject subject)
{
    int n = 1 + (int)cr_below(m, subject == ATTENTION ? 4 : 9);
    int main_step = subject >= ATTENTION ? (int)cr_below(m, n < 3 ? n : 3) : n;
    for (int i = 0; i < n && m->g->n_nodes < CR_MAX_RANDOM_NODES / 3; i++) {
        if (i == main_step)
            add_step(m, subject == LAYERS ? step_block : cr_recipe_attention, i, 12);
        else
            add_step(m, choose_recipe(m, subject), i, 1);
    }
}

struct cr_random_graph *cr_random_graph_new(uint64_t seed)
{
    struct cr_random_graph *random = cr_calloc(1, sizeof *random);
    struct cr_maker m = {.random = random, .g = cr_graph_new("random"), .state = seed};
    random->graph = m.g;
    next(&m);
    m.budget = cr_chance(&m, 15) ? 15000 : cr_chance(&m, 60) ? 2000 : 200;
    enum subject subject = (enum subject)cr_below(&m, N_SUBJECTS);
    if (subject == ATTENTION && m.budget < 2000)
        m.budget = 2000;
    mark(&m, CR_NONE, -1, 0);
    m.pool[m.n_pool++] = subject >= ATTENTION ? model_leaf(&m) : random_leaf(&m);
    add_steps(&m, subject);
    choose_outputs(&m);
    return random;
}

void cr_random_graph_free(struct cr_random_graph *random)
{
    for (int i = 0; i < random->graph->n_nodes; i++) {
        cr_bounds_free(&random->bounds[i]);
        free(random->data[i]);
    }
    cr_graph_free(random->graph);
    free(random);
}
