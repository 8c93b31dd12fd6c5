/* ops_conv.c - convolutions and pools of ONNX, of windows that are gathered; see ops.h. */
#include <math.h>
#include <string.h>

#include "ops.h"

enum { SPACE = CR_ONNX_RANK - 2, MOST_PLACES = 1024 };

/* A window that moves over the axes from 2 on. */
struct window {
    int n;
    int64_t kernel[SPACE], stride[SPACE], dilation[SPACE], before[SPACE], after[SPACE], out[SPACE];
    int64_t overhang[SPACE]; /* of ceil_mode: what the last window has beyond the padding */
    int places;
};

/* Numbers of an attribute, or the same number for each axis. */
static int read_list(struct cr_translation *t, const char *name, int n, int64_t otherwise,
                     int64_t *out)
{
    int64_t numbers[CR_ONNX_MANY];
    int given = cr_numbers_named(t, name, numbers);
    if (given > 0 && given != n) {
        cr_onnx_refuse(t, "%d %s, expected %d", given, name, n);
        return -1;
    }
    for (int i = 0; i < n; i++)
        out[i] = given > 0 ? numbers[i] : otherwise;
    return 0;
}

/* How far a window reaches along an axis. */
static int64_t reach(const struct window *w, int i)
{
    return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

/* The padding that an attribute names: none, or what makes the result ceil(size / stride) long. */
static void auto_pads(struct cr_translation *t, cr_t x, struct window *w)
{
    const char *mode = cr_string(t, "auto_pad", "NOTSET");
    for (int i = 0; i < w->n && strcmp(mode, "NOTSET") != 0; i++) {
        int64_t size = x->shape[2 + i], out = (size + w->stride[i] - 1) / w->stride[i];
        int64_t more = (out - 1) * w->stride[i] + reach(w, i) - size;
        more = more < 0 || strcmp(mode, "VALID") == 0 ? 0 : more;
        bool lower = strcmp(mode, "SAME_LOWER") == 0;
        w->before[i] = lower ? more - more / 2 : more / 2;
        w->after[i] = more - w->before[i];
    }
}

/* The results' sizes; with ceil_mode a last window may reach over the padding, but not begin there. */
static void find_sizes(struct cr_translation *t, cr_t x, struct window *w)
{
    bool ceil = cr_onnx_integer(t->node, "ceil_mode", 0) != 0;
    w->places = 1;
    for (int i = 0; i < w->n && !t->failed; i++) {
        int64_t size = x->shape[2 + i], room = size + w->before[i] + w->after[i] - reach(w, i);
        if (room < 0 || w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1) {
            cr_onnx_refuse(t, "a window of %lld over %lld elements", (long long)reach(w, i),
                           (long long)size);
            return;
        }
        w->out[i] = (ceil ? (room + w->stride[i] - 1) / w->stride[i] : room / w->stride[i]) + 1;
        if (ceil && (w->out[i] - 1) * w->stride[i] >= size + w->before[i])
            w->out[i]--;
        int64_t needed = (w->out[i] - 1) * w->stride[i] + reach(w, i);
        int64_t over = needed - (size + w->before[i] + w->after[i]);
        w->overhang[i] = over > 0 ? over : 0;
        if (w->kernel[i] > MOST_PLACES || (w->places *= (int)w->kernel[i]) > MOST_PLACES) {
            cr_onnx_refuse(t, "a kernel of more than %d places", MOST_PLACES);
            return;
        }
    }
}

/* What the attributes say of a window of that kernel; false if refused. */
static bool read_window(struct cr_translation *t, cr_t x, const int64_t *kernel, struct window *w)
{
    int64_t pads[2 * SPACE];
    *w = (struct window){.n = x->rank - 2};
    if (x->rank < 3 || 2 + 2 * w->n > CR_ONNX_RANK) {
        cr_onnx_refuse(t, "a tensor of %d axes, expected 3 to 5", x->rank);
        return false;
    }
    for (int i = 0; kernel && i < w->n; i++)
        w->kernel[i] = kernel[i];
    if ((!kernel && read_list(t, "kernel_shape", w->n, 1, w->kernel)) ||
        read_list(t, "strides", w->n, 1, w->stride) ||
        read_list(t, "dilations", w->n, 1, w->dilation) || read_list(t, "pads", 2 * w->n, 0, pads))
        return false;
    for (int i = 0; i < w->n; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[w->n + i];
    }
    auto_pads(t, x, w);
    find_sizes(t, x, w);
    return !t->failed;
}

static cr_t pad_all(struct cr_translation *t, cr_t x, const struct window *w, bool overhang,
                    double fill)
{
    for (int i = 0; i < w->n; i++)
        x = cr_t_pad(t, x, 2 + i, w->before[i], w->after[i] + (overhang ? w->overhang[i] : 0),
                     fill);
    return x;
}

/* The index along an axis of place k of window o, [out, kernel]: o * stride + k * dilation. */
static cr_t window_index(struct cr_translation *t, const struct window *w, int i)
{
    const int64_t shape[] = {w->out[i], w->kernel[i]};
    cr_t o = cr_t_iota(t, 2, shape, 0), k = cr_t_iota(t, 2, shape, 1);
    return cr_t_binary(t, "+", cr_t_with(t, "*", o, (double)w->stride[i]),
                       cr_t_with(t, "*", k, (double)w->dilation[i]));
}

/* Whether windows lie side by side along an axis, so that cutting it is enough. */
static bool is_tiled(const struct window *w, int i)
{
    return w->stride[i] == w->kernel[i] && w->dilation[i] == 1;
}

/* Each axis of space as two, the window's number and the place in it: [N, C, out, k, out, k, ..].  Axes
 * before are done already. */
static cr_t windows(struct cr_translation *t, cr_t x, const struct window *w)
{
    for (int i = 0; i < w->n && x; i++) {
        int axis = 2 + 2 * i;
        int64_t shape[CR_ONNX_RANK + 1];
        if (x->rank + 1 > CR_ONNX_RANK)
            return cr_onnx_refuse(t, "windows over %d axes, expected at most 3", w->n);
        if (is_tiled(w, i)) {
            x = cr_t_narrow(t, x, axis, 0, w->out[i] * w->kernel[i]);
            memcpy(shape, x->shape, sizeof x->shape);
            memmove(shape + axis + 2, shape + axis + 1,
                    sizeof(int64_t) * (size_t)(x->rank - axis - 1));
            shape[axis] = w->out[i];
            shape[axis + 1] = w->kernel[i];
            x = cr_t_reshape(t, x, x->rank + 1, shape);
        } else
            x = cr_t_gather_axis(t, x, window_index(t, w, i), axis);
    }
    return x;
}

/* ---- pools ---- */

/* All places of each window, summed or compared (`how` is sum or max). */
static cr_t pool(struct cr_translation *t, cr_t x, const struct window *w, const char *how)
{
    int axes[SPACE];
    for (int i = 0; i < w->n; i++)
        axes[i] = 3 + 2 * i;
    return cr_t_reduce(t, how, windows(t, x, w), w->n, axes, false);
}

enum { MOST_INDEX = 1 << 28 }; /* so that sums of a few stay in an i32 */

/* Minus the index along an axis of each place of a window, times the elements that one step skips; far
 * below where there is only padding.  As windows() has axes. */
static cr_t minus_index(struct cr_translation *t, cr_t x, const struct window *w, int i,
                        int64_t step)
{
    int64_t shape[CR_ONNX_RANK];
    cr_t at = cr_t_with(t, "-", window_index(t, w, i), (double)w->before[i]);
    cr_t inside = cr_t_binary(t, "logical_and", cr_t_with(t, "ge", at, 0),
                              cr_t_with(t, "lt", at, (double)x->shape[2 + i]));
    at = cr_t_where(t, inside, cr_t_with(t, "*", at, -(double)step),
                    cr_t_number(t, CR_ONNX_INT64, -MOST_INDEX));
    for (int k = 0; k < 2 + 2 * w->n; k++)
        shape[k] = k == 2 + 2 * i ? w->out[i] : k == 3 + 2 * i ? w->kernel[i] : 1;
    return cr_t_reshape(t, at, 2 + 2 * w->n, shape);
}

/* An index into the axes of space, with the last one running fastest, as one with the first one doing so. */
static cr_t column_major(struct cr_translation *t, cr_t index, cr_t x)
{
    cr_t total = NULL;
    int64_t step = 1, rest = 1;
    for (int i = 2; i < x->rank; i++)
        rest *= x->shape[i];
    for (int i = 2; i < x->rank; i++) {
        rest /= x->shape[i];
        cr_t at = cr_t_with(t, "remainder", cr_t_with(t, "floor_divide", index, (double)rest),
                            (double)x->shape[i]);
        at = cr_t_with(t, "*", at, (double)step);
        total = total ? cr_t_binary(t, "+", total, at) : at;
        step *= x->shape[i];
    }
    return total;
}

/* The index into x of the first place of each window that is as large as the largest: of all such places
 * the one with the largest of minus its index. */
static cr_t largest_index(struct cr_translation *t, cr_t x, cr_t places, const struct window *w)
{
    int axes[SPACE];
    int64_t step = 1, shape[CR_ONNX_RANK] = {x->shape[0], x->shape[1]};
    for (int i = 0; i < w->n; i++) {
        axes[i] = 3 + 2 * i;
        shape[2 + i] = 1;
    }
    cr_t hit = cr_t_binary(t, "eq", places, cr_t_reduce(t, "max", places, w->n, axes, true));
    if (cr_language_type(x->type) == CR_LANGUAGE_F32) /* NaN is larger than all */
        hit = cr_t_binary(t, "logical_or", hit, cr_t_binary(t, "ne", places, places));
    cr_t at = NULL;
    for (int i = w->n - 1; i >= 0; i--) {
        cr_t along = minus_index(t, x, w, i, step);
        at = at ? cr_t_binary(t, "+", at, along)
                : cr_t_where(t, hit, along, cr_t_number(t, CR_ONNX_INT64, -4.0 * MOST_INDEX));
        step *= x->shape[2 + i];
    }
    if (step > MOST_INDEX)
        return cr_onnx_refuse(t, "indices into more than %d elements", MOST_INDEX);
    at = cr_t_unary(t, "neg", cr_t_reduce(t, "max", at, w->n, axes, false));
    if (cr_onnx_integer(t->node, "storage_order", 0) != 0)
        at = column_major(t, at, x);
    const int64_t pictures = shape[0] * shape[1];
    cr_t picture = cr_t_reshape(t, cr_t_iota(t, 1, &pictures, 0), x->rank, shape);
    return cr_t_binary(t, "+", at, cr_t_with(t, "*", picture, (double)step));
}

/* Padding is smaller than any element. */
void cr_op_max_pool(struct cr_translation *t)
{
    struct window w;
    int axes[SPACE];
    cr_t x = t->in[0];
    if (!x || !read_window(t, x, NULL, &w))
        return;
    for (int i = 0; i < w.n; i++)
        axes[i] = 3 + 2 * i;
    bool whole = cr_language_type(x->type) == CR_LANGUAGE_I32;
    cr_t places = windows(t, pad_all(t, x, &w, true, whole ? -128 : -INFINITY), &w);
    cr_give(t, 0, cr_t_reduce(t, "max", places, w.n, axes, false));
    if (cr_wants(t, 1))
        cr_give(t, 1, largest_index(t, x, places, &w));
}

/* The size of an axis from which a pool of that many windows came, or -1 if that cannot be. */
static int64_t unpooled(int64_t windows, int64_t kernel, int64_t stride, int64_t before,
                        int64_t after)
{
    double size = (double)(windows - 1) * (double)stride + (double)kernel - (double)before;
    size -= (double)after;
    return stride >= 1 && size >= 1 && size <= MOST_INDEX ? (int64_t)size : -1;
}

/* The shape from which a pool came, by its attributes; false if refused. */
static bool unpooled_shape(struct cr_translation *t, cr_t x, int64_t *shape)
{
    int64_t kernel[SPACE], stride[SPACE], pads[2 * SPACE];
    int n = x->rank - 2;
    if (n < 1) {
        cr_onnx_refuse(t, "a tensor of %d axes, expected [N, C, ..]", x->rank);
        return false;
    }
    if (read_list(t, "kernel_shape", n, 1, kernel) || read_list(t, "strides", n, 1, stride) ||
        read_list(t, "pads", 2 * n, 0, pads))
        return false;
    memcpy(shape, x->shape, sizeof x->shape);
    for (int i = 0; i < n; i++) {
        shape[2 + i] = unpooled(x->shape[2 + i], kernel[i], stride[i], pads[i], pads[n + i]);
        if (shape[2 + i] < 0) {
            cr_onnx_refuse(t, "axis %d of %lld elements, by steps of %lld", 2 + i,
                           (long long)x->shape[2 + i], (long long)stride[i]);
            return false;
        }
    }
    return true;
}

/* Elements go back to where their indices say, of zeros; the rest of a larger output is zeros, too. */
void cr_op_max_unpool(struct cr_translation *t)
{
    int64_t shape[CR_ONNX_RANK], wanted[CR_ONNX_MANY];
    cr_t x = t->in[0], index = cr_input(t, 1), sizes = cr_input(t, 2);
    if (!x || !index || !unpooled_shape(t, x, shape))
        return;
    if (cr_t_elements(x) != cr_t_elements(index) ||
        (sizes && cr_numbers_of(t, sizes, wanted) != x->rank)) {
        cr_onnx_refuse(t, "expected an index for each element, and a size for each axis");
        return;
    }
    int64_t from = cr_t_elements(x);
    cr_t zeros = cr_t_full(t, x->type, x->rank, shape, 0);
    int64_t to = zeros ? cr_t_elements(zeros) : 0;
    cr_t y = cr_t_scatter(t, cr_t_reshape(t, zeros, 1, &to), cr_t_reshape(t, x, 1, &from),
                          cr_t_reshape(t, index, 1, &from), 0);
    y = cr_t_reshape(t, y, x->rank, shape);
    for (int i = 0; sizes && y && i < x->rank; i++) {
        if (wanted[i] < y->shape[i] || wanted[i] > MOST_INDEX) {
            cr_onnx_refuse(t, "a size of %lld for axis %d", (long long)wanted[i], i);
            return;
        }
        y = cr_t_pad(t, y, i, 0, wanted[i] - y->shape[i], 0);
    }
    cr_give(t, 0, y);
}

/* How many elements each window has: known, as the sum over ones. */
static cr_t counts(struct cr_translation *t, cr_t x, const struct window *w, bool padding)
{
    int64_t shape[CR_ONNX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[0] = shape[1] = 1;
    cr_t ones = cr_t_full(t, x->type, x->rank, shape, 1);
    for (int i = 0; i < w->n; i++) {
        ones = cr_t_pad(t, ones, 2 + i, w->before[i], w->after[i], padding ? 1 : 0);
        ones = cr_t_pad(t, ones, 2 + i, 0, w->overhang[i], 0);
    }
    return pool(t, ones, w, "sum");
}

void cr_op_average_pool(struct cr_translation *t)
{
    struct window w;
    cr_t x = t->in[0];
    if (!x || !read_window(t, x, NULL, &w))
        return;
    cr_t total = pool(t, pad_all(t, x, &w, true, 0), &w, "sum");
    bool padding = cr_onnx_integer(t->node, "count_include_pad", 0) != 0;
    cr_give(t, 0, cr_t_binary(t, "/", total, counts(t, x, &w, padding)));
}

/* (sum of |x|^p)^(1 / p) */
void cr_op_lp_pool(struct cr_translation *t)
{
    struct window w;
    cr_t x = t->in[0];
    double p = (double)cr_onnx_integer(t->node, "p", 2);
    if (!x || !read_window(t, x, NULL, &w))
        return;
    cr_t powers = cr_t_with(t, "pow", cr_t_unary(t, "abs", x), p);
    cr_t total = pool(t, pad_all(t, powers, &w, true, 0), &w, "sum");
    cr_give(t, 0, p == 2 ? cr_t_unary(t, "sqrt", total) : cr_t_with(t, "pow", total, 1 / p));
}

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

/* ---- convolutions ---- */

static int64_t product(const int64_t *sizes, int n)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= sizes[i];
    return p;
}

/* The elements under each place of the kernel, [N, C, K, L] with L places of the window. */
static cr_t columns(struct cr_translation *t, cr_t x, const struct window *w)
{
    const int64_t shape[] = {x->shape[0], x->shape[1], product(w->kernel, w->n),
                             product(w->out, w->n)};
    int axes[CR_ONNX_RANK] = {0, 1};
    for (int i = 0; i < w->n; i++) {
        axes[2 + i] = 3 + 2 * i;
        axes[2 + w->n + i] = 2 + 2 * i;
    }
    cr_t y = windows(t, pad_all(t, x, w, false, 0), w);
    return y ? cr_t_reshape(t, cr_t_permute(t, y, axes), 4, shape) : NULL;
}

/* The weights [M, C / groups, k..] times the columns of each group, plus the bias: [N, M, out..]. */
static cr_t convolve(struct cr_translation *t, cr_t x, cr_t weights, cr_t bias, int64_t groups,
                     const struct window *w)
{
    int64_t N = x->shape[0], C = x->shape[1], M = weights->shape[0], shape[CR_ONNX_RANK] = {N, M};
    int64_t K = product(w->kernel, w->n), L = product(w->out, w->n);
    if (groups < 1 || C % groups || M % groups || weights->shape[1] != C / groups)
        return cr_onnx_refuse(t, "%lld groups of %lld and %lld channels", (long long)groups,
                              (long long)C, (long long)M);
    cr_t cols = columns(t, x, w), y;
    if (groups == 1)
        y = cr_t_matmul(t, cr_t_reshape(t, weights, 2, (int64_t[]){M, C * K}),
                        cr_t_reshape(t, cols, 3, (int64_t[]){N, C * K, L}));
    else
        y = cr_t_matmul(
            t, cr_t_reshape(t, weights, 3, (int64_t[]){groups, M / groups, C / groups * K}),
            cr_t_reshape(t, cols, 4, (int64_t[]){N, groups, C / groups * K, L}));
    memcpy(shape + 2, w->out, sizeof(int64_t) * (size_t)w->n);
    y = cr_t_reshape(t, y, x->rank, shape);
    return bias ? cr_t_binary(t, "+", y, cr_along(t, bias, x->rank, 1)) : y;
}

void cr_op_conv(struct cr_translation *t)
{
    struct window w;
    cr_t x = t->in[0], weights = cr_input(t, 1);
    if (!x || !weights || weights->rank != x->rank || !read_window(t, x, weights->shape + 2, &w))
        return;
    cr_give(t, 0,
            convolve(t, x, weights, cr_input(t, 2), cr_onnx_integer(t->node, "group", 1), &w));
}

/* Zeros between the elements of an axis: as many as a stride leaves out. */
static cr_t spread(struct cr_translation *t, cr_t x, int axis, int64_t stride)
{
    int64_t shape[CR_ONNX_RANK], size = x ? x->shape[axis] : 0;
    if (!x || stride == 1)
        return x;
    memcpy(shape, x->shape, sizeof shape);
    memmove(shape + axis + 2, shape + axis + 1, sizeof(int64_t) * (size_t)(x->rank - axis - 1));
    shape[axis + 1] = 1;
    cr_t y = cr_t_pad(t, cr_t_reshape(t, x, x->rank + 1, shape), axis + 1, 0, stride - 1, 0);
    shape[axis] = size * stride;
    memmove(shape + axis + 1, shape + axis + 2, sizeof(int64_t) * (size_t)(x->rank - axis - 1));
    return cr_t_narrow(t, cr_t_reshape(t, y, x->rank, shape), axis, 0, (size - 1) * stride + 1);
}

/* [C, M / groups, k..] to [M, C / groups, k..], mirrored. */
static cr_t turned(struct cr_translation *t, cr_t weights, int64_t groups)
{
    int64_t shape[CR_ONNX_RANK], C = weights->shape[0], M = weights->shape[1];
    if (weights->rank + 1 > CR_ONNX_RANK || groups < 1 || C % groups)
        return cr_onnx_refuse(t, "%lld groups of %lld channels", (long long)groups, (long long)C);
    for (int i = 2; i < weights->rank; i++) {
        int64_t n = weights->shape[i], *indices = cr_t_axis_array(t, n);
        for (int64_t k = 0; indices && k < n; k++)
            indices[k] = n - 1 - k;
        weights = indices ? cr_t_take(t, weights, i, n, indices) : NULL;
        if (!weights)
            return NULL;
    }
    memcpy(shape + 1, weights->shape, sizeof(int64_t) * (size_t)weights->rank);
    shape[0] = groups;
    shape[1] = C / groups;
    cr_t y = cr_t_swap(t, cr_t_reshape(t, weights, weights->rank + 1, shape), 1, 2);
    shape[1] = groups * M;
    shape[2] = C / groups;
    return cr_t_reshape(t, y, weights->rank, shape + 1);
}

/* A convolution of the spread tensor with the mirrored kernel. */
void cr_op_conv_transpose(struct cr_translation *t)
{
    cr_t x = t->in[0], weights = cr_input(t, 1);
    struct window w = {0};
    int64_t pads[2 * SPACE], more[SPACE], asked[CR_ONNX_MANY];
    const char *mode = cr_string(t, "auto_pad", "NOTSET");
    if (!x || !weights || x->rank != weights->rank || x->rank < 3 || x->rank + 1 > CR_ONNX_RANK)
        return;
    w.n = x->rank - 2;
    if (read_list(t, "strides", w.n, 1, w.stride) ||
        read_list(t, "dilations", w.n, 1, w.dilation) || read_list(t, "pads", 2 * w.n, 0, pads) ||
        read_list(t, "output_padding", w.n, 0, more))
        return;
    int n_asked = cr_numbers_named(t, "output_shape", asked);
    int64_t groups = cr_onnx_integer(t->node, "group", 1);
    for (int i = 0; i < w.n; i++) {
        w.kernel[i] = weights->shape[2 + i];
        int64_t full = (x->shape[2 + i] - 1) * w.stride[i] + more[i] + reach(&w, i);
        int64_t out = full - pads[i] - pads[w.n + i];
        bool same = strncmp(mode, "SAME", 4) == 0;
        if (n_asked > 0 || same) {
            out = n_asked > 0 ? asked[n_asked - w.n + i] : x->shape[2 + i] * w.stride[i];
            int64_t total = full - out;
            total = total < 0 ? 0 : total;
            bool upper = strcmp(mode, "SAME_UPPER") == 0;
            pads[i] = upper ? total / 2 : total - total / 2;
        }
        x = spread(t, x, 2 + i, w.stride[i]);
        if (!x)
            return;
        w.before[i] = reach(&w, i) - 1 - pads[i];
        w.after[i] = out + reach(&w, i) - 1 - x->shape[2 + i] - w.before[i];
        w.stride[i] = 1;
        w.out[i] = out;
    }
    find_sizes(t, x, &w);
    weights = t->failed ? NULL : turned(t, weights, groups);
    if (weights)
        cr_give(t, 0, convolve(t, x, weights, cr_input(t, 2), groups, &w));
}

/* A convolution of each channel over the past: the state is what comes before. */
void cr_op_causal_conv_with_state(struct cr_translation *t)
{
    cr_t x = t->in[0], weights = cr_input(t, 1), past = cr_input(t, 3);
    const char *activation = cr_string(t, "activation", "none");
    if (!x || !weights || x->rank != 3 || weights->rank != 3)
        return;
    int64_t k = weights->shape[2];
    cr_t all = past ? cr_t_concat(t, (cr_t[]){past, x}, 2, 2) : cr_t_pad(t, x, 2, k - 1, 0, 0);
    struct window w = {.n = 1,
                       .kernel = {k},
                       .stride = {1},
                       .dilation = {1},
                       .out = {x->shape[2]},
                       .places = (int)k};
    if (!all || k > MOST_PLACES)
        return;
    cr_t y = convolve(t, all, weights, cr_input(t, 2), x->shape[1], &w);
    cr_give(t, 0, strcmp(activation, "none") == 0 ? y : cr_t_like(t, "nn.silu", y, NULL));
    if (cr_wants(t, 1))
        cr_give(t, 1, cr_t_narrow(t, all, 2, all->shape[2] - (k - 1), k - 1));
}

/* Places of columns added up where they overlap: [N, C K, L] to [N, C, image..]. */
void cr_op_col2im(struct cr_translation *t)
{
    int64_t image[CR_ONNX_MANY], kernel[CR_ONNX_MANY], pads[2 * SPACE], shape[CR_ONNX_RANK];
    cr_t x = t->in[0], total = NULL;
    int n = cr_numbers_of(t, cr_input(t, 1), image), m = cr_numbers_of(t, cr_input(t, 2), kernel);
    struct window w = {.n = n, .places = 1};
    if (!x || n < 1 || n != m || n > SPACE - 1 || x->rank != 3 || t->failed) {
        cr_onnx_refuse(t, "expected columns [N, C, L] of an image");
        return;
    }
    if (read_list(t, "strides", n, 1, w.stride) || read_list(t, "dilations", n, 1, w.dilation) ||
        read_list(t, "pads", 2 * n, 0, pads))
        return;
    for (int i = 0; i < n; i++) {
        w.kernel[i] = kernel[i];
        w.before[i] = pads[i];
        w.after[i] = pads[n + i];
        w.places *= (int)kernel[i];
        int64_t room = image[i] + pads[i] + pads[n + i] - reach(&w, i);
        w.out[i] = room / w.stride[i] + 1;
        if (kernel[i] < 1 || room < 0 || w.places > MOST_PLACES)
            return;
    }
    int64_t C = x->shape[1] / w.places;
    cr_t places = cr_t_reshape(t, x, 4, (int64_t[]){x->shape[0], C, w.places, x->shape[2]});
    for (int p = 0; p < w.places && places; p++) {
        int rest = p;
        shape[0] = x->shape[0];
        shape[1] = C;
        memcpy(shape + 2, w.out, sizeof(int64_t) * (size_t)n);
        cr_t part = cr_t_reshape(t, cr_t_narrow(t, places, 2, p, 1), 2 + n, shape);
        for (int i = n - 1; i >= 0; i--) {
            int64_t at = rest % kernel[i] * w.dilation[i] - w.before[i];
            rest /= (int)kernel[i];
            part = spread(t, part, 2 + i, w.stride[i]);
            part =
                part ? cr_t_pad(t, part, 2 + i, at, image[i] - at - part->shape[2 + i], 0) : NULL;
        }
        total = total ? cr_t_binary(t, "+", total, part) : part;
    }
    cr_give(t, 0, total);
}
