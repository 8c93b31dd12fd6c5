/*
 * interpreter.c - the interpreter: computes each op in double precision, one node at a time.
 *
 * A value is a view: a reference-counted buffer and a stride for each axis.  Movement ops make
 * another view of the same buffer, a constant is one double with strides of 0, and an iota is one
 * row; only arithmetic allocates a new buffer.  A value is dropped after its last use.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/byte_text.h"
#include "compiler/ir/eval.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/shape_rules.h"
#include "exec.h"
#include "interpreter.h"
#include "rounded_rows.h"
#include "runtime/philox.h"
#include "tensor_memory.h"

/* ---- buffers and views ---- */

void cr_view_drop(struct cr_interpreter *in, struct cr_view *value)
{
    if (value->buffer && --value->buffer->uses == 0) {
        in->live_bytes -= value->buffer->bytes;
        free(value->buffer);
    }
    value->buffer = NULL;
}

/* Allocates a buffer for `count` elements that no other value shares. */
int cr_view_own(struct cr_interpreter *in, struct cr_view *value, int64_t count)
{
    int64_t bytes = (int64_t)sizeof(struct cr_view_buffer) + count * (int64_t)sizeof(double);
    if (cr_memory_check(in->live_bytes + bytes, "the interpreter", in->error))
        return -1;
    struct cr_view_buffer *buffer = malloc((size_t)bytes);
    if (!buffer)
        return cr_fail(in->error,
                       "the interpreter cannot allocate %s more, expected more free memory",
                       cr_byte_text(bytes).text);
    buffer->uses = 1;
    buffer->bytes = bytes;
    in->live_bytes += bytes;
    value->buffer = buffer;
    value->data = buffer->data;
    return 0;
}

static void share(struct cr_view *value, const struct cr_view *other)
{
    *value = *other;
    value->buffer->uses++;
}

/* Allocates a buffer for all elements of a node, row-major. */
int cr_view_own_all(struct cr_interpreter *in, struct cr_view *value, const struct cr_node *node)
{
    cr_row_major_strides(value->stride, node->rank, node->shape);
    return cr_view_own(in, value, cr_elements(node->rank, node->shape));
}

static bool is_row_major(const struct cr_view *value, int rank, const int64_t *shape)
{
    int64_t stride[CR_MAX_RANK];
    cr_row_major_strides(stride, rank, shape);
    for (int i = 0; i < rank; i++)
        if (shape[i] != 1 && value->stride[i] != stride[i])
            return false;
    return true;
}

static void copy(int rank, const int64_t *shape, double *to, const int64_t *to_stride, const struct cr_view *from)
{
    cr_copy_strided(rank, shape, to, to_stride, from->data, from->stride);
}

/* ---- elementwise ops, by their rows of the table ---- */

static void row_eval(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step)
{
    for (int64_t i = 0; i < n; i++)
        at[0][i * step[0]] =
            walk->eval(walk->op, at[1][i * step[1]], at[2][i * step[2]], at[3][i * step[3]]);
}

/* Operands that the op does not have are read as zeros, with strides of 0. */
static int do_elementwise(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    double zero = 0;
    static const int64_t still[CR_MAX_RANK];
    const cr_id *ids = cr_inputs(in->graph, node);
    if (cr_view_own_all(in, out, node))
        return -1;
    struct cr_row_walk walk = {.op = node->op,
                           .eval = cr_evaluator_of(node->op, node->dtype),
                           .rank = node->rank,
                           .shape = node->shape,
                           .n = 1 + node->n_in,
                           .data = {out->data, &zero, &zero, &zero},
                           .stride = {out->stride, still, still, still}};
    for (int i = 0; i < node->n_in; i++) {
        walk.data[i + 1] = in->values[ids[i]].data;
        walk.stride[i + 1] = in->values[ids[i]].stride;
    }
    cr_walk_rows(&walk, row_eval);
    return 0;
}

/* ---- leaves ---- */

static void widen(double *to, const void *from, bool integers, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = integers ? ((const int32_t *)from)[i] : (double)((const float *)from)[i];
}

