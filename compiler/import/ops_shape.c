/* ops_shape.c - operators of ONNX that move elements or read shapes; see ops.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "term_parts.h"

/* ---- shapes ---- */

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Gives the sizes of axes `start` to `end`; negative ones count from the end. */
void cr_op_shape(struct cr_translation *t)
{
    cr_t x = t->in[0];
    double sizes[CR_ONNX_RANK];
    int64_t rank = x ? x->rank : 0, start = cr_onnx_integer(t->node, "start", 0),
            end = cr_onnx_integer(t->node, "end", rank), n;
    start = clamp(start < 0 ? start + rank : start, 0, rank);
    end = clamp(end < 0 ? end + rank : end, start, rank);
    n = end - start;
    for (int64_t i = 0; i < n; i++)
        sizes[i] = cr_number_of_size(x->shape[start + i]);
    cr_set_output(t, 0, cr_t_data(t, CR_ONNX_INT64, 1, &n, sizes));
}

void cr_op_size(struct cr_translation *t)
{
    cr_t x = t->in[0];
    if (x)
        cr_set_output(
            t, 0,
            cr_t_number(t, CR_ONNX_INT64, cr_number_of_size(cr_t_count(t, x->rank, x->shape))));
}

/* Reads sizes from a known term; refuses more than CR_ONNX_RANK. */
static int sizes_of(struct cr_translation *t, cr_t x, int64_t *sizes)
{
    int64_t numbers[CR_ONNX_MANY];
    int n = cr_numbers_of(t, x, numbers);
    if (n > CR_ONNX_RANK)
        cr_onnx_refuse(t, "%d axes, expected at most %d", n, CR_ONNX_RANK);
    for (int i = 0; i < n; i++)
        if (cr_size_bound(numbers[i]) < -1 || cr_size_bound(numbers[i]) > INT32_MAX)
            cr_onnx_refuse(t, "found a size of %lld, expected 0 or more", (long long)cr_size_bound(numbers[i]));
    if (n < 0 || t->failed)
        return -1;
    memcpy(sizes, numbers, (size_t)n * sizeof *sizes);
    return n;
}

/* 0 keeps the size of an axis, -1 takes the remaining elements. */
void cr_op_reshape(struct cr_translation *t)
{
    int64_t shape[CR_ONNX_RANK], known = 1;
    cr_t x = t->in[0];
    int rank = sizes_of(t, cr_input(t, 1), shape), rest = -1;
    bool allow_zero = cr_onnx_integer(t->node, "allowzero", 0) != 0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0 && !allow_zero)
            shape[i] = i < x->rank ? x->shape[i] : 1;
        if (shape[i] == -1)
            rest = i;
        else if (shape[i] && cr_size_bound(known) < INT32_MAX)
            known = cr_sizes(t->graph->symbols, known, '*', shape[i]);
        else if (!shape[i])
            known = 0;
    }
    if (rest >= 0 && known > 0)
        shape[rest] = cr_sizes(t->graph->symbols, cr_t_count(t, x->rank, x->shape), '/', known);
    if (rank >= 0)
        cr_set_output(t, 0, cr_t_reshape(t, x, rank, shape));
}

void cr_op_flatten(struct cr_translation *t)
{
    cr_t x = t->in[0];
    int64_t shape[2] = {1, 1}, axis = cr_onnx_integer(t->node, "axis", 1);
    if (!x)
        return;
    if (axis < 0)
        axis += x->rank;
    for (int i = 0; i < x->rank; i++)
        shape[i >= axis] = cr_sizes(t->graph->symbols, shape[i >= axis], '*', x->shape[i]);
    cr_set_output(t, 0, cr_t_reshape(t, x, 2, shape));
}

/* Without axes, removes all axes of size 1. */
void cr_op_squeeze(struct cr_translation *t)
{
    cr_t x = t->in[0];
    int axes[CR_ONNX_RANK], rank = 0;
    bool gone[CR_ONNX_RANK] = {false};
    int64_t shape[CR_ONNX_RANK];
    if (!x)
        return;
    int n = cr_axes(t, 1, x->rank, axes);
    bool all = !cr_input(t, 1) && !cr_onnx_attribute(t->node, "axes");
    for (int i = 0; i < n; i++)
        gone[axes[i]] = !all || x->shape[axes[i]] == 1;
    for (int i = 0; i < x->rank; i++)
        if (!gone[i])
            shape[rank++] = x->shape[i];
    cr_set_output(t, 0, cr_t_reshape(t, x, rank, shape));
}

/* Adds axes of size 1; their numbers count in the result. */
void cr_op_unsqueeze(struct cr_translation *t)
{
    cr_t x = t->in[0];
    int64_t axes[CR_ONNX_MANY], shape[CR_ONNX_RANK];
    bool is_new[CR_ONNX_RANK] = {false};
    int n =
        cr_input(t, 1) ? cr_numbers_of(t, cr_input(t, 1), axes) : cr_numbers_named(t, "axes", axes);
    if (!x || n < 0 || t->failed)
        return;
    int rank = x->rank + n, from = 0;
    if (rank > CR_ONNX_RANK) {
        cr_onnx_refuse(t, "a tensor of %d axes, expected at most %d", rank, CR_ONNX_RANK);
        return;
    }
    for (int i = 0; i < n; i++)
        is_new[cr_axis(t, axes[i], rank)] = true;
    for (int i = 0; i < rank && !t->failed; i++)
        shape[i] = is_new[i] || from >= x->rank ? 1 : x->shape[from++];
    cr_set_output(t, 0, cr_t_reshape(t, x, rank, shape));
}

