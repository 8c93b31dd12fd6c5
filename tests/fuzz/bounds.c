#include "bounds.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/eval.h"
#include "compiler/ir/mem.h"
#include "runtime/philox.h"

/* The relative error of an operation or function of the runtime, and the absolute error near 0. */
static const double unit = 0x1p-23, tiny = 1e-37;

/* A node being evaluated. */
struct evaluation {
    const struct cr_graph *g;
    const struct cr_node *node;
    const cr_id *in;
    struct cr_bounds *all, *out;
    int64_t n;
    bool exact;         /* nothing is rounded */
    cr_evaluator *eval; /* whether the op is elementwise or a reduction */
};

static const struct cr_node *operand(const struct evaluation *e, int i)
{
    return &e->g->nodes[e->in[i]];
}

static const struct cr_bounds *bounds_of(const struct evaluation *e, int i)
{
    return &e->all[e->in[i]];
}

/* Computes the index of element i along every axis. */
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

/* Returns the error of an element that is rounded to float; infinite if it may overflow. */
static double stored(const struct cr_node *node, double value, double error)
{
    if (isnan(error))
        return INFINITY;
    if (node->dtype == CR_F32 && isfinite(value) && fabs(value) + error > (double)FLT_MAX)
        return INFINITY;
    return node->dtype == CR_I32 && error > 0 ? INFINITY : error; /* it may wrap */
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
            e->out->error[i] = stored(node, node->value, e->out->error[i]);
        } else if (node->op == CR_OP_iota) {
            index_of(node, i, index);
            e->out->value[i] = (double)index[node->axis];
        } else {
            e->out->value[i] = node->dtype == CR_I32 ? ((const int32_t *)data)[i]
                                                     : (double)((const float *)data)[i];
            e->out->error[i] = stored(node, e->out->value[i], 0);
        }
    }
}

/* ---- elementwise ---- */

/* True if the result of an op is a boolean or one of its operands, so that it has no error of its own. */
static bool is_closed(enum cr_rule rule)
{
    return rule == CR_RULE_COMPARE || rule == CR_RULE_LOGIC || rule == CR_RULE_SELECT;
}

/* Returns an end of an interval, clamped to the range of the operand's type. */
static double as_operand(const struct cr_node *node, double x)
{
    return node->dtype == CR_I32 ? fmin(fmax(x, INT32_MIN), INT32_MAX) : x;
}

/* Returns how far the op's value moves when each operand goes to either end of its interval. */
static double spread(const struct evaluation *e, int64_t i, const double *a, double value)
{
    if ((e->node->op == CR_OP_add || e->node->op == CR_OP_sub) && isfinite(value))
        return bounds_of(e, 0)->error[i] + bounds_of(e, 1)->error[i];
    if (e->node->op == CR_OP_mul && isfinite(value)) {
        double da = bounds_of(e, 0)->error[i], db = bounds_of(e, 1)->error[i];
        return fabs(a[0]) * db + da * (fabs(a[1]) + db);
    }
    double most = 0, corner[3] = {0};
    for (int ends = 0; ends < 1 << e->node->n_in; ends++) {
        for (int j = 0; j < e->node->n_in; j++) {
            double error = bounds_of(e, j)->error[i];
            corner[j] = as_operand(operand(e, j), a[j] + (ends >> j & 1 ? error : -error));
        }
        most = fmax(most, distance(e->eval(e->node->op, corner[0], corner[1], corner[2]), value));
    }
    return most;
}

/* A select has the error of the chosen operand; of both, if the condition is uncertain. */
static double choice_error(const struct evaluation *e, int64_t i, const double *a, double value)
{
    const struct cr_bounds *b = bounds_of(e, 1), *c = bounds_of(e, 2);
    if (!(bounds_of(e, 0)->error[i] > 0))
        return a[0] != 0 ? b->error[i] : c->error[i];
    return fmax(distance(b->value[i], value) + b->error[i],
                distance(c->value[i], value) + c->error[i]);
}

/* True if the interval of a / b contains an integer, so that floor may give two results. */
static bool may_jump(const struct evaluation *e, int64_t i, const double *a)
{
    double da = bounds_of(e, 0)->error[i], db = bounds_of(e, 1)->error[i];
    double q = a[0] / a[1], dq = (da + fabs(q) * db) / fmax(fabs(a[1]) - db, 0);
    return !(fabs(q - rint(q)) > dq);
}

/* True if rounding errors decide whether a power is NaN: the base may be negative, and the exponent is uncertain. */
static bool may_be_whole(const struct evaluation *e, int64_t i, const double *a)
{
    double db = bounds_of(e, 1)->error[i];
    return a[0] - bounds_of(e, 0)->error[i] < 0 && db > 0 && floor(a[1] + db) >= a[1] - db;
}

