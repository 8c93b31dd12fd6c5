/*
 * ops_signal.c - Fourier transforms and mel filters of ONNX; see ops.h.
 *
 * A complex number is two floats along the last axis.  A transform of a known length is a product with a
 * known matrix, whose elements are computed in double precision.
 */
#include <math.h>
#include <string.h>

#include "ops.h"

enum { MOST_MATRIX = 1 << 24, MOST_LENGTH = 1 << 20 };

/* A transform of `length` elements: reads `in`, writes `out`, each of one or two floats. */
struct transform {
    int64_t length, in, out;
    int floats_in, floats_out;
    bool inverse, onesided;
};

/* Returns the cosine or sine of 2 pi i / n, with exact zeros. */
static double of_turn(double (*f)(double), int64_t i, int64_t n)
{
    double y = f(2 * acos(-1) * (double)(i % n) / (double)n);
    return fabs(y) < 1e-15 ? 0 : y;
}

/* The factor of float `c` of element i in float `d` of result k, from exp(-2 pi i k / length); the
 * inverse has a plus and divides by the length.  A one-sided inverse counts an element for its
 * conjugate, too. */
static double factor(const struct transform *f, int64_t i, int c, int64_t k, int d)
{
    int64_t turn = i * k % f->length;
    double sign = f->inverse ? 1 : -1, n = f->inverse ? (double)f->length : 1;
    double y = c == d  ? of_turn(cos, turn, f->length)
               : c < d ? sign * of_turn(sin, turn, f->length)
                       : -sign * of_turn(sin, turn, f->length);
    if (f->inverse && f->onesided && i > 0 && 2 * i != f->length)
        y *= 2;
    return y / n;
}

/* Makes the matrix [in floats_in, out floats_out] of a transform. */
static cr_t matrix_of(struct cr_translation *t, enum cr_onnx_type type, const struct transform *f)
{
    const int64_t shape[] = {f->in * f->floats_in, f->out * f->floats_out};
    if (f->length > MOST_LENGTH || shape[0] * shape[1] > MOST_MATRIX)
        return cr_onnx_refuse(t, "found a transform of %lld elements, expected a matrix of at "
                              "most %d for it", (long long)f->length, MOST_MATRIX);
    double *data = cr_t_array(t, shape[0] * shape[1]);
    for (int64_t i = 0; i < shape[0]; i++)
        for (int64_t k = 0; k < shape[1]; k++)
            data[i * shape[1] + k] = factor(f, i / f->floats_in, (int)(i % f->floats_in),
                                            k / f->floats_out, (int)(k % f->floats_out));
    return cr_t_computed(t, type, 2, shape, data);
}

/* Transforms along an axis that is not the last, padded with zeros or cut to the length. */
static cr_t transform(struct cr_translation *t, cr_t x, int axis, struct transform f)
{
    int64_t shape[CR_ONNX_RANK];
    int last = x->rank - 1;
    f.in = f.inverse && f.onesided ? f.length / 2 + 1 : f.length;
    f.out = f.onesided && !f.inverse ? f.length / 2 + 1 : f.length;
    f.floats_in = (int)x->shape[last];
    f.floats_out = f.inverse && f.onesided ? 1 : 2;
    if (f.length < 1 || f.length > MOST_LENGTH)
        return cr_onnx_refuse(t, "a transform of %lld elements", (long long)f.length);
    if (f.in > x->shape[axis])
        x = cr_t_pad(t, x, axis, 0, f.in - x->shape[axis], 0);
    x = cr_t_swap(t, cr_t_narrow(t, x, axis, 0, f.in), axis, last - 1);
    if (!x)
        return NULL;
    memcpy(shape, x->shape, sizeof shape);
    shape[last - 1] = f.in * f.floats_in;
    cr_t y = cr_t_matmul(t, cr_t_reshape(t, x, last, shape), matrix_of(t, x->type, &f));
    shape[last - 1] = f.out;
    shape[last] = f.floats_out;
    return cr_t_swap(t, cr_t_reshape(t, y, last + 1, shape), axis, last - 1);
}

/* Reads a known integer; keeps *number if the input is omitted.  Returns false after an error. */
static bool read_integer(struct cr_translation *t, int input, int64_t *number)
{
    int64_t numbers[CR_ONNX_MANY];
    cr_t x = cr_input(t, input);
    if (x && cr_numbers_of(t, x, numbers) != 1) {
        cr_onnx_refuse(t, "expected one number for input %d", input + 1);
        return false;
    }
    *number = x ? numbers[0] : *number;
    return true;
}

/* The axis is an attribute before version 20, an input since. */
void cr_op_dft(struct cr_translation *t)
{
    cr_t x = t->in[0];
    bool before = t->node->version < 20;
    struct transform f = {.inverse = cr_onnx_integer(t->node, "inverse", 0) != 0,
                          .onesided = cr_onnx_integer(t->node, "onesided", 0) != 0};
    int64_t at = before ? cr_onnx_integer(t->node, "axis", 1) : -2;
    if (!x || (!before && !read_integer(t, 2, &at)))
        return;
    int axis = cr_axis(t, at, x->rank);
    if (t->failed || x->rank < 2 || axis == x->rank - 1 || x->shape[x->rank - 1] < 1 ||
        x->shape[x->rank - 1] > 2) {
        cr_onnx_refuse(t, "axis %lld of %d, whose last one is real or complex numbers",
                       (long long)at, x->rank);
        return;
    }
    if (cr_t_plain(t, x->shape[axis]) < 0 || t->failed)
        return;
    f.length = f.inverse && f.onesided ? 2 * (x->shape[axis] - 1) : x->shape[axis];
    if (read_integer(t, 1, &f.length))
        cr_give(t, 0, transform(t, x, axis, f));
}

