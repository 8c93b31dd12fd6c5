/* ops_reduce.c - reductions of ONNX, products of matrices, running sums; see ops.h. */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "term_parts.h"

/* ---- reductions ---- */

/* The axes of a reduction; `keep`: they stay with size 1. */
struct axes {
    int n, list[CR_ONNX_RANK];
    bool keep;
};

/* Reads the axes; false after an error. */
static bool read_axes(struct cr_translation *t, struct axes *a)
{
    a->n = t->in[0] ? cr_axes(t, 1, t->in[0]->rank, a->list) : 0;
    a->keep = cr_onnx_integer(t->node, "keepdims", 1) != 0;
    return !t->failed && t->in[0];
}

/* Returns the reduction of a tensor without elements: the number throughout. */
static cr_t of_nothing(struct cr_translation *t, cr_t x, const struct axes *a, double number)
{
    int64_t shape[CR_ONNX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        bool gone = false;
        for (int j = 0; j < a->n; j++)
            gone |= a->list[j] == i;
        if (!gone || a->keep)
            shape[rank++] = gone ? 1 : x->shape[i];
    }
    return cr_t_full(t, x->type, rank, shape, number);
}

static cr_t sum(struct cr_translation *t, cr_t x, const struct axes *a)
{
    if (x && cr_t_elements(x) == 0)
        return of_nothing(t, x, a, 0);
    return cr_t_reduce(t, "sum", x, a->n, a->list, a->keep);
}

/* The mean of no elements is NaN, as 0 / 0 is. */
void cr_op_reduce_mean(struct cr_translation *t)
{
    struct axes a;
    cr_t x = t->in[0];
    if (!read_axes(t, &a))
        return;
    if (cr_language_type(x->type) != CR_LANGUAGE_F32)
        cr_onnx_refuse(t, "the mean of integers, expected floats");
    else if (cr_t_elements(x) == 0)
        cr_give(t, 0, of_nothing(t, x, &a, NAN));
    else
        cr_give(t, 0, cr_mean(t, x, a.n, a.list, a.keep));
}

/* Returns the lowest or the highest number of a type. */
static double limit_of(enum cr_onnx_type type, bool highest)
{
    bool is_signed = type == CR_ONNX_INT8 || type == CR_ONNX_INT16 || type == CR_ONNX_INT32 ||
                     type == CR_ONNX_INT64;
    double half = ldexp(1, 8 * cr_onnx_type_bytes(type) - 1);
    if (cr_language_type(type) == CR_LANGUAGE_F32)
        return highest ? INFINITY : -INFINITY;
    if (type == CR_ONNX_BOOL)
        return highest;
    return highest ? (is_signed ? half : 2 * half) - 1 : is_signed ? -half : 0;
}

static cr_t largest(struct cr_translation *t, cr_t x, const struct axes *a)
{
    if (x && cr_t_elements(x) == 0)
        return of_nothing(t, x, a, limit_of(x->type, false));
    if (x && x->type == CR_ONNX_BOOL)
        return cr_t_cast(t, largest(t, cr_t_cast(t, x, CR_ONNX_INT32), a), CR_ONNX_BOOL);
    return cr_t_reduce(t, "max", x, a->n, a->list, a->keep);
}

cr_t cr_reduced(struct cr_translation *t, const char *name, cr_t x)
{
    struct axes a;
    if (!read_axes(t, &a))
        return NULL;
    return strcmp(name, "max") == 0 ? largest(t, x, &a) : sum(t, x, &a);
}

/* The minimum is the negated maximum of negated elements; booleans use logical_not. */
void cr_op_reduce_min(struct cr_translation *t)
{
    struct axes a;
    cr_t x = t->in[0];
    if (!read_axes(t, &a))
        return;
    const char *inverse = x->type == CR_ONNX_BOOL ? "logical_not" : "neg";
    if (cr_t_elements(x) == 0) {
        cr_give(t, 0, of_nothing(t, x, &a, limit_of(x->type, true)));
        return;
    }
    cr_give(t, 0, cr_t_unary(t, inverse, largest(t, cr_t_unary(t, inverse, x), &a)));
}

/* Subtracts the maximum before exp, so that nothing overflows. */
void cr_op_reduce_log_sum_exp(struct cr_translation *t)
{
    struct axes a, kept;
    cr_t x = t->in[0];
    if (!read_axes(t, &a))
        return;
    if (cr_t_elements(x) == 0) {
        cr_give(t, 0, of_nothing(t, x, &a, -INFINITY));
        return;
    }
    kept = a;
    kept.keep = true;
    cr_t top = largest(t, x, &kept);
    cr_t total = sum(t, cr_t_unary(t, "exp", cr_t_binary(t, "-", x, top)), &kept);
    cr_t y = cr_t_binary(t, "+", cr_t_unary(t, "log", total), top);
    if (!a.keep && y) {
        cr_t like = sum(t, x, &a);
        y = like ? cr_t_reshape(t, y, like->rank, like->shape) : NULL;
    }
    cr_give(t, 0, y);
}