/* Returns the result's error, given the operands' errors; `error` is their sum, and above 0. */
static double carried(const struct evaluation *e, int64_t i, const double *a, double value,
                      double error)
{
    enum cr_rule rule = cr_ops[e->node->op].rule;
    if (rule == CR_RULE_SELECT)
        return choice_error(e, i, a, value);
    if (rule == CR_RULE_COMPARE) { /* with errors, equal numbers may compare either way */
        bool apart = distance(a[0], a[1]) > error;
        bool same = e->in[0] == e->in[1] && isfinite(error);
        return apart || same ? 0 : 1;
    }
    if (rule == CR_RULE_LOGIC)
        return fmin(1, spread(e, i, a, value));
    bool divides = e->node->op == CR_OP_div || e->node->op == CR_OP_remainder ||
                   e->node->op == CR_OP_floor_divide;
    if (isinf(error) || (divides && !(fabs(a[1]) > bounds_of(e, 1)->error[i])))
        return INFINITY;
    if (e->node->op == CR_OP_sin || e->node->op == CR_OP_cos) /* angles may differ by a full turn */
        return fmin(2, error);
    if (e->node->op == CR_OP_pow && may_be_whole(e, i, a))
        return INFINITY;
    if (e->node->op == CR_OP_remainder) /* it jumps by b */
        return fmax(spread(e, i, a, value),
                    may_jump(e, i, a) ? fabs(a[1]) + bounds_of(e, 1)->error[i] : 0);
    return spread(e, i, a, value);
}

/*
 * True if the result is infinite and no operand is: by overflow, which another order of operations
 * may avoid, or at a pole, where the sign of a zero decides.  log(0) is neither.
 */
static bool is_pole(const struct evaluation *e, const double *a, double value)
{
    if (!isinf(value) || e->node->op == CR_OP_log || is_closed(cr_ops[e->node->op].rule))
        return false;
    for (int j = 0; j < e->node->n_in; j++)
        if (!isfinite(a[j]))
            return e->node->op == CR_OP_div && a[1] == 0;
    return true;
}

/* An additive mask of -inf may hide NaN and +inf, although their sum with -inf is NaN. */
static bool is_masked(enum cr_op op, const double *a)
{
    return op == CR_OP_add &&
           ((a[0] == -INFINITY && !(a[1] < INFINITY)) || (a[1] == -INFINITY && !(a[0] < INFINITY)));
}

/* Returns the operand of a broadcast, or the node itself. */
static const struct cr_node *beneath_expand(const struct cr_graph *g, const struct cr_node *node)
{
    return node->op == CR_OP_expand ? &g->nodes[cr_inputs(g, node)[0]] : node;
}

/* The denominator of a softmax with a sink, sum(exp(s - m)) + exp(sink - m), where m is -inf: NaN
 * and inf, but where the kernel shifts by the sink, too, it is finite. */
static bool is_sink_alone(const struct evaluation *e, const double *a)
{
    for (int j = 0; j < 2 && e->node->op == CR_OP_add; j++)
        if (isnan(a[j]) && beneath_expand(e->g, operand(e, j))->op == CR_OP_sum &&
            a[1 - j] == INFINITY && beneath_expand(e->g, operand(e, 1 - j))->op == CR_OP_exp)
            return true;
    return false;
}

static void add_elementwise(struct evaluation *e)
{
    e->eval = cr_evaluator_of(e->node->op, e->node->dtype);
    bool rounds = !is_closed(cr_ops[e->node->op].rule) && e->node->dtype == CR_F32 && !e->exact;
    for (int64_t i = 0; i < e->n; i++) {
        double a[3] = {0}, error = 0, value;
        for (int j = 0; j < e->node->n_in; j++) {
            a[j] = bounds_of(e, j)->value[i];
            error += bounds_of(e, j)->error[i];
        }
        e->out->value[i] = value = e->eval(e->node->op, a[0], a[1], a[2]);
        bool unknown = is_pole(e, a, value) || is_masked(e->node->op, a) || is_sink_alone(e, a);
        error = unknown ? INFINITY : error > 0 ? carried(e, i, a, value, error) : 0;
        if (rounds && e->node->op == CR_OP_floor_divide && isfinite(value)) {
            double q = a[0] / a[1]; /* floor is applied to the rounded quotient */
            error = fmax(error, fabs(q - rint(q)) <= 2 * unit * fabs(q) + tiny ? 1 : 0);
        }
        if (rounds && isfinite(value))
            error += 2 * unit * fabs(value) + tiny;
        e->out->error[i] = stored(e->node, value, error);
    }
}