/* Without a permutation the axes are reversed. */
void cr_op_transpose(struct cr_translation *t)
{
    cr_t x = t->in[0];
    int64_t perm[CR_ONNX_MANY];
    int axes[CR_ONNX_RANK], n = cr_numbers_named(t, "perm", perm);
    if (!x || (n > 0 && n != x->rank)) {
        cr_onnx_refuse(t, "found a permutation of %d axes, expected each axis once", n);
        return;
    }
    for (int i = 0; i < x->rank; i++)
        axes[i] = n > 0 ? cr_axis(t, perm[i], x->rank) : x->rank - 1 - i;
    cr_set_output(t, 0, cr_t_permute(t, x, axes));
}

/* The result has the larger size of both shapes, axis by axis. */
void cr_op_expand(struct cr_translation *t)
{
    cr_t x = t->in[0];
    int64_t shape[CR_ONNX_RANK], wide[CR_ONNX_RANK];
    int n = sizes_of(t, cr_input(t, 1), shape);
    if (!x || n < 0)
        return;
    int rank = n > x->rank ? n : x->rank;
    for (int i = 0; i < rank; i++) {
        int64_t own = i - (rank - x->rank) >= 0 ? x->shape[i - (rank - x->rank)] : 1;
        int64_t asked = i - (rank - n) >= 0 ? shape[i - (rank - n)] : 1;
        wide[i] = own == 1 ? asked : own;
    }
    cr_set_output(t, 0, cr_t_expand(t, x, rank, wide));
}

/* ---- constants ---- */

void cr_op_constant_of_shape(struct cr_translation *t)
{
    int64_t shape[CR_ONNX_RANK];
    const struct cr_onnx_attribute *a = cr_onnx_typed(t->node, "value", CR_ONNX_A_TENSOR);
    int rank = sizes_of(t, t->in[0], shape);
    double number = a && a->tensor && a->tensor->data ? cr_onnx_element(a->tensor, 0) : 0;
    if (rank >= 0)
        cr_set_output(
            t, 0,
            cr_t_full(t, a && a->tensor ? a->tensor->type : CR_ONNX_FLOAT, rank, shape, number));
}

static double count_range(const void *context, const double *in)
{
    double count = ceil((in[1] - in[0]) / in[2]);
    (void)context;
    return count > 0 ? count : 0;
}

/* Limits have to be known: they determine the size of the result. */
void cr_op_range(struct cr_translation *t)
{
    const double *start = cr_t_known_sizes(t, t->in[0]), *limit = cr_t_known_sizes(t, cr_input(t, 1)),
                 *delta = cr_t_known_sizes(t, cr_input(t, 2));
    if (!start || !limit || !delta || *delta == 0)
        return;
    double count = cr_symbols_map(t->graph->symbols, count_range, NULL, 3, (double[]){*start, *limit, *delta});
    int64_t n = cr_t_whole(count);
    if (cr_size_bound(n) > 1 << 24 || (isnan(count) && !cr_size_is_symbol(n))) {
        cr_onnx_refuse(t, "%.0f numbers", count);
        return;
    }
    cr_t i = cr_t_iota(t, 1, &n, 0);
    if (i)
        i = cr_t_cast(t, i, t->in[0]->type);
    cr_set_output(t, 0, cr_t_with(t, "+", cr_t_with(t, "*", i, *delta), *start));
}

/* Sets the elements of diagonal k of a matrix to 1, the others to 0. */
void cr_op_eye_like(struct cr_translation *t)
{
    cr_t x = t->in[0];
    int64_t k = cr_onnx_integer(t->node, "k", 0);
    if (!x || x->rank != 2) {
        cr_onnx_refuse(t, "expected a matrix");
        return;
    }
    cr_t row = cr_t_iota(t, 2, x->shape, 0), column = cr_t_iota(t, 2, x->shape, 1);
    cr_t is = cr_t_binary(t, "eq", column, cr_t_with(t, "+", row, (double)k));
    cr_set_output(t, 0,
                  cr_t_cast(t, is, (enum cr_onnx_type)cr_onnx_integer(t->node, "dtype", x->type)));
}

/* ---- parts ---- */

void cr_op_concat(struct cr_translation *t)
{
    cr_t x = t->in[0];
    if (x)
        cr_set_output(t, 0,
                      cr_t_concat(t, t->in, t->node->n_inputs,
                                  cr_axis(t, cr_onnx_integer(t->node, "axis", 1), x->rank)));
}

/* Returns an end of a slice, which counts from the end of the axis if it is negative, within low to
 * high. */
