/* error_bounds.c - computes error bounds of rounding; see error_bounds.h. */
#include "error_bounds.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "rounded_rows.h"

/* ---- bounds that are 0 ---- */

int cr_bound_nothing(struct cr_interpreter *b, struct cr_view *out)
{
    memset(out->stride, 0, sizeof out->stride);
    if (cr_view_own(b, out, 1))
        return -1;
    out->data[0] = 0;
    return 0;
}

static bool is_nothing(const struct cr_view *view, int rank)
{
    for (int i = 0; i < rank; i++)
        if (view->stride[i])
            return false;
    return view->data[0] == 0;
}

/* True if the bounds of all operands are 0. */
static bool are_exact(const struct cr_interpreter *b, const struct cr_node *node)
{
    for (int i = 0; i < node->n_in; i++) {
        cr_id in = cr_inputs(b->graph, node)[i];
        if (!is_nothing(&b->values[in], b->graph->nodes[in].rank))
            return false;
    }
    return true;
}

/* ---- elementwise ops ---- */

/* Returns the error that an op adds to an f32 result, in units of rounding (CR_UNIT): more if the
 * runtime approximates the op. */
static int units_of(enum cr_op op)
{
    switch (op) {
    case CR_OP_neg:
    case CR_OP_abs:
    case CR_OP_floor:
    case CR_OP_round:
    case CR_OP_maximum:
    case CR_OP_minimum:
    case CR_OP_where:
        return 0;
    case CR_OP_add:
    case CR_OP_sub:
    case CR_OP_mul:
    case CR_OP_div:
    case CR_OP_fma:
    case CR_OP_sqrt:
    case CR_OP_float:
        return 1;
    default:
        return 8;
    }
}

/* Returns the distance by which the result changes if the operands move to the given corner of
 * their error intervals. */
static double apart_at(const struct cr_row_walk *walk, double value, const double *at)
{
    double moved = walk->eval(walk->op, at[0], at[1], at[2]);
    if (moved == value || (isnan(moved) && isnan(value)))
        return 0;
    double apart = fabs(moved - value);
    return isnan(apart) ? INFINITY : apart;
}

/* Returns the largest change of the result over all corners of the operands' error intervals;
 * that is exact for ops that are monotone in each operand.  Division by an interval that contains
 * 0, sin and cos have separate rules. */
static double from_operands(const struct cr_row_walk *walk, double value, const double *x,
                            const double *bound)
{
    int arity = cr_ops[walk->op].arity;
    double worst = 0, at[3];
    if (walk->op == CR_OP_div && bound[1] > 0 && !(bound[1] < fabs(x[1])))
        return INFINITY;
    if (walk->op == CR_OP_sin || walk->op == CR_OP_cos)
        return bound[0] < 2 ? bound[0] : 2;
    for (int corner = 0; corner < 1 << arity; corner++) {
        for (int j = 0; j < 3; j++)
            at[j] = corner >> j & 1 ? x[j] - bound[j] : x[j] + bound[j];
        double apart = apart_at(walk, value, at);
        worst = apart > worst ? apart : worst;
    }
    return worst;
}

/* Computes bounds for a row.  Operands of the walk, in order: the bound, the value, three
 * operands, their bounds. */
static void row_bound(const struct cr_row_walk *walk, int64_t n, double *const *at,
                      const int64_t *step)
{
    const struct cr_node *node = walk->context;
    int units = node->dtype == CR_F32 ? units_of(node->op) : 0;
    bool quotient = node->op == CR_OP_floor_divide || node->op == CR_OP_remainder;
    for (int64_t i = 0; i < n; i++) {
        double x[3], bound[3], value = at[1][i * step[1]];
        for (int j = 0; j < 3; j++) {
            x[j] = at[2 + j][i * step[2 + j]];
            bound[j] = at[5 + j][i * step[5 + j]];
        }
        if (quotient && node->dtype == CR_F32)
            bound[0] +=
                2 * CR_UNIT * fabs(x[0]); /* rounding may carry the quotient past an integer */
        double sum = bound[0] != 0 || bound[1] != 0 || bound[2] != 0
                         ? from_operands(walk, value, x, bound)
                         : 0;
        if (units && isfinite(value))
            sum += units * (CR_UNIT * fabs(value) + (double)FLT_MIN);
        at[0][i * step[0]] = sum;
    }
}