/* ---- reductions and products ---- */

/* Returns the error of a sum: `carried` is the error of its terms, `size` their total magnitude.  A
 * sum that is certainly infinite has no error. */
static double sum_error(double value, double carried, double size, double rounding)
{
    double error = carried + (rounding > 0 ? rounding * size + tiny : 0);
    if (isfinite(value) || !isfinite(carried))
        return error;
    return size < (double)FLT_MAX ? 0 : INFINITY; /* a finite sum stays finite */
}

/* Adds an element to a reduction; *picks stays true while the result equals one of the elements. */
static double combine(const struct evaluation *e, double so_far, double x, bool *picks)
{
    double result = e->eval(e->node->op, so_far, x, 0);
    *picks &= distance(result, so_far) == 0 || distance(result, x) == 0;
    return result;
}

/* Bounds a reduction: the error is finite for a sum, for a reduction that selects one of its
 * elements, and for i32; for others it is infinite. */
static void add_reduce(struct evaluation *e)
{
    const struct cr_node *in = operand(e, 0);
    const struct cr_bounds *a = bounds_of(e, 0);
    int64_t index[CR_MAX_RANK], step = 1, extent = in->shape[e->node->axis];
    bool sum = e->node->op == CR_OP_sum;
    double start = cr_identity(e->node->op, e->node->dtype),
           rounding = e->node->dtype == CR_F32 && !e->exact ? (sqrt((double)extent) + 2) * unit : 0;
    e->eval = cr_evaluator_of(e->node->op, e->node->dtype);
    for (int axis = in->rank - 1; axis > e->node->axis; axis--)
        step *= in->shape[axis];
    for (int64_t i = 0; i < e->n; i++) {
        double value = start, low = start, high = start, size = 0, carried = 0;
        bool picks = true;
        index_of(e->node, i, index);
        int64_t at = position(in, index);
        for (int64_t j = 0; j < extent; j++, at += step) {
            double x = a->value[at], error = a->error[at];
            value = combine(e, value, x, &picks);
            low = combine(e, low, as_operand(in, x - error), &picks);
            high = combine(e, high, as_operand(in, x + error), &picks);
            carried += error;
            size += isfinite(x) ? fabs(x) : 0;
        }
        double error = sum ? sum_error(value, carried, size, rounding)
                       : isinf(carried) || (!picks && e->node->dtype == CR_F32)
                           ? INFINITY
                           : fmax(distance(low, value), distance(high, value));
        if (sum && e->node->dtype == CR_F32 && size > (double)FLT_MAX)
            error = INFINITY;
        e->out->value[i] = value;
        e->out->error[i] = stored(e->node, value, error);
    }
}

/* A bound on an element of a matrix product. */
struct dot {
    double value, error, size;
    bool unsure; /* some term may be infinite */
};

static void add_term(struct dot *dot, double x, double dx, double y, double dy)
{
    double term = x * y;
    dot->value += term;
    if (isfinite(term)) {
        dot->size += fabs(term);
        dot->error += fabs(x) * dy + dx * (fabs(y) + dy);
        return;
    }
    dot->unsure |= !isfinite(dx) || !isfinite(dy) || (isfinite(x) && !(fabs(x) > dx) && dx > 0) ||
                   (isfinite(y) && !(fabs(y) > dy) && dy > 0);
}

/* Sums of numbers up to this do not overflow in fused attention, which sums before it divides. */
static const double summable = 1e30;

static bool all_finite(const struct cr_bounds *b, const struct cr_node *node)
{
    double sum = 0;
    for (int64_t i = 0; i < cr_elements(node->rank, node->shape); i++)
        sum += 0 * b->value[i] + 0 * b->error[i];
    return sum == 0;
}

static bool is_summable(const struct cr_bounds *b, const struct cr_node *node)
{
    bool good = true;
    for (int64_t i = 0; i < cr_elements(node->rank, node->shape); i++)
        good &= !(fabs(b->value[i]) > summable) || isinf(b->value[i]);
    return good;
}

/* Computes such a bound for finite operands. */
static struct dot finite_dot(int64_t K, const double *x, const double *dx, const double *y,
                             const double *dy, int64_t step)
{
    struct dot dot = {0};
    for (int64_t k = 0; k < K; k++) {
        double a = fabs(x[k]), b = fabs(y[k * step]);
        dot.value += x[k] * y[k * step];
        dot.size += a * b;
        dot.error += a * dy[k * step] + dx[k] * (b + dy[k * step]);
    }
    return dot;
}