enum { MOST_FACTORS = 256 };

/* Multiplies along an axis, which stays, slice by slice: the language has no such reduction. */
static cr_t product(struct cr_translation *t, cr_t x, int axis)
{
    if (x && x->shape[axis] > MOST_FACTORS)
        return cr_onnx_refuse(t, "a product of %s elements, expected at most %d",
                              cr_t_text(t, x->shape[axis]), MOST_FACTORS);
    cr_t y = cr_t_narrow(t, x, axis, 0, 1);
    for (int64_t i = 1; x && i < x->shape[axis]; i++)
        y = cr_t_binary(t, "*", y, cr_t_narrow(t, x, axis, i, 1));
    return y;
}

/* Reduces axis by axis.  The result has the shape of a sum over the same axes. */
void cr_op_reduce_prod(struct cr_translation *t)
{
    struct axes a;
    cr_t x = t->in[0], like;
    if (!read_axes(t, &a))
        return;
    if (cr_t_elements(x) == 0) {
        cr_give(t, 0, of_nothing(t, x, &a, 1));
        return;
    }
    like = sum(t, x, &a);
    for (int i = 0; i < a.n; i++)
        x = product(t, x, a.list[i]);
    cr_give(t, 0, x && like ? cr_t_reshape(t, x, like->rank, like->shape) : NULL);
}

/* Gives the index of the maximum or minimum: the first, or the last if the node says so. */
static void arg(struct cr_translation *t, bool smallest)
{
    cr_t x = t->in[0];
    if (!x)
        return;
    int axis = cr_axis(t, cr_onnx_integer(t->node, "axis", 0), x->rank);
    bool last = cr_onnx_integer(t->node, "select_last_index", 0) != 0,
         keep = cr_onnx_integer(t->node, "keepdims", 1) != 0;
    int64_t n = last ? cr_t_plain(t, x->shape[axis]) : 0, *backwards = last ? cr_t_axis_array(t, n) : NULL;
    for (int64_t i = 0; backwards && i < n; i++)
        backwards[i] = n - 1 - i;
    if (smallest)
        x = cr_t_unary(t, "neg", x);
    if (backwards)
        x = cr_t_take(t, x, axis, n, backwards);
    cr_t index = cr_t_argmax(t, x, axis, keep);
    cr_give(t, 0,
            last ? cr_t_binary(t, "-", cr_t_number(t, CR_ONNX_INT64, (double)n - 1), index)
                 : index);
}

void cr_op_arg_max(struct cr_translation *t)
{
    arg(t, false);
}

void cr_op_arg_min(struct cr_translation *t)
{
    arg(t, true);
}

/* ---- running sums ---- */

/* Shifts x by one along an axis and fills in the number. */
static cr_t shift(struct cr_translation *t, cr_t x, int axis, bool reverse, double number)
{
    return cr_t_pad(t, x, axis, reverse ? -1 : 1, reverse ? 1 : -1, number);
}

void cr_op_cum_sum(struct cr_translation *t)
{
    int64_t axis[CR_ONNX_MANY];
    cr_t x = t->in[0];
    if (!x || cr_numbers_of(t, cr_input(t, 1), axis) < 1)
        return;
    bool reverse = cr_onnx_integer(t->node, "reverse", 0) != 0;
    int a = cr_axis(t, *axis, x->rank);
    cr_t y = cr_t_cumsum(t, x, a, reverse);
    cr_give(t, 0, cr_onnx_integer(t->node, "exclusive", 0) ? shift(t, y, a, reverse, 0) : y);
}

/* ---- products of matrices ---- */

void cr_op_gemm(struct cr_translation *t)
{
    cr_t a = t->in[0], b = cr_input(t, 1), c = cr_input(t, 2);
    if (cr_onnx_integer(t->node, "transA", 0))
        a = cr_t_swap(t, a, 0, 1);
    if (cr_onnx_integer(t->node, "transB", 0))
        b = cr_t_swap(t, b, 0, 1);
    cr_t y = cr_t_with(t, "*", cr_t_matmul(t, a, b), cr_onnx_real(t->node, "alpha", 1));
    if (c)
        y = cr_t_binary(t, "+", y, cr_t_with(t, "*", c, cr_onnx_real(t->node, "beta", 1)));
    cr_give(t, 0, y);
}

/* ---- pools over all of space ---- */

static int space_axes(cr_t x, int *axes)
{
    int n = 0;
    for (int i = 2; x && i < x->rank; i++)
        axes[n++] = i;
    return n;
}

void cr_op_global_average_pool(struct cr_translation *t)
{
    int axes[CR_ONNX_RANK], n = space_axes(t->in[0], axes);
    cr_give(t, 0, cr_mean(t, t->in[0], n, axes, true));
}

void cr_op_global_max_pool(struct cr_translation *t)
{
    int axes[CR_ONNX_RANK], n = space_axes(t->in[0], axes);
    cr_give(t, 0, cr_t_reduce(t, "max", t->in[0], n, axes, true));
}