static int do_border(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    int place = in->place[node - in->graph->nodes];
    const void *data = node->op == CR_OP_param ? in->params[place] : in->inputs[place];
    if (cr_view_own_all(in, out, node))
        return -1;
    widen(out->data, data, node->dtype == CR_I32, cr_elements(node->rank, node->shape));
    return 0;
}

static int do_literal(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    const struct cr_literal *literal = cr_literal_of(in->graph, node);
    if (cr_view_own_all(in, out, node))
        return -1;
    widen(out->data, literal->words, literal->dtype == CR_I32, literal->n);
    return 0;
}

static int do_const(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    memset(out->stride, 0, sizeof out->stride);
    if (cr_view_own(in, out, 1))
        return -1;
    out->data[0] = node->value;
    return 0;
}

static int do_iota(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    memset(out->stride, 0, sizeof out->stride);
    out->stride[node->axis] = 1;
    if (cr_view_own(in, out, node->shape[node->axis]))
        return -1;
    for (int64_t i = 0; i < node->shape[node->axis]; i++)
        out->data[i] = (double)i;
    return 0;
}

/* ---- reductions: folded over the axis in order; of one element, that element ---- */

/* Each element of the result starts as the reduction's initial value.  A stride of 0 along the
 * axis folds all elements of a row into it. */
static int do_reduce(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    cr_id id = cr_inputs(in->graph, node)[0];
    const struct cr_node *operand = &in->graph->nodes[id];
    if (operand->shape[node->axis] == 1) {
        share(out, &in->values[id]);
        return 0;
    }
    if (cr_view_own_all(in, out, node))
        return -1;
    int64_t n = cr_elements(node->rank, node->shape), stride[CR_MAX_RANK];
    double identity = cr_identity(node->op, node->dtype);
    for (int64_t i = 0; i < n; i++)
        out->data[i] = identity;
    memcpy(stride, out->stride, sizeof stride);
    stride[node->axis] = 0;
    struct cr_row_walk walk = {.op = node->op,
                           .eval = cr_evaluator_of(node->op, node->dtype),
                           .rank = operand->rank,
                           .shape = operand->shape,
                           .n = 2,
                           .data = {out->data, in->values[id].data},
                           .stride = {stride, in->values[id].stride}};
    cr_walk_rows(&walk, cr_row_fold);
    return 0;
}

/* ---- contraction ---- */

/* The operands of one matrix product c = a b: c is row-major, and the rows of b are contiguous. */
struct product {
    int64_t m, n, k;
    const double *a, *b;
    int64_t a_row, a_column, b_row;
    double *c;
};

/* Computes c = a b, four rows of b at a time, so that each row of c is loaded and stored a
 * quarter as often. */