/* Bounds an elementwise op: by 0 if the operands are exact and the op does not round, else
 * element by element. */
static int bound_elementwise(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                             struct cr_view *out)
{
    const struct cr_node *node = &b->graph->nodes[id];
    static const int64_t still[CR_MAX_RANK];
    double zero = 0;
    if (are_exact(b, node) && (node->dtype != CR_F32 || !units_of(node->op)))
        return cr_bound_nothing(b, out);
    if (cr_view_own_all(b, out, node))
        return -1;
    struct cr_row_walk walk = {.op = node->op,
                               .eval = cr_evaluator_of(node->op, node->dtype),
                               .rank = node->rank,
                               .shape = node->shape,
                               .n = CR_WALK_OPERANDS,
                               .data = {out->data, of->values[id].data},
                               .stride = {out->stride, of->values[id].stride},
                               .context = (void *)node};
    for (int i = 0; i < 3; i++) {
        const cr_id in = i < node->n_in ? cr_inputs(b->graph, node)[i] : CR_NONE;
        walk.data[2 + i] = in < 0 ? &zero : of->values[in].data;
        walk.stride[2 + i] = in < 0 ? still : of->values[in].stride;
        walk.data[5 + i] = in < 0 ? &zero : b->values[in].data;
        walk.stride[5 + i] = in < 0 ? still : b->values[in].stride;
    }
    cr_walk_rows(&walk, row_bound);
    return 0;
}

/* ---- sums ---- */

struct spread {
    double factor, more;
};

static void row_spread(const struct cr_row_walk *walk, int64_t n, double *const *at,
                       const int64_t *step)
{
    const struct spread *s = walk->context;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs(at[1][i * step[1]]), bound = at[2][i * step[2]];
        at[0][i * step[0]] = (s->factor != 0 ? s->factor * size : 0) + (s->more != 0 ? bound : 0);
    }
}

/* Writes for each element x of node `id` factor * |x|, plus the bound of x unless how.more is 0,
 * to a new buffer. */
static int spread(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                  struct spread how, struct cr_view *out)
{
    const struct cr_node *node = &b->graph->nodes[id];
    if (cr_view_own_all(b, out, node))
        return -1;
    struct cr_row_walk walk = {.rank = node->rank,
                               .shape = node->shape,
                               .n = 3,
                               .data = {out->data, of->values[id].data, b->values[id].data},
                               .stride = {out->stride, of->values[id].stride, b->values[id].stride},
                               .context = &how};
    cr_walk_rows(&walk, row_spread);
    return 0;
}

/* Computes a node by the interpreter, with `instead` in place of the value of `operand`. */
static int compute_with(struct cr_interpreter *b, cr_id id, cr_id operand,
                        const struct cr_view *instead, struct cr_view *out)
{
    struct cr_view kept = b->values[operand];
    b->values[operand] = *instead;
    int status = cr_interpreter_compute(b, id, out);
    b->values[operand] = kept;
    return status;
}

/* Bounds a sum of n terms in any order: the sum of the terms' bounds, plus n units of the sum of
 * their magnitudes. */
static int bound_sum(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                     int64_t terms, struct cr_view *out)
{
    struct cr_view operand = {0};
    bool rounds = b->graph->nodes[id].dtype == CR_F32 && terms > 1;
    int status = spread(b, of, cr_in(b->graph, id, 0),
                        (struct spread){rounds ? (double)terms * CR_UNIT : 0, 1}, &operand) ||
                 compute_with(b, id, cr_in(b->graph, id, 0), &operand, out);
    cr_view_drop(b, &operand);
    return status ? -1 : 0;
}

/* Bounds an op that selects one of several elements, such as a maximum: by the largest bound of
 * these elements. */
static int bound_choice(struct cr_interpreter *b, cr_id id, struct cr_view *out)
{
    struct cr_node *node = (struct cr_node *)&b->graph->nodes[id];
    enum cr_op op = node->op;
    node->op = CR_OP_max;
    int status = cr_interpreter_compute(b, id, out);
    node->op = op;
    return status;
}