/* True if a product of weights may be computed as two attentions, because the weights are a sum of
 * two softmaxes: then infinite values or factors may give NaN in place of infinity, or infinity in
 * place of NaN. */
static bool may_be_split(const struct cr_node *weights)
{
    return weights->op == CR_OP_add || weights->op == CR_OP_sub || weights->op == CR_OP_fma;
}

static void add_contract(struct evaluation *e)
{
    const struct cr_node *a = operand(e, 0), *b = operand(e, 1);
    const struct cr_bounds *x = bounds_of(e, 0), *y = bounds_of(e, 1);
    int64_t K = a->shape[a->rank - 1], N = b->shape[b->rank - 1], M = a->shape[a->rank - 2];
    double rounding = e->exact ? 0 : (sqrt((double)K) + 2) * unit;
    bool finite = all_finite(x, a) && all_finite(y, b);
    bool known = is_summable(x, a) && is_summable(y, b);
    for (int64_t i = 0; i < e->n; i++) {
        const int64_t row = i / N * K, column = i / (M * N) * K * N + i % N;
        struct dot dot = {0};
        if (finite)
            dot = finite_dot(K, x->value + row, x->error + row, y->value + column,
                             y->error + column, N);
        for (int64_t k = 0; k < K && !finite; k++) {
            int64_t p = row + k, q = column + k * N;
            add_term(&dot, x->value[p], x->error[p], y->value[q], y->error[q]);
        }
        double error = sum_error(dot.value, dot.error, dot.size, rounding);
        if (!known || dot.unsure || dot.size > (double)FLT_MAX ||
            (!isfinite(dot.value) && may_be_split(a)))
            error = INFINITY;
        e->out->value[i] = dot.value;
        e->out->error[i] = stored(e->node, dot.value, error);
    }
}

/* ---- movement ops: an element is one element of an operand ---- */

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
            if (node->op == CR_OP_detach || node->op == CR_OP_limit)
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
        if (bounds_of(e, 1)->error[i / width] > 0)
            e->out->error[i] = INFINITY;
        else if (row >= 0 && row < (double)table->shape[0])
            take(e, i, 0, (int64_t)row * width + i % width);
        else
            e->out->value[i] = e->node->dtype == CR_I32 ? INT32_MIN : NAN;
    }
}

static void add_take(struct evaluation *e)
{
    const struct cr_node *a = operand(e, 0);
    int axis = e->node->axis;
    int64_t n = e->node->shape[axis], from = a->shape[axis];
    int64_t inner = cr_elements(a->rank - axis - 1, a->shape + axis + 1);
    for (int64_t i = 0; i < e->n; i++) {
        double at = bounds_of(e, 1)->value[i];
        if (bounds_of(e, 1)->error[i] > 0)
            e->out->error[i] = INFINITY;
        else if (at >= 0 && at < (double)from)
            take(e, i, 0, (i / inner / n * from + (int64_t)at) * inner + i % inner);
        else
            e->out->value[i] = e->node->dtype == CR_I32 ? INT32_MIN : NAN;
    }
}

/* Bounds an element of scatter_add as a sum over the rows that have its index. */
static void add_scatter(struct evaluation *e)
{
    const struct cr_node *index = operand(e, 1);
    const struct cr_bounds *rows = bounds_of(e, 0);
    int64_t n = cr_elements(index->rank, index->shape), width = e->n / e->node->shape[0];
    double rounding = (sqrt((double)n) + 2) * unit;
    bool somewhere = false; /* an index may be another */
    for (int64_t i = 0; i < n; i++) {
        double row = bounds_of(e, 1)->value[i];
        somewhere |= bounds_of(e, 1)->error[i] > 0;
        if (!(row >= 0 && row < (double)e->node->shape[0]))
            continue;
        for (int64_t j = 0; j < width; j++) {
            int64_t to = (int64_t)row * width + j, from = i * width + j;
            e->out->value[to] += rows->value[from];
            e->out->error[to] += rows->error[from] + (e->exact ? 0 : tiny);
            if (isfinite(rows->value[from]))
                e->out->error[to] += e->exact ? 0 : rounding * fabs(rows->value[from]);
        }
    }
    for (int64_t i = 0; i < e->n; i++) {
        bool sure = !somewhere && e->out->error[i] / rounding < (double)FLT_MAX;
        e->out->error[i] = sure ? stored(e->node, e->out->value[i], e->out->error[i]) : INFINITY;
    }
}

