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

/* Returns the reduction of a tensor that has no elements: a tensor of which all elements are
 * `number`. */
static cr_t of_empty(struct cr_translation *t, cr_t x, const struct axes *a, double number)
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
        return of_empty(t, x, a, 0);
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
        cr_set_output(t, 0, of_empty(t, x, &a, NAN));
    else
        cr_set_output(t, 0, cr_mean(t, x, a.n, a.list, a.keep));
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
        return of_empty(t, x, a, limit_of(x->type, false));
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
        cr_set_output(t, 0, of_empty(t, x, &a, limit_of(x->type, true)));
        return;
    }
    cr_set_output(t, 0, cr_t_unary(t, inverse, largest(t, cr_t_unary(t, inverse, x), &a)));
}

/* ---- running sums ---- */

/* Shifts x by one along an axis and fills in 0. */
static cr_t shift(struct cr_translation *t, cr_t x, int axis, bool reverse)
{
    int64_t shape[CR_ONNX_RANK], left = cr_sizes(t->graph->symbols, x->shape[axis], '-', 1);
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] = 1;
    cr_t zero = cr_t_full(t, x->type, x->rank, shape, 0);
    cr_t rest = cr_t_narrow(t, x, axis, reverse, left);
    return cr_t_concat(t, reverse ? (cr_t[]){rest, zero} : (cr_t[]){zero, rest}, 2, axis);
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
    cr_set_output(t, 0,
                  y && cr_onnx_integer(t->node, "exclusive", 0) ? shift(t, y, a, reverse) : y);
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
    cr_set_output(t, 0, y);
}