static int bound_reduce(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                        struct cr_view *out)
{
    const struct cr_node *node = &b->graph->nodes[id];
    int64_t terms = b->graph->nodes[cr_in(b->graph, id, 0)].shape[node->axis];
    if (node->op == CR_OP_sum)
        return bound_sum(b, of, id, terms, out);
    return are_exact(b, node) ? cr_bound_nothing(b, out) : bound_choice(b, id, out);
}

/* ---- products ---- */

struct widest {
    double size;
    bool moved;
};

static void row_widest(const struct cr_row_walk *walk, int64_t n, double *const *at,
                       const int64_t *step)
{
    struct widest *w = walk->context;
    for (int64_t i = 0; i < n; i++) {
        w->size = fmax(w->size, fabs(at[1][i * step[1]]));
        w->moved |= at[2][i * step[2]] != 0;
    }
}

/* Returns the largest jump that rounding the left operand to an arithmetic can make if that
 * operand is not exact: one rounding step of the row with the largest element. */
static double step_of_rows(const struct cr_interpreter *b, const struct cr_interpreter *of,
                           enum cr_arithmetic arithmetic, cr_id id)
{
    const struct cr_node *node = &b->graph->nodes[id];
    struct widest w = {0};
    const struct cr_row_walk walk = {
        .rank = node->rank,
        .shape = node->shape,
        .n = 3,
        .data = {of->values[id].data, of->values[id].data, b->values[id].data},
        .stride = {of->values[id].stride, of->values[id].stride, b->values[id].stride},
        .context = &w};
    if (arithmetic == CR_ARITHMETIC_f32)
        return 0;
    cr_walk_rows(&walk, row_widest);
    return w.moved ? w.size / 127 : 0;
}

static void row_add(const struct cr_row_walk *walk, int64_t n, double *const *at,
                    const int64_t *step)
{
    const double *number = walk->context;
    for (int64_t i = 0; i < n; i++)
        at[0][i * step[0]] += walk->n > 1 ? at[1][i * step[1]] : *number;
}

/* Adds a view, or `number` if `view` is null, to each element of *to, which has a buffer of its
 * own. */
static void add(const struct cr_node *node, struct cr_view *to, const struct cr_view *view,
                double number)
{
    struct cr_row_walk walk = {.rank = node->rank,
                               .shape = node->shape,
                               .n = view ? 2 : 1,
                               .data = {to->data, view ? view->data : NULL},
                               .stride = {to->stride, view ? view->stride : NULL},
                               .context = &number};
    cr_walk_rows(&walk, row_add);
}

/* Computes node `id` with each operand replaced by its `spread` as given by how[i].  Both
 * operands may be one node. */
static int product(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                   const struct spread how[2], double step, struct cr_view *out)
{
    cr_id ids[2] = {cr_in(b->graph, id, 0), cr_in(b->graph, id, 1)};
    struct cr_view operands[2] = {{0}, {0}}, kept[2] = {b->values[ids[0]], b->values[ids[1]]};
    int status = 0;
    for (int i = 0; i < 2 && !status; i++)
        status = spread(b, of, ids[i], how[i], &operands[i]);
    if (!status && step > 0)
        add(&b->graph->nodes[ids[0]], &operands[0], NULL, step);
    for (int i = 0; i < 2 && !status; i++)
        b->values[ids[i]] = operands[i];
    status = status || cr_interpreter_compute(b, id, out);
    for (int i = 0; i < 2; i++) {
        b->values[ids[i]] = kept[i];
        cr_view_drop(b, &operands[i]);
    }
    return status ? -1 : 0;
}

/* Bounds a product of a node with itself, with elements x and bounds e: (|x| + e) (|x| + e) - |x|
 * |x|. */
static int bound_square(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                        double unit, struct cr_view *out)
{
    const struct spread more[2] = {{1 + unit, 1}, {1 + unit, 1}}, plain[2] = {{1, 0}, {1, 0}};
    struct cr_view less = {0};
    int status = product(b, of, id, more, 0, out) || product(b, of, id, plain, 0, &less);
    const struct cr_node *node = &b->graph->nodes[id];
    for (int64_t i = 0; !status && i < cr_elements(node->rank, node->shape); i++)
        out->data[i] -= less.data[i];
    cr_view_drop(b, &less);
    return status ? -1 : 0;
}

/* Bounds a product of operands a and b with bounds e and f: (unit |a| + e) |b|, plus (|a| + e) f
 * if b is not exact. */