static void multiply(const struct product *p)
{
    memset(p->c, 0, (size_t)(p->m * p->n) * sizeof(double));
    for (int64_t i = 0; i < p->m; i++) {
        const double *a = p->a + i * p->a_row;
        double *restrict c = p->c + i * p->n;
        int64_t k = 0;
        for (; k + 4 <= p->k; k += 4) {
            const double *b0 = p->b + k * p->b_row, *b1 = b0 + p->b_row;
            const double *b2 = b1 + p->b_row, *b3 = b2 + p->b_row;
            double a0 = a[k * p->a_column], a1 = a[(k + 1) * p->a_column];
            double a2 = a[(k + 2) * p->a_column], a3 = a[(k + 3) * p->a_column];
            for (int64_t j = 0; j < p->n; j++)
                c[j] = c[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
        }
        for (; k < p->k; k++)
            for (int64_t j = 0; j < p->n; j++)
                c[j] += a[k * p->a_column] * p->b[k * p->b_row + j];
    }
}

/* Returns the first element of matrix number `batch` of a value. */
static double *matrix_at(const struct cr_view *value, const struct cr_node *node, int64_t batch)
{
    double *at = value->data;
    for (int i = node->rank - 3; i >= 0; i--) {
        at += batch % node->shape[i] * value->stride[i];
        batch /= node->shape[i];
    }
    return at;
}

/* Multiplies batch by batch.  If the rows of b are not contiguous, they are copied, once for all
 * batches that share a matrix.  Rows of a are rounded if the arithmetic rounds them; sums are
 * doubles in every arithmetic. */
static int do_matmul(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    const cr_id *ids = cr_inputs(in->graph, node);
    const struct cr_node *na = &in->graph->nodes[ids[0]], *nb = &in->graph->nodes[ids[1]];
    const struct cr_view *a = &in->values[ids[0]], *b = &in->values[ids[1]];
    int last = node->rank - 1;
    int64_t n = node->shape[last], k = na->shape[last], stride[2] = {n, 1};
    struct product p = {.m = node->shape[last - 1],
                        .n = n,
                        .k = k,
                        .b_row = b->stride[last - 1],
                        .a_row = a->stride[last - 1],
                        .a_column = a->stride[last]};
    enum cr_arithmetic arithmetic = cr_arithmetic_of_operand(in->graph, ids[1]);
    struct cr_view packed = {0}, rounded = {0};
    if (cr_view_own_all(in, out, node) || (b->stride[last] != 1 && cr_view_own(in, &packed, n * k)) ||
        (arithmetic != CR_ARITHMETIC_f32 && cr_view_own(in, &rounded, p.m * k)))
        return -1;
    const double *packed_from = NULL;
    int64_t batches = cr_elements(node->rank - 2, node->shape);
    for (int64_t batch = 0; batch < batches; batch++) {
        struct cr_view from = {.data = matrix_at(b, nb, batch),
                             .stride = {b->stride[last - 1], b->stride[last]}};
        p.b = from.data;
        if (packed.buffer) {
            if (packed_from != from.data)
                copy(2, (int64_t[]){k, n}, packed.data, stride, &from);
            packed_from = from.data;
            p.b = packed.data;
            p.b_row = n;
        }
        p.a = matrix_at(a, na, batch);
        if (rounded.buffer) {
            cr_read_rounded(arithmetic, p.m, k, rounded.data, p.a, a->stride[last - 1],
                            a->stride[last]);
            p.a = rounded.data;
            p.a_row = k;
            p.a_column = 1;
        }
        p.c = out->data + batch * p.m * n;
        multiply(&p);
    }
    cr_view_drop(in, &packed);
    cr_view_drop(in, &rounded);
    return 0;
}

/* ---- movement ---- */

/* Reshapes a view: shares the operand's buffer if that is row-major, else copies it. */
static int do_reshape(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    cr_id id = cr_inputs(in->graph, node)[0];
    const struct cr_node *operand = &in->graph->nodes[id];
    const struct cr_view *from = &in->values[id];
    if (is_row_major(from, operand->rank, operand->shape)) {
        share(out, from);
    } else {
        if (cr_view_own_all(in, out, operand))
            return -1;
        copy(operand->rank, operand->shape, out->data, out->stride, from);
    }
    cr_row_major_strides(out->stride, node->rank, node->shape);
    return 0;
}

/* Returns another view of the operand's buffer: only the strides and the first element change. */
static int do_move(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    cr_id id = cr_inputs(in->graph, node)[0];
    const struct cr_node *operand = &in->graph->nodes[id];
    const struct cr_view *from = &in->values[id];
    if (node->op == CR_OP_reshape)
        return do_reshape(in, node, out);
    share(out, from);
    switch (node->op) {
    case CR_OP_detach:
    case CR_OP_limit:
        break;
    case CR_OP_permute:
        cr_permute_shape(out->stride, node->rank, from->stride, node->index);
        break;
    case CR_OP_expand:
        cr_expand_strides(out->stride, operand->rank, operand->shape, from->stride, node->rank, node->shape);
        break;
    default:
        assert(node->op == CR_OP_slice);
        for (int i = 0; i < node->rank; i++)
            out->data += node->index[i] * from->stride[i];
    }
    return 0;
}

/* Copies the operands side by side along the axis. */
static int do_concat(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    const cr_id *ids = cr_inputs(in->graph, node);
    if (cr_view_own_all(in, out, node))
        return -1;
    double *to = out->data;
    for (int i = 0; i < node->n_in; i++) {
        const struct cr_node *operand = &in->graph->nodes[ids[i]];
        copy(operand->rank, operand->shape, to, out->stride, &in->values[ids[i]]);
        to += operand->shape[node->axis] * out->stride[node->axis];
    }
    return 0;
}

/* Copies rows of the table; an index out of bounds gives a row of NaN, or of the least i32. */
static int do_gather(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    const cr_id *ids = cr_inputs(in->graph, node);
    const struct cr_node *table = &in->graph->nodes[ids[0]], *index = &in->graph->nodes[ids[1]];
    int64_t rows = cr_elements(index->rank, index->shape), stride[CR_MAX_RANK];
    int64_t width = cr_elements(table->rank - 1, table->shape + 1);
    struct cr_view flat = {0}, row = in->values[ids[0]];
    if (cr_view_own_all(in, out, node) || cr_view_own(in, &flat, rows))
        return -1;
    cr_row_major_strides(stride, index->rank, index->shape);
    copy(index->rank, index->shape, flat.data, stride, &in->values[ids[1]]);
    cr_row_major_strides(stride, table->rank, table->shape);
    memmove(row.stride, row.stride + 1, sizeof row.stride - sizeof *row.stride);
    for (int64_t r = 0; r < rows; r++) {
        double *to = out->data + r * width, i = flat.data[r];
        if (i >= 0 && i < (double)table->shape[0]) {
            row.data = in->values[ids[0]].data + (int64_t)i * in->values[ids[0]].stride[0];
            copy(table->rank - 1, table->shape + 1, to, stride + 1, &row);
        } else {
            for (int64_t j = 0; j < width; j++)
                to[j] = node->dtype == CR_I32 ? INT32_MIN : NAN;
        }
    }
    cr_view_drop(in, &flat);
    return 0;
}

/* Copies elements along an axis; an index out of bounds gives NaN, or the least i32. */
static int do_take(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    const cr_id *ids = cr_inputs(in->graph, node);
    const struct cr_view *from = &in->values[ids[0]], *index = &in->values[ids[1]];
    int64_t stride[CR_MAX_RANK];
    if (cr_view_own_all(in, out, node))
        return -1;
    struct cr_taken_axis axis = {.size = in->graph->nodes[ids[0]].shape[node->axis],
                                 .stride = from->stride[node->axis],
                                 .outside = node->dtype == CR_I32 ? INT32_MIN : NAN};
    memcpy(stride, from->stride, sizeof stride);
    stride[node->axis] = 0;
    struct cr_row_walk walk = {.rank = node->rank,
                               .shape = node->shape,
                               .n = 3,
                               .data = {out->data, from->data, index->data},
                               .stride = {out->stride, stride, index->stride},
                               .context = &axis};
    cr_walk_rows(&walk, cr_row_take);
    return 0;
}

/* Adds each row of the operand, in order, to the row of the table at its index; drops rows whose
 * index is out of bounds. */
static int do_scatter(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    const cr_id *ids = cr_inputs(in->graph, node);
    const struct cr_node *rows = &in->graph->nodes[ids[0]], *index = &in->graph->nodes[ids[1]];
    int64_t n = cr_elements(index->rank, index->shape), stride[CR_MAX_RANK];
    int64_t width = cr_elements(node->rank - 1, node->shape + 1);
    struct cr_view flat = {0}, places = {0};
    if (cr_view_own_all(in, out, node) || cr_view_own_all(in, &flat, rows) || cr_view_own(in, &places, n))
        return -1;
    copy(rows->rank, rows->shape, flat.data, flat.stride, &in->values[ids[0]]);
    cr_row_major_strides(stride, index->rank, index->shape);
    copy(index->rank, index->shape, places.data, stride, &in->values[ids[1]]);
    memset(out->data, 0, (size_t)(node->shape[0] * width) * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        double row = places.data[i];
        for (int64_t j = 0; row >= 0 && row < (double)node->shape[0] && j < width; j++)
            out->data[(int64_t)row * width + j] += flat.data[i * width + j];
    }
    cr_view_drop(in, &flat);
    cr_view_drop(in, &places);
    return 0;
}

/* Copies the operand, then overwrites its row `at` + r by row r of the second operand, if the
 * operand has such a row. */
static int do_write(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    const cr_id *ids = cr_inputs(in->graph, node);
    const struct cr_node *rows = &in->graph->nodes[ids[1]];
    struct cr_view from = in->values[ids[1]];
    int axis = node->axis;
    int64_t shape[CR_MAX_RANK], n = node->shape[axis];
    if (cr_view_own_all(in, out, node))
        return -1;
    copy(node->rank, node->shape, out->data, out->stride, &in->values[ids[0]]);
    int64_t at = (int64_t)in->values[ids[2]].data[0];
    int64_t first = at < 0 ? -at : 0; /* index of the first row that is inside */
    int64_t last = at > n - rows->shape[axis] ? n - at : rows->shape[axis];
    if (first >= last)
        return 0;
    memcpy(shape, rows->shape, sizeof shape);
    shape[axis] = last - first;
    from.data += first * from.stride[axis];
    copy(rows->rank, shape, out->data + (at + first) * out->stride[axis], out->stride, &from);
    return 0;
}

/* Computes running sums along the axis: each element except the first is added to the sum before
 * it. */
static int do_scan(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    cr_evaluator *add = cr_evaluator_of(CR_OP_add, node->dtype);
    int64_t step = cr_elements(node->rank - node->axis - 1, node->shape + node->axis + 1);
    int64_t n = node->shape[node->axis], ways = cr_elements(node->rank, node->shape) / n;
    if (cr_view_own_all(in, out, node))
        return -1;
    copy(node->rank, node->shape, out->data, out->stride, &in->values[cr_inputs(in->graph, node)[0]]);
    for (int64_t way = 0; way < ways; way++) {
        double *at = out->data + way / step * step * n + way % step;
        for (int64_t i = 1; i < n; i++) {
            double *to = at + (node->index[0] ? n - 1 - i : i) * step;
            *to = add(CR_OP_add, to[node->index[0] ? step : -step], *to, 0);
        }
    }
    return 0;
}

/* Fails: only the pass `shard` adds exchanges, and the interpreter runs graphs without passes. */
static int do_exchange(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    (void)node, (void)out;
    return cr_bug(in->error, "the interpreter has no ranks");
}

static int do_random(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    double seed = in->values[cr_inputs(in->graph, node)[0]].data[0];
    if (cr_view_own_all(in, out, node))
        return -1;
    for (int64_t i = 0; i < cr_elements(node->rank, node->shape); i++)
        out->data[i] =
            (double)cr_philox_uniform((uint64_t)(int64_t)seed, (uint64_t)node->value, (uint64_t)i);
    return 0;
}

/* ---- the interpreter ---- */

/* Evaluates a leaf.  Constants and literals have their elements in the graph; the caller has set
 * the values of other leaves. */
static int do_leaf(struct cr_interpreter *in, const struct cr_node *node, struct cr_view *out)
{
    switch (node->op) {
    case CR_OP_const:
        return do_const(in, node, out);
    case CR_OP_iota:
        return do_iota(in, node, out);
    case CR_OP_literal:
        return do_literal(in, node, out);
    default:
        return do_border(in, node, out);
    }
}

static int (*const by_kind[])(struct cr_interpreter *, const struct cr_node *, struct cr_view *) = {
    [CR_KIND_LEAF] = do_leaf,         [CR_KIND_ELEMENTWISE] = do_elementwise,
    [CR_KIND_REDUCE] = do_reduce,     [CR_KIND_CONTRACT] = do_matmul,
    [CR_KIND_MOVE] = do_move,         [CR_KIND_CONCAT] = do_concat,
    [CR_KIND_GATHER] = do_gather,     [CR_KIND_SCATTER] = do_scatter,
    [CR_KIND_TAKE] = do_take,         [CR_KIND_WRITE] = do_write,
    [CR_KIND_RANDOM] = do_random,     [CR_KIND_SCAN] = do_scan,
    [CR_KIND_EXCHANGE] = do_exchange,
};

/* Finds the last reader of each value.  Values that no wanted output depends on get -1 and are
 * not computed. */
static void find_last_uses(struct cr_interpreter *in, double *const *outputs)
{
    const struct cr_graph *g = in->graph;
    for (int id = 0; id < g->n_nodes; id++)
        in->last_use[id] = -1;
    for (int i = 0; i < g->n_outputs; i++)
        if (outputs[i])
            in->last_use[g->outputs[i].id] = g->n_nodes;
    for (int id = g->n_nodes - 1; id >= 0; id--)
        for (int i = 0; in->last_use[id] >= 0 && i < g->nodes[id].n_in; i++)
            if (in->last_use[cr_in(g, id, i)] < id)
                in->last_use[cr_in(g, id, i)] = id;
}

static void number_leaves(struct cr_interpreter *in)
{
    int n[CR_OP_COUNT] = {0};
    for (cr_id id = 0; id < in->graph->n_nodes; id++)
        in->place[id] = n[cr_is_input(&in->graph->nodes[id]) ? CR_OP_input
                                                              : in->graph->nodes[id].op]++;
}

/* Sets the error: the script line of the node, the op, then the reason `why`. */
static int fail_in_node(struct cr_interpreter *in, const struct cr_node *node, const struct cr_error *why)
{
    bool known = node->where.file && node->where.line > 0;
    char place[400] = "";
    if (known)
        snprintf(place, sizeof place, "%.380s:%d: ", node->where.file, node->where.line);
    return cr_fail(in->error, "%s%s: %s", place, cr_ops[node->op].name, why->text);
}

int cr_interpreter_compute(struct cr_interpreter *in, cr_id id, struct cr_view *out)
{
    const struct cr_node *node = &in->graph->nodes[id];
    struct cr_error why;
    struct cr_error *error = in->error;
    in->error = &why;
    int status = by_kind[cr_ops[node->op].kind](in, node, out);
    in->error = error;
    return status ? fail_in_node(in, node, &why) : 0;
}

/* Computes one node, and drops the operands of which it is the last reader. */
static int step(struct cr_interpreter *in, cr_id id)
{
    const struct cr_node *node = &in->graph->nodes[id];
    if (cr_interpreter_compute(in, id, &in->values[id]))
        return -1;
    for (int i = 0; i < node->n_in; i++)
        if (in->last_use[cr_in(in->graph, id, i)] == id)
            cr_view_drop(in, &in->values[cr_in(in->graph, id, i)]);
    return 0;
}

/* Fails if any node is too large for the machine, before the first node is computed. */
static int check_sizes(struct cr_interpreter *in)
{
    const struct cr_graph *g = in->graph;
    struct cr_error why;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        enum cr_kind kind = cr_kind_of(g, id);
        int64_t bytes = cr_elements(node->rank, node->shape) * (int64_t)sizeof(double);
        if (in->last_use[id] >= 0 && kind != CR_KIND_LEAF && kind != CR_KIND_MOVE &&
            cr_memory_check(bytes, "the interpreter", &why))
            return fail_in_node(in, node, &why);
    }
    return 0;
}