static int64_t limit_end(struct cr_symbols *s, int64_t end, int64_t size, int64_t low, int64_t high)
{
    if (cr_size_bound(end) < 0)
        end = cr_sizes(s, end, '+', size);
    return cr_sizes(s, cr_sizes(s, end, '>', low), '<', high);
}

/* Slices one axis. */
static cr_t slice_axis(struct cr_translation *t, cr_t x, int axis, int64_t start, int64_t end,
                       int64_t step)
{
    struct cr_symbols *s = t->graph->symbols;
    int64_t size = x->shape[axis], low = step > 0 ? 0 : -1, high = cr_sizes(s, size, '+', low);
    if (step == 0 || step == INT64_MIN)
        return cr_onnx_refuse(t, "found a step of 0, expected another number");
    start = limit_end(s, start, size, low, high);
    end = limit_end(s, end, size, low, high);
    int64_t way = step > 0 ? cr_sizes(s, end, '-', start) : cr_sizes(s, start, '-', end), length = llabs(step);
    int64_t n = cr_sizes(s, cr_sizes(s, cr_sizes(s, way, '+', length - 1), '/', length), '>', 0);
    if (step == 1)
        return cr_t_narrow(t, x, axis, n ? start : 0, n);
    n = cr_t_plain(t, n);
    start = cr_t_plain(t, start);
    int64_t *indices = cr_t_axis_array(t, n);
    for (int64_t i = 0; indices && i < n; i++)
        indices[i] = start + i * step;
    return indices ? cr_t_take(t, x, axis, n, indices) : NULL;
}

/* Limits are attributes before version 10, inputs since. */
void cr_op_slice(struct cr_translation *t)
{
    int64_t starts[CR_ONNX_MANY], ends[CR_ONNX_MANY], axes[CR_ONNX_MANY], steps[CR_ONNX_MANY];
    cr_t x = t->in[0];
    bool named = cr_onnx_attribute(t->node, "starts") != NULL;
    int n =
        named ? cr_numbers_named(t, "starts", starts) : cr_numbers_of(t, cr_input(t, 1), starts);
    int m = named ? cr_numbers_named(t, "ends", ends) : cr_numbers_of(t, cr_input(t, 2), ends);
    int n_axes = named            ? cr_numbers_named(t, "axes", axes)
                 : cr_input(t, 3) ? cr_numbers_of(t, cr_input(t, 3), axes)
                                  : -1;
    int n_steps = cr_input(t, 4) ? cr_numbers_of(t, cr_input(t, 4), steps) : -1;
    if (t->failed || n != m || !x || (n_axes >= 0 && n_axes != n)) {
        cr_onnx_refuse(t, "found %d starts and %d ends, expected as many of both", n, m);
        return;
    }
    for (int i = 0; i < n && x; i++)
        x = slice_axis(t, x, cr_axis(t, n_axes >= 0 ? axes[i] : i, x->rank), starts[i], ends[i],
                       i < n_steps ? steps[i] : 1);
    cr_set_output(t, 0, x);
}

/* Sizes are an attribute before version 13, an input since; without them parts have equal sizes. */
void cr_op_split(struct cr_translation *t)
{
    cr_t x = t->in[0];
    int64_t sizes[CR_ONNX_MANY], start = 0;
    if (!x)
        return;
    int axis = cr_axis(t, cr_onnx_integer(t->node, "axis", 0), x->rank), n = t->node->n_outputs;
    int given = cr_input(t, 1) ? cr_numbers_of(t, cr_input(t, 1), sizes)
                               : cr_numbers_named(t, "split", sizes);
    struct cr_symbols *s = t->graph->symbols;
    int64_t all = x->shape[axis], each = cr_sizes(s, cr_sizes(s, all, '+', n - 1), '/', n);
    if (cr_onnx_integer(t->node, "num_outputs", n) != n) {
        cr_onnx_refuse(t, "found another num_outputs than its %d outputs, expected as many", n);
        return;
    }
    if (t->failed || (given >= 0 && given != n)) {
        cr_onnx_refuse(t, "found %d sizes for %d parts, expected one for each", given, n);
        return;
    }
    for (int i = 0; i < n; i++) {
        int64_t size = given >= 0 ? sizes[i] : cr_sizes(s, each, '<', cr_sizes(s, all, '-', start));
        cr_set_output(t, i, cr_t_narrow(t, x, axis, start, size));
        start = cr_sizes(s, start, '+', size);
    }
}

/* ---- dropout ---- */

/* Drops nothing unless the model is in training mode. */
void cr_op_dropout(struct cr_translation *t)
{
    cr_t x = t->in[0], ratio = cr_input(t, 1), training = cr_input(t, 2);
    const double *trains = training ? cr_t_known(t, training) : NULL;
    if (t->failed || !x)
        return;
    if (trains && *trains != 0) {
        const double *p = ratio ? cr_t_known(t, ratio) : NULL;
        if (!ratio || !p || *p != 0) {
            cr_onnx_refuse(t, "found training_mode true, expected false, as it drops elements at random");
            return;
        }
    }
    cr_set_output(t, 0, x);
    if (cr_has_output(t, 1))
        cr_set_output(t, 1, cr_t_full(t, CR_ONNX_BOOL, x->rank, x->shape, 1));
}