static int bound_matmul(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                        struct cr_view *out)
{
    cr_id left = cr_in(b->graph, id, 0), right = cr_in(b->graph, id, 1);
    const struct cr_node *node = &b->graph->nodes[id], *nb = &b->graph->nodes[right];
    double unit = (double)(nb->shape[nb->rank - 2] + 4) * CR_UNIT;
    enum cr_arithmetic arithmetic = cr_arithmetic_of_operand(of->graph, right);
    double step = step_of_rows(b, of, arithmetic, left);
    struct cr_view more = {0};
    if (left == right)
        return bound_square(b, of, id, unit, out);
    if (product(b, of, id, (const struct spread[2]){{unit, 1}, {1, 0}}, step, out))
        return -1;
    if (is_nothing(&b->values[right], nb->rank))
        return 0;
    int status = product(b, of, id, (const struct spread[2]){{1, 1}, {0, 1}}, step, &more);
    if (!status)
        add(node, out, &more, 0);
    cr_view_drop(b, &more);
    return status;
}

/* ---- what moves elements ---- */

/* Bounds an op that has an index or offset operand.  If that operand is exact, the bounds are
 * moved like the elements; else every bound is infinite. */
static int bound_indexed(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                         int index, struct cr_view *out)
{
    const struct cr_node *node = &b->graph->nodes[id];
    cr_id in = cr_in(b->graph, id, index);
    if (is_nothing(&b->values[in], b->graph->nodes[in].rank))
        return compute_with(b, id, in, &of->values[in], out);
    if (cr_view_own_all(b, out, node))
        return -1;
    for (int64_t i = 0; i < cr_elements(node->rank, node->shape); i++)
        out->data[i] = INFINITY;
    return 0;
}

/* Bounds a scatter: each row of the table may be a sum of all rows. */
static int bound_scatter(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id,
                         struct cr_view *out)
{
    cr_id rows = cr_in(b->graph, id, 0), index = cr_in(b->graph, id, 1);
    const struct cr_node *ni = &b->graph->nodes[index];
    struct cr_view operand = {0}, kept = b->values[rows];
    double terms = (double)cr_elements(ni->rank, ni->shape);
    if (spread(b, of, rows, (struct spread){terms * CR_UNIT, 1}, &operand))
        return -1;
    b->values[rows] = operand;
    int status = bound_indexed(b, of, id, 1, out);
    b->values[rows] = kept;
    cr_view_drop(b, &operand);
    return status;
}

/* Bounds a leaf: 0, except for a constant that a float cannot represent, which is rounded where
 * it is used. */
static int bound_leaf(struct cr_interpreter *b, const struct cr_node *node, struct cr_view *out)
{
    if (cr_bound_nothing(b, out))
        return -1;
    if (node->op == CR_OP_const && node->dtype == CR_F32 && isfinite(node->value))
        out->data[0] = fabs(node->value - (double)(float)node->value);
    return 0;
}

int cr_bound_node(struct cr_interpreter *b, const struct cr_interpreter *of, cr_id id)
{
    const struct cr_node *node = &b->graph->nodes[id];
    struct cr_view *out = &b->values[id];
    switch (cr_ops[node->op].kind) {
    case CR_KIND_LEAF:
        return bound_leaf(b, node, out);
    case CR_KIND_ELEMENTWISE:
        return bound_elementwise(b, of, id, out);
    case CR_KIND_REDUCE:
        return bound_reduce(b, of, id, out);
    case CR_KIND_SCAN:
        return bound_sum(b, of, id, node->shape[node->axis], out);
    case CR_KIND_CONTRACT:
        return bound_matmul(b, of, id, out);
    case CR_KIND_SCATTER:
        return bound_scatter(b, of, id, out);
    case CR_KIND_GATHER:
    case CR_KIND_TAKE:
        return are_exact(b, node) ? cr_bound_nothing(b, out) : bound_indexed(b, of, id, 1, out);
    case CR_KIND_WRITE:
        return are_exact(b, node) ? cr_bound_nothing(b, out) : bound_indexed(b, of, id, 2, out);
    case CR_KIND_RANDOM:
        return cr_bound_nothing(b, out);
    default:
        return are_exact(b, node) ? cr_bound_nothing(b, out) : cr_interpreter_compute(b, id, out);
    }
}