/* Computes every node on which an output depends, in order, and copies the outputs row-major. */
static int interpret(struct cr_interpreter *in, double *const *outputs)
{
    const struct cr_graph *g = in->graph;
    find_last_uses(in, outputs);
    if (check_sizes(in))
        return -1;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (in->last_use[id] >= 0 && step(in, id))
            return -1;
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        int64_t stride[CR_MAX_RANK];
        if (!outputs[i])
            continue;
        cr_row_major_strides(stride, node->rank, node->shape);
        copy(node->rank, node->shape, outputs[i], stride, &in->values[g->outputs[i].id]);
    }
    return 0;
}

void cr_interpreter_open(struct cr_interpreter *in)
{
    size_t n = (size_t)in->graph->n_nodes + 1;
    in->values = cr_calloc(n, sizeof *in->values);
    in->last_use = cr_calloc(n, sizeof *in->last_use);
    in->place = cr_calloc(n, sizeof *in->place);
    number_leaves(in);
}

void cr_interpreter_close(struct cr_interpreter *in)
{
    for (int id = 0; id < in->graph->n_nodes; id++)
        cr_view_drop(in, &in->values[id]);
    free(in->values);
    free(in->last_use);
    free(in->place);
}

int cr_interpret(const struct cr_graph *graph, const float *const *params,
                 const void *const *inputs, double *const *outputs, struct cr_error *error)
{
    struct cr_interpreter in = {.graph = graph, .params = params, .inputs = inputs, .error = error};
    cr_interpreter_open(&in);
    int status = interpret(&in, outputs);
    cr_interpreter_close(&in);
    return status;
}
