/* maker.c - tools to build random graphs: random numbers, evaluated nodes, leaves. */
#include "maker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leaves.h"

/* ---- numbers ---- */

uint64_t cr_next(struct cr_maker *m)
{
    return cr_next_number(&m->state);
}

int64_t cr_below(struct cr_maker *m, int64_t n)
{
    return (int64_t)(cr_next(m) % (uint64_t)n);
}

bool cr_chance(struct cr_maker *m, int percent)
{
    return cr_below(m, 100) < percent;
}

enum cr_op cr_random_op(struct cr_maker *m, enum cr_kind kind, enum cr_rule rule)
{
    enum cr_op op;
    do
        op = (enum cr_op)cr_below(m, CR_OP_COUNT);
    while (cr_ops[op].kind != kind || (kind == CR_KIND_ELEMENTWISE && cr_ops[op].rule != rule));
    return op;
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

/* Adds a node and evaluates it.  A node that takes too much work is not evaluated, and its step is
 * undone. */
cr_id cr_make(struct cr_maker *m, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr)
{
    cr_id id = cr_must(m->g, op, n, in, attr);
    const struct cr_node *node = cr_node_of(m, id);
    int64_t terms = op == CR_OP_matmul ? cr_size_of(m, in[0], -1) : 1;
    m->work += cr_elements(node->rank, node->shape) * terms;
    if (m->work <= m->most_work)
        cr_case_evaluate(m->c);
    return id;
}

void cr_make_cut(struct cr_maker *m, int n_nodes, int n_operands)
{
    cr_case_cut(m->c, n_nodes, n_operands);
    while (m->n_kept && m->kept[m->n_kept - 1].value >= n_nodes)
        m->n_kept--;
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
    if (rank > 0)
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

/* Makes a leaf; outside layers, sometimes a state in place of an input. */
cr_id cr_make_leaf_of(struct cr_maker *m, enum cr_op op, enum cr_dtype dtype, int rank,
                      const int64_t *shape, const char *kind)
{
    char name[64];
    if (op == CR_OP_input && !m->in_layer && cr_chance(m, m->states))
        op = CR_OP_state;
    snprintf(name, sizeof name, "%s%d%s%s",
             op == CR_OP_param   ? "w"
             : op == CR_OP_state ? "s"
                                 : "x",
             m->n_leaves++, *kind ? "_" : "", kind);
    struct cr_attr attr = {.dtype = dtype,
                           .rank = rank,
                           .name = name,
                           .init = op == CR_OP_param ? CR_INIT_NORMAL : 0,
                           .value = op == CR_OP_param ? 0.5 : 0};
    if (rank > 0)
        memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    return cr_make(m, op, 0, NULL, &attr);
}

cr_id cr_make_leaf(struct cr_maker *m, enum cr_op op, int rank, const int64_t *shape, double size)
{
    char kind[16] = "";
    int halves = (int)lround(-2 * log2(size)), n = 0;
    if (halves)
        snprintf(kind, sizeof kind, "s%d", halves);
    while (cr_leaf_kind(n))
        n++;
    if (m->wild && cr_chance(m, 25))
        snprintf(kind, sizeof kind, "%s", cr_leaf_kind((int)cr_below(m, n)));
    else if (cr_chance(m, 4))
        snprintf(kind, sizeof kind, "ties");
    return cr_make_leaf_of(m, m->in_layer ? CR_OP_param : op, CR_F32, rank, shape, kind);
}

/* Layers share their i32 inputs, since layers with inputs of their own do not become a loop. */
cr_id cr_make_integers(struct cr_maker *m, int rank, const int64_t *shape, int low, int high)
{
    char kind[40];
    if (m->in_layer && m->next_shared < m->n_shared)
        return m->shared[m->next_shared++];
    snprintf(kind, sizeof kind, "%s%dto%s%d", low < 0 ? "m" : "", abs(low), high < 0 ? "m" : "",
             abs(high));
    cr_id id = cr_make_leaf_of(m, CR_OP_input, CR_I32, rank, shape, kind);
    if (m->in_layer && m->n_shared < CR_MAX_SHARED)
        m->shared[m->n_shared++] = id;
    m->next_shared = m->n_shared;
    return id;
}

static enum cr_op input_or_param(struct cr_maker *m)
{
    return cr_chance(m, 50) ? CR_OP_param : CR_OP_input;
}

/* Draws the size of an axis: often 1, a prime, or near the size of a tile or a panel, seldom larger. */
int64_t cr_random_size(struct cr_maker *m, int64_t room)
{
    static const int64_t sizes[] = {1,  1,  1,  1,  2,  2,  2,  3,  3,   4,   4,   5,   5,    6,
                                    7,  7,  8,  8,  9,  11, 12, 13, 15,  16,  17,  23,  24,   25,
                                    31, 32, 33, 48, 63, 64, 65, 97, 127, 128, 129, 257, 1025, 2051};
    int64_t size;
    do
        size = sizes[cr_below(m, (int64_t)(sizeof sizes / sizeof *sizes))];
    while (size > room);
    return size;
}

int cr_random_shape(struct cr_maker *m, int most_rank, int64_t *shape)
{
    int rank = cr_chance(m, 4) ? 0 : 1 + (int)cr_below(m, cr_chance(m, 10) ? 6 : 4);
    rank = rank < most_rank ? rank : most_rank;
    int64_t room = m->budget;
    for (int i = 0; i < rank; i++)
        room /= shape[i] = cr_random_size(m, room);
    for (int i = rank - 1; i > 0; i--) { /* swaps the longest axis to a random place */
        int j = (int)cr_below(m, i + 1);
        int64_t size = shape[i];
        shape[i] = shape[j];
        shape[j] = size;
    }
    return rank;
}

/* Draws a shape [batch, tokens, width], as models have it. */
cr_id cr_model_leaf(struct cr_maker *m)
{
    static const int64_t tokens[] = {1, 2, 5, 7, 16, 24, 33, 60, 130, 150, 270};
    int64_t batch = 1 + cr_below(m, 3), shape[3] = {batch}, width;
    if (m->longer)
        return cr_make_leaf(m, CR_OP_input, 3, (int64_t[]){1, 129 + cr_below(m, 40), 2}, 1);
    do
        shape[1] = tokens[cr_below(m, 11)];
    while (batch * shape[1] > m->budget);
    width = m->budget / (batch * shape[1]);
    shape[2] = 1 + cr_below(m, width < 70 ? width : 70);
    return cr_make_leaf(m, CR_OP_input, 3, shape, 1);
}

cr_id cr_random_leaf(struct cr_maker *m)
{
    int64_t shape[CR_MAX_RANK];
    if (cr_chance(m, 35))
        return cr_model_leaf(m);
    int rank = cr_random_shape(m, 6, shape);
    return cr_make_leaf(m, cr_chance(m, 80) ? CR_OP_input : CR_OP_param, rank, shape, 1);
}

/* Makes a leaf with some axes of x, the others missing or of size 1, and broadcasts it to the shape of x. */
cr_id cr_make_broadcast(struct cr_maker *m, cr_id x, bool integers)
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

/* Returns a random value of x's shape, or CR_NONE. */
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

/* Broadcasts a random value of another shape to x's shape, or returns CR_NONE. */
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
    return id == CR_NONE ? cr_make_broadcast(m, x, false) : id;
}

cr_id cr_make_matrix(struct cr_maker *m, cr_id x)
{
    const struct cr_node *node = cr_node_of(m, x);
    int64_t n = cr_elements(node->rank, node->shape);
    if (node->rank >= 2)
        return x;
    return cr_make_reshape(m, x, 2, cr_chance(m, 50) ? (int64_t[]){1, n} : (int64_t[]){n, 1});
}
