#include "support_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/eval.h"
#include "compiler/ir/mem.h"
#include "runtime/random.h"

/* Of one rounded operation, and of a function of the runtime, which is a little worse. */
static const double unit = 0x1p-23, tiny = 1e-37;

/* A node being evaluated. */
struct evaluation {
    const struct cr_graph *g;
    const struct cr_node *node;
    const cr_id *in;
    struct cr_bounds *all, *out;
    int64_t n;
};

static const struct cr_node *operand(const struct evaluation *e, int i)
{
    return &e->g->nodes[e->in[i]];
}

static const struct cr_bounds *bounds_of(const struct evaluation *e, int i)
{
    return &e->all[e->in[i]];
}

/* The index of element i along every axis. */
static void index_of(const struct cr_node *node, int64_t i, int64_t *index)
{
    for (int axis = node->rank - 1; axis >= 0; axis--) {
        index[axis] = i % node->shape[axis];
        i /= node->shape[axis];
    }
}

static int64_t position(const struct cr_node *node, const int64_t *index)
{
    int64_t at = 0;
    for (int axis = 0; axis < node->rank; axis++)
        at = at * node->shape[axis] + index[axis];
    return at;
}

static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double d = fabs(a - b);
    return isnan(d) ? INFINITY : d;
}

/* ---- leaves ---- */

static void add_leaf(struct evaluation *e, const void *data)
{
    const struct cr_node *node = e->node;
    int64_t index[CR_MAX_RANK];
    for (int64_t i = 0; i < e->n; i++) {
        if (node->op == CR_OP_const) {
            e->out->value[i] = node->value;
            e->out->error[i] = distance(node->value, (double)(float)node->value);
        } else if (node->op == CR_OP_iota) {
            index_of(node, i, index);
            e->out->value[i] = (double)index[node->axis];
        } else {
            e->out->value[i] = node->dtype == CR_I32 ? ((const int32_t *)data)[i]
                                                     : (double)((const float *)data)[i];
        }
    }
}

/* ---- elementwise ---- */

/* How far the op's value moves when each operand goes to either end of its interval. */
static double spread(const struct evaluation *e, int64_t i, const double *a, double value)
{
    double most = 0, corner[3] = {0};
    for (int ends = 0; ends < 1 << e->node->n_in; ends++) {
        for (int j = 0; j < e->node->n_in; j++) {
            double error = bounds_of(e, j)->error[i];
            corner[j] = a[j] + (ends >> j & 1 ? error : -error);
        }
        most = fmax(most, distance(cr_eval(e->node->op, corner[0], corner[1], corner[2]), value));
    }
    return most;
}

static void add_elementwise(struct evaluation *e)
{
    bool compares = cr_ops[e->node->op].rule == CR_RULE_COMPARE;
    cr_evaluator *eval = cr_evaluator_of(e->node->op, e->node->dtype);
    for (int64_t i = 0; i < e->n; i++) {
        double a[3] = {0}, error = 0, value;
        for (int j = 0; j < e->node->n_in; j++) {
            a[j] = bounds_of(e, j)->value[i];
            error += bounds_of(e, j)->error[i];
        }
        e->out->value[i] = value = eval(e->node->op, a[0], a[1], a[2]);
        if (error > 0)
            e->out->error[i] = spread(e, i, a, value);
        if (compares && error > 0 && !(distance(a[0], a[1]) > error))
            e->out->error[i] = 1; /* a tie may fall to either side */
        if (e->node->dtype == CR_F32 && isfinite(value))
            e->out->error[i] += 2 * unit * fabs(value) + tiny;
    }
}

/* ---- reductions and products ---- */

static void add_reduce(struct evaluation *e)
{
    const struct cr_node *in = operand(e, 0);
    const struct cr_bounds *a = bounds_of(e, 0);
    int64_t index[CR_MAX_RANK], extent = in->shape[e->node->axis];
    for (int64_t i = 0; i < e->n; i++) {
        double value, low, high, size = 0;
        enum cr_op fold = cr_reduction(e->node->op, e->node->dtype, &value);
        cr_evaluator *eval = cr_evaluator_of(fold, e->node->dtype);
        low = high = value;
        index_of(e->node, i, index);
        for (int64_t j = 0; j < extent; j++) {
            index[e->node->axis] = j;
            int64_t at = position(in, index);
            double x = a->value[at], error = a->error[at];
            value = eval(fold, value, x, 0);
            low = eval(fold, low, x - error, 0);
            high = eval(fold, high, x + error, 0);
            size += fabs(x);
        }
        e->out->value[i] = value;
        e->out->error[i] = fmax(distance(low, value), distance(high, value));
        if (e->node->op == CR_OP_sum && e->node->dtype == CR_F32)
            e->out->error[i] += (sqrt((double)extent) + 2) * unit * size + tiny;
    }
}

static void add_contract(struct evaluation *e)
{
    const struct cr_node *a = operand(e, 0), *b = operand(e, 1);
    const struct cr_bounds *x = bounds_of(e, 0), *y = bounds_of(e, 1);
    int64_t K = a->shape[a->rank - 1], N = b->shape[b->rank - 1], M = a->shape[a->rank - 2];
    double rounding = (sqrt((double)K) + 2) * unit;
    for (int64_t i = 0; i < e->n; i++) {
        const int64_t row = i / N * K, batch = i / (M * N);
        double value = 0, error = tiny;
        for (int64_t k = 0; k < K; k++) {
            int64_t p = row + k, q = (batch * K + k) * N + i % N;
            value += x->value[p] * y->value[q];
            error += fabs(x->value[p]) * (y->error[q] + rounding * fabs(y->value[q])) +
                     x->error[p] * (fabs(y->value[q]) + y->error[q]);
        }
        e->out->value[i] = value;
        e->out->error[i] = isnan(error) ? INFINITY : error;
    }
}