/* Bounds a running sum: an element is the sum of the elements up to it. */
static void add_scan(struct evaluation *e)
{
    const struct cr_node *node = e->node;
    const struct cr_bounds *a = bounds_of(e, 0);
    int64_t step = cr_elements(node->rank - node->axis - 1, node->shape + node->axis + 1);
    int64_t n = node->shape[node->axis];
    double rounding = node->dtype == CR_F32 && !e->exact ? unit : 0;
    e->eval = cr_evaluator_of(CR_OP_add, node->dtype);
    for (int64_t way = 0; way < e->n / n; way++) {
        int64_t first = way / step * step * n + way % step, next = step;
        double size = 0, carried = 0, value = 0;
        if (node->index[0])
            first += (n - 1) * step, next = -step;
        for (int64_t i = 0, at = first; i < n; i++, at += next) {
            value = i ? e->eval(CR_OP_add, value, a->value[at], 0) : a->value[at];
            carried += a->error[at];
            size += isfinite(a->value[at]) ? fabs(a->value[at]) : 0;
            double error = sum_error(value, carried, size, i ? (double)(i + 1) * rounding : 0);
            if (node->dtype == CR_F32 && size > (double)FLT_MAX)
                error = INFINITY;
            e->out->value[at] = value;
            e->out->error[at] = stored(node, value, error);
        }
    }
}

/* Bounds an element of write: from the written rows if one has its index, else from the old value. */
static void add_write(struct evaluation *e)
{
    const struct cr_node *rows = &e->g->nodes[e->in[1]];
    int axis = e->node->axis;
    int64_t width = cr_elements(rows->rank - axis - 1, rows->shape + axis + 1);
    int64_t n = rows->shape[axis], at = (int64_t)bounds_of(e, 2)->value[0];
    memcpy(e->out->value, bounds_of(e, 0)->value, (size_t)e->n * sizeof(double));
    memcpy(e->out->error, bounds_of(e, 0)->error, (size_t)e->n * sizeof(double));
    for (int64_t i = 0; i < cr_elements(rows->rank, rows->shape); i++) {
        int64_t block = i / (n * width), row = i / width % n + at;
        int64_t to = (block * e->node->shape[axis] + row) * width + i % width;
        if (row < 0 || row >= e->node->shape[axis])
            continue;
        e->out->value[to] = bounds_of(e, 1)->value[i];
        e->out->error[to] = bounds_of(e, 1)->error[i];
    }
    for (int64_t i = 0; i < e->n && bounds_of(e, 2)->error[0] > 0; i++)
        e->out->error[i] = INFINITY;
}

static void add_random(struct evaluation *e)
{
    uint64_t seed = (uint64_t)(int64_t)bounds_of(e, 0)->value[0];
    for (int64_t i = 0; i < e->n; i++)
        e->out->value[i] = (double)cr_philox_uniform(seed, (uint64_t)e->node->value, (uint64_t)i);
    for (int64_t i = 0; i < e->n && bounds_of(e, 0)->error[0] > 0; i++)
        e->out->error[i] = INFINITY;
}

/* ---- all ---- */

static void evaluate(const struct cr_graph *g, cr_id id, const void *data, struct cr_bounds *all,
                     bool exact)
{
    const struct cr_node *node = &g->nodes[id];
    struct evaluation e = {g,     node,     cr_inputs(g, node),
                           all,   &all[id], cr_elements(node->rank, node->shape),
                           exact, NULL};
    e.out->value = cr_calloc((size_t)e.n * 2, sizeof(double));
    e.out->error = e.out->value + e.n;
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
    case CR_KIND_CONCAT:
        add_join(&e);
        break;
    case CR_KIND_GATHER:
        add_gather(&e);
        break;
    case CR_KIND_TAKE:
        add_take(&e);
        break;
    case CR_KIND_SCATTER:
        add_scatter(&e);
        break;
    case CR_KIND_WRITE:
        add_write(&e);
        break;
    case CR_KIND_EXCHANGE:
    case CR_KIND_RANDOM:
        add_random(&e);
        break;
    case CR_KIND_SCAN:
        add_scan(&e);
        break;
    }
}

void cr_bounds_add(const struct cr_graph *g, cr_id id, const void *data, struct cr_bounds *all)
{
    evaluate(g, id, data, all, false);
}

void cr_bounds_add_exact(const struct cr_graph *g, cr_id id, const void *data,
                         struct cr_bounds *all)
{
    evaluate(g, id, data, all, true);
}

void cr_bounds_free(struct cr_bounds *bounds)
{
    free(bounds->value);
    *bounds = (struct cr_bounds){0};
}

bool cr_bounds_hold(const struct cr_bounds *bounds, int64_t i, double result, double scale)
{
    double error = bounds->error[i];
    return isinf(error) || distance(result, bounds->value[i]) <= scale * error;
}
