/* term_fold.c - computes the elements of terms with known operands; see term_parts.h. */
#include <math.h>
#include <string.h>

#include "compiler/ir/strided_rows.h"
#include "term_parts.h"

/* ---- walks ---- */

/* A loop over a term's shape, in which sizes that are symbols are their bounds, with up to 4 arrays
 * of elements. */
struct walk {
    struct cr_row_walk rows;
    int64_t shape[CR_ONNX_RANK], strides[4][CR_ONNX_RANK];
};

/* Sets shape[] to a term's sizes, in which symbols are replaced by their bounds, and strides[] to
 * the strides of its elements. */
static void measure(cr_t x, int64_t *shape, int64_t *strides)
{
    for (int i = 0; i < x->rank; i++)
        shape[i] = cr_size_bound(x->shape[i]);
    cr_row_major_strides(strides, x->rank, shape);
}

static void begin(struct walk *w, cr_t like)
{
    int64_t strides[CR_ONNX_RANK];
    memset(w, 0, sizeof *w);
    w->rows.rank = like->rank;
    w->rows.shape = w->shape;
    measure(like, w->shape, strides);
}

/* Adds an array of elements to a loop.  Returns the array's strides, all 0, for the caller to
 * set. */
static int64_t *add(struct walk *w, const double *data)
{
    int i = w->rows.n++;
    w->rows.data[i] = (double *)(uintptr_t)data;
    w->rows.stride[i] = w->strides[i];
    return w->strides[i];
}

/* Adds an array with a term's shape to a loop, to whose shape it is broadcast. */
static void add_broadcast(struct walk *w, cr_t x, const double *data)
{
    int64_t shape[CR_ONNX_RANK], strides[CR_ONNX_RANK];
    measure(x, shape, strides);
    cr_expand_strides(add(w, data), x->rank, shape, strides, w->rows.rank, w->shape);
}

/* ---- elementwise ---- */

/* An elementwise op that is being folded: its result, and the type of its operands. */
struct operation {
    struct cr_symbols *symbols;
    enum cr_op op;
    cr_evaluator *evaluate;
    cr_t result;
    enum cr_onnx_type type;
};

/* Computes an op in double precision.  Integers do not wrap at 32 bits, as ONNX has integers of 64
 * bits. */
static double compute(const struct operation *o, const double *in)
{
    bool divides = o->op == CR_OP_floor_divide || o->op == CR_OP_remainder;
    if (divides && in[1] == 0 && cr_language_type(o->type) == CR_LANGUAGE_I32)
        return 0;
    if (o->op == CR_OP_int && isfinite(in[0]))
        return trunc(in[0]);
    return o->evaluate(o->op, in[0], in[1], in[2]);
}

static double compute_in_sample(const void *context, const double *in)
{
    const struct operation *o = context;
    return cr_t_rounded(o->result->type, compute(o, in));
}

/* True if the result depends on lengths: an operand is a symbol.  For `where` only the condition
 * counts, as it copies the element that it selects. */
static bool has_samples(const struct operation *o, const double *in)
{
    bool selects = o->op == CR_OP_where;
    return cr_number_is_symbol(in[0]) ||
           (!selects && (cr_number_is_symbol(in[1]) || cr_number_is_symbol(in[2])));
}

static void row_compute(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step)
{
    const struct operation *o = walk->context;
    for (int64_t i = 0; i < n; i++) {
        double in[] = {at[1][i * step[1]], at[2][i * step[2]], at[3][i * step[3]]}, *y = at[0] + i * step[0];
        if (has_samples(o, in))
            *y = cr_symbols_element(o->symbols, o->result->rank, o->result->shape, y - walk->data[0],
                                    cr_symbols_map(o->symbols, compute_in_sample, o, 3, in));
        else
            *y = compute(o, in);
    }
}

cr_t cr_t_fold_elementwise(struct cr_translation *t, enum cr_op op, const struct cr_onnx_term *like, int n,
                           const cr_t *x)
{
    double none = 0, *data = cr_t_new_elements(t, like);
    struct operation o = {t->graph->symbols, op, cr_evaluator_of(op, CR_F32), like, x[0]->type};
    struct walk w;
    begin(&w, like);
    add_broadcast(&w, like, data);
    for (int i = 0; i < n; i++)
        add_broadcast(&w, x[i], x[i]->data);
    while (w.rows.n < 4) /* operands that the op does not have */
        add(&w, &none);
    w.rows.context = &o;
    cr_walk_rows(&w.rows, row_compute);
    return cr_t_computed(t, like->type, like->rank, like->shape, data);
}

/* ---- movement ---- */

void cr_t_strides(cr_t x, int64_t *strides)
{
    int64_t shape[CR_ONNX_RANK];
    measure(x, shape, strides);
}

cr_t cr_t_fold_view(struct cr_translation *t, struct cr_onnx_term *like, cr_t x, const int64_t *strides,
                    int64_t offset)
{
    double *data = cr_t_new_elements(t, like);
    int64_t shape[CR_ONNX_RANK], own[CR_ONNX_RANK];
    measure(like, shape, own);
    if (cr_t_elements(like)) /* without elements, x->data may be null */
        cr_copy_strided(like->rank, shape, data, own, x->data + offset, strides);
    like->data = data;
    return like;
}