/* ---- movement: one element of an operand ---- */

static void take(struct evaluation *e, int64_t i, int from, int64_t at)
{
    e->out->value[i] = bounds_of(e, from)->value[at];
    e->out->error[i] = bounds_of(e, from)->error[at];
}

static void add_move(struct evaluation *e)
{
    const struct cr_node *node = e->node, *in = operand(e, 0);
    int64_t index[CR_MAX_RANK], below[CR_MAX_RANK];
    for (int64_t i = 0; i < e->n; i++) {
        index_of(node, i, index);
        for (int axis = 0; axis < in->rank; axis++) {
            if (node->op == CR_OP_detach)
                below[axis] = index[axis];
            if (node->op == CR_OP_slice)
                below[axis] = index[axis] + node->index[axis];
            if (node->op == CR_OP_expand)
                below[axis] = in->shape[axis] == 1 ? 0 : index[node->rank - in->rank + axis];
            if (node->op == CR_OP_permute)
                below[node->index[axis]] = index[axis];
        }
        take(e, i, 0, node->op == CR_OP_reshape ? i : position(in, below));
    }
}

static void add_join(struct evaluation *e)
{
    int64_t index[CR_MAX_RANK];
    for (int64_t i = 0; i < e->n; i++) {
        int from = 0;
        index_of(e->node, i, index);
        for (; index[e->node->axis] >= operand(e, from)->shape[e->node->axis]; from++)
            index[e->node->axis] -= operand(e, from)->shape[e->node->axis];
        take(e, i, from, position(operand(e, from), index));
    }
}

static void add_gather(struct evaluation *e)
{
    const struct cr_node *table = operand(e, 0);
    int64_t width = cr_elements(table->rank - 1, table->shape + 1);
    for (int64_t i = 0; i < e->n; i++) {
        double row = bounds_of(e, 1)->value[i / width];
        if (row >= 0 && row < (double)table->shape[0])
            take(e, i, 0, (int64_t)row * width + i % width);
        else
            e->out->value[i] = e->node->dtype == CR_I32 ? INT32_MIN : NAN;
    }
}

/* Like a sum over the rows that have this index. */
static void add_scatter(struct evaluation *e)
{
    const struct cr_node *index = operand(e, 1);
    const struct cr_bounds *rows = bounds_of(e, 0);
    int64_t n = cr_elements(index->rank, index->shape), width = e->n / e->node->shape[0];
    double rounding = (sqrt((double)n) + 2) * unit;
    for (int64_t i = 0; i < n; i++) {
        double row = bounds_of(e, 1)->value[i];
        if (!(row >= 0 && row < (double)e->node->shape[0]))
            continue;
        for (int64_t j = 0; j < width; j++) {
            int64_t to = (int64_t)row * width + j, from = i * width + j;
            e->out->value[to] += rows->value[from];
            e->out->error[to] += rows->error[from] + rounding * fabs(rows->value[from]) + tiny;
        }
    }
}

static void add_random(struct evaluation *e)
{
    uint64_t seed = (uint64_t)(int64_t)bounds_of(e, 0)->value[0];
    for (int64_t i = 0; i < e->n; i++)
        e->out->value[i] = (double)cr_random_uniform(seed, (uint64_t)e->node->value, (uint64_t)i);
}

/* ---- all ---- */

void cr_bounds_add(const struct cr_graph *g, cr_id id, const void *data, struct cr_bounds *all)
{
    const struct cr_node *node = &g->nodes[id];
    struct evaluation e = {g,   node,     cr_inputs(g, node),
                           all, &all[id], cr_elements(node->rank, node->shape)};
    e.out->value = cr_calloc((size_t)e.n, sizeof(double));
    e.out->error = cr_calloc((size_t)e.n, sizeof(double));
    switch (cr_ops[node->op].kind) {
    case CR_KIND_LEAF:
        add_leaf(&e, data);
        break;
    case CR_KIND_ELEMENTWISE:
        add_elementwise(&e);
        break;
    case CR_KIND_REDUCE:
        add_reduce(&e);
        break;
    case CR_KIND_CONTRACT:
        add_contract(&e);
        break;
    case CR_KIND_MOVE:
        add_move(&e);
        break;
    case CR_KIND_JOIN:
        add_join(&e);
        break;
    case CR_KIND_GATHER:
        add_gather(&e);
        break;
    case CR_KIND_SCATTER:
        add_scatter(&e);
        break;
    case CR_KIND_RANDOM:
        add_random(&e);
        break;
    }
}

void cr_bounds_free(struct cr_bounds *bounds)
{
    free(bounds->value);
    free(bounds->error);
    *bounds = (struct cr_bounds){0};
}

bool cr_bounds_hold(const struct cr_bounds *bounds, int64_t i, double result, double scale)
{
    double error = bounds->error[i];
    return isinf(error) || distance(result, bounds->value[i]) <= scale * error;
}