/* Cuts a signal [N, n, floats] into frames [N, frames, length, floats]. */
static cr_t frames_of(struct cr_translation *t, cr_t x, int64_t length, int64_t step)
{
    if (length < 1 || step < 1 || length > x->shape[1])
        return cr_onnx_refuse(t, "found frames of %lld elements by steps of %lld over %lld, "
                              "expected them to fit", (long long)length, (long long)step,
                              (long long)x->shape[1]);
    const int64_t shape[] = {(x->shape[1] - length) / step + 1, length};
    cr_t at = cr_t_binary(t, "+", cr_t_with(t, "*", cr_t_iota(t, 2, shape, 0), (double)step),
                          cr_t_iota(t, 2, shape, 1));
    return cr_t_gather_axis(t, x, at, 1);
}

/* Transforms frames multiplied by a window.  A signal without an axis of floats is real. */
void cr_op_stft(struct cr_translation *t)
{
    cr_t x = t->in[0], window = cr_input(t, 2);
    struct transform f = {.onesided = cr_onnx_integer(t->node, "onesided", 1) != 0};
    int64_t step = 0;
    if (x && x->rank == 2)
        x = cr_t_reshape(t, x, 3, (int64_t[]){x->shape[0], x->shape[1], 1});
    if (!x || !read_integer(t, 1, &step) || (x->rank == 3 && cr_t_plain(t, x->shape[1]) < 0) || t->failed)
        return;
    f.length = window ? cr_t_elements(window) : x->rank == 3 ? x->shape[1] : 0;
    if (!read_integer(t, 3, &f.length))
        return;
    if (x->rank != 3 || x->shape[2] > 2 || (window && cr_t_elements(window) != f.length)) {
        cr_onnx_refuse(t, "expected a signal [N, n, 1 or 2] and a window as long as a frame");
        return;
    }
    cr_t frames = frames_of(t, x, f.length, step);
    if (window)
        frames = cr_t_binary(t, "*", frames, cr_gather_axis(t, window, 4, 2));
    cr_give(t, 0, frames ? transform(t, frames, 2, f) : NULL);
}

/* ---- mel ---- */

/* Returns the bin of a spectrum at which a triangle of the filter bank begins, peaks or ends. */
static int64_t mel_bin(const double *low, const double *high, int64_t i, int64_t bins,
                       int64_t length, int64_t rate)
{
    double from = 2595 * log10(1 + *low / 700), to = 2595 * log10(1 + *high / 700);
    double mel = from + (double)i * (to - from) / (double)(bins + 2);
    return (int64_t)floor((double)(length + 1) * 700 * (pow(10, mel / 2595) - 1) / (double)rate);
}

/* Writes a triangle over the bins of a spectrum, a column of [rows, bins]. */
static void put_triangle(double *column, int64_t rows, int64_t bins, const int64_t *at)
{
    for (int64_t j = at[0]; j <= at[1] && j < rows; j++)
        if (j >= 0)
            column[j * bins] = at[1] == at[0] ? 1 : (double)(j - at[0]) / (double)(at[1] - at[0]);
    for (int64_t j = at[1]; j < at[2] && j < rows; j++)
        if (j >= 0)
            column[j * bins] = (double)(at[2] - j) / (double)(at[2] - at[1]);
}

/* Computes the matrix [length / 2 + 1, bins]; all inputs have to be known. */
void cr_op_mel_weight_matrix(struct cr_translation *t)
{
    int64_t bins = 0, length = 0, rate = 0;
    if (!read_integer(t, 0, &bins) || !read_integer(t, 1, &length) || !read_integer(t, 2, &rate))
        return;
    const double *low = cr_t_known(t, cr_input(t, 3)), *high = cr_t_known(t, cr_input(t, 4));
    if (!low || !high)
        return;
    if (bins < 1 || length < 1 || rate < 1 || bins > MOST_LENGTH || length > MOST_LENGTH ||
        bins * (length / 2 + 1) > MOST_MATRIX || !(*low >= 0) || !(*high >= *low) ||
        *high > (double)rate) {
        cr_onnx_refuse(t, "%lld bins from %g to %g Hz", (long long)bins, *low, *high);
        return;
    }
    const int64_t shape[] = {length / 2 + 1, bins};
    double *data = cr_t_array(t, shape[0] * bins);
    for (int64_t i = 0; i < bins; i++) {
        int64_t at[3];
        for (int k = 0; k < 3; k++)
            at[k] = mel_bin(low, high, i + k, bins, length, rate);
        put_triangle(data + i, shape[0], bins, at);
    }
    cr_give(t, 0,
            cr_t_computed(
                t, (enum cr_onnx_type)cr_onnx_integer(t->node, "output_datatype", CR_ONNX_FLOAT), 2,
                shape, data));
}