cr_t cr_t_fold_expand(struct cr_translation *t, struct cr_onnx_term *like, cr_t x)
{
    struct walk w;
    begin(&w, like);
    add_broadcast(&w, x, x->data);
    return cr_t_fold_view(t, like, x, w.strides[0], 0);
}

cr_t cr_t_fold_concat(struct cr_translation *t, const struct cr_onnx_term *like, const cr_t *parts, int n, int axis)
{
    double *data = cr_t_new_elements(t, like);
    int64_t shape[CR_ONNX_RANK], strides[CR_ONNX_RANK], own[CR_ONNX_RANK], at = 0;
    cr_t_strides(like, strides);
    for (int i = 0; i < n; i++) {
        measure(parts[i], shape, own);
        cr_copy_strided(like->rank, shape, data + at, strides, parts[i]->data, own);
        at += shape[axis] * strides[axis];
    }
    return cr_t_computed(t, like->type, like->rank, like->shape, data);
}

cr_t cr_t_fold_take(struct cr_translation *t, struct cr_onnx_term *like, cr_t x, cr_t index, int axis)
{
    double *data = cr_t_new_elements(t, like);
    struct walk w;
    begin(&w, like);
    add_broadcast(&w, like, data);
    int64_t *strides = add(&w, x->data);
    cr_t_strides(x, strides);
    struct cr_taken_axis taken = {cr_size_bound(x->shape[axis]), strides[axis], NAN};
    strides[axis] = 0;
    add_broadcast(&w, index, index->data);
    w.rows.context = &taken;
    cr_walk_rows(&w.rows, cr_row_take);
    like->data = data;
    return like;
}

/* ---- sums and products ---- */

cr_t cr_t_fold_reduce(struct cr_translation *t, bool is_sum, cr_t x, const struct cr_onnx_term *like)
{
    double *data = cr_t_new_elements(t, like);
    struct walk w;
    begin(&w, x);
    w.rows.op = is_sum ? CR_OP_sum : CR_OP_max;
    w.rows.eval = cr_evaluator_of(w.rows.op, CR_F32);
    for (int64_t i = 0; i < cr_t_elements(like); i++)
        data[i] = cr_identity(w.rows.op, CR_F32);
    add_broadcast(&w, like, data);
    add_broadcast(&w, x, x->data);
    cr_walk_rows(&w.rows, cr_row_fold);
    return cr_t_computed(t, like->type, like->rank, like->shape, data);
}

/* The elements along an axis: the offset of the first one, their number, and the distance between
 * them. */
struct run {
    int64_t first, n, step;
};

/* Computes running sums along the axis that the loop leaves out. */
static void row_cumsum(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step)
{
    const struct run *run = walk->context;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < run->n; k++) {
            int64_t place = run->first + k * run->step;
            at[0][i * step[0] + place] = sum += at[1][i * step[1] + place];
        }
    }
}

cr_t cr_t_fold_cumsum(struct cr_translation *t, cr_t x, int axis, bool reverse)
{
    double *data = cr_t_new_elements(t, x);
    struct walk w;
    begin(&w, x);
    add_broadcast(&w, x, data);
    add_broadcast(&w, x, x->data);
    int64_t n = w.shape[axis], step = w.strides[0][axis];
    struct run run = {reverse ? (n - 1) * step : 0, n, reverse ? -step : step};
    w.rows.context = &run;
    w.shape[axis] = 1;
    cr_walk_rows(&w.rows, row_cumsum);
    return cr_t_computed(t, x->type, x->rank, x->shape, data);
}

/* The sizes of a matrix product's inner loop: k, and the distance between rows of the right
 * operand. */
struct inner {
    int64_t k, across;
};

/* Multiplies a row of the left operand by a column of the right one. */
static void row_dot(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step)
{
    const struct inner *inner = walk->context;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < inner->k; j++)
            at[0][i * step[0]] += at[1][i * step[1] + j] * at[2][i * step[2] + j * inner->across];
}

/* Adds an operand of a matrix product to the loop over the result.  Its batch axes are broadcast to
 * the first `batch` axes of the result.  Axis `axis` of the result runs along its rows or columns,
 * with a stride; -1 for a vector operand. */
static void add_factor(struct walk *w, cr_t x, int batch, int axis, int64_t stride)
{
    int64_t shape[CR_ONNX_RANK], strides[CR_ONNX_RANK], *to = add(w, x->data);
    measure(x, shape, strides);
    cr_expand_strides(to, axis < 0 ? 0 : x->rank - 2, shape, strides, batch, w->shape);
    if (axis >= 0)
        to[axis] = stride;
}

cr_t cr_t_fold_matmul(struct cr_translation *t, cr_t a, cr_t b, const struct cr_onnx_term *like)
{
    bool rows = a->rank > 1, columns = b->rank > 1;
    int batch = like->rank - rows - columns;
    double *data = cr_t_new_elements(t, like);
    struct inner inner = {a->shape[a->rank - 1], columns ? b->shape[b->rank - 1] : 1};
    struct walk w;
    begin(&w, like);
    add_broadcast(&w, like, data);
    add_factor(&w, a, batch, rows ? batch : -1, inner.k);
    add_factor(&w, b, batch, columns ? batch + rows : -1, 1);
    w.rows.context = &inner;
    cr_walk_rows(&w.rows, row_dot);
    return cr_t_computed(t, like->type, like->rank, like->shape, data);
}
