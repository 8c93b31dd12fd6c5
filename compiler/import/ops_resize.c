/*
 * ops_resize.c - Resize and Upsample of ONNX; see ops.h.
 *
 * Sizes are known, so each axis is resized by indices and weights that are known, too: an element of the
 * result is the sum of a few elements times weights.  Elements whose weight is 0 are not read at all, so
 * that NaN and infinities reach no further than the filter does, as they would in a matrix product.
 */
#include <math.h>
#include <string.h>

#include "ops.h"

enum { MOST_REACH = 1 << 28, MOST_SIZE = 1 << 20, MOST_SUMMANDS = 4 };

/* What attributes say, of all axes. */
struct resizing {
    const char *mode, *coordinates, *nearest;
    bool antialias, exclude_outside;
    bool
        whole_width; /* corners are aligned with the size, and not with what it was before rounding */
    double cubic_a, extrapolation;
};

/* An axis: `width` is the size of the result before it is rounded down. */
struct resized_axis {
    int64_t in, out;
    double scale, width, start, end;
    bool by_scale; /* the scale was given, and not the size */
};

/* ---- coordinates ---- */

/* The index divided by the scale, without the rounding of a scale that follows from sizes. */
static double unscaled(const struct resized_axis *a, double index)
{
    return a->by_scale ? index / a->scale : index * (double)a->in / (double)a->out;
}

/* Where in the input element `o` of the result lies. */
static double coordinate(const struct resizing *r, const struct resized_axis *a, int64_t o)
{
    double last = (double)(a->in - 1), at = (double)o;
    double half_pixel = unscaled(a, at + 0.5) - 0.5;
    if (strcmp(r->coordinates, "asymmetric") == 0)
        return unscaled(a, at);
    if (strcmp(r->coordinates, "align_corners") == 0) {
        double width = r->whole_width ? (double)a->out : a->width;
        return width == 1 ? 0 : at * last / (width - 1);
    }
    if (strcmp(r->coordinates, "pytorch_half_pixel") == 0)
        return a->out > 1 ? half_pixel : 0;
    if (strcmp(r->coordinates, "half_pixel_symmetric") == 0)
        return half_pixel + (double)a->in / 2 * (1 - (double)a->out / a->width);
    if (strcmp(r->coordinates, "tf_crop_and_resize") == 0)
        return a->out > 1 ? a->start * last + at * (a->end - a->start) * last / (double)(a->out - 1)
                          : (a->start + a->end) / 2 * last;
    return half_pixel;
}

/* Of tf_crop_and_resize: outside there is only the extrapolation value. */
static bool is_outside(const struct resizing *r, const struct resized_axis *a, double x)
{
    return strcmp(r->coordinates, "tf_crop_and_resize") == 0 &&
           !(x >= 0 && x <= (double)(a->in - 1));
}

static int64_t clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* ---- nearest ---- */

/* A scale that is given is a float, of which a double would take 3 / 0.6f for less than 5: the float that the
 * coordinate rounds to decides. */
static int64_t nearest(const struct resizing *r, const struct resized_axis *a, int64_t o)
{
    double x = coordinate(r, a, o);
    x = a->by_scale ? (double)(float)x : x;
    double below = floor(x), rest = x - below;
    bool up = strcmp(r->nearest, "ceil") == 0                ? rest > 0
              : strcmp(r->nearest, "round_prefer_ceil") == 0 ? rest >= 0.5
                                                             : rest > 0.5;
    if (is_outside(r, a, x))
        return 0;
    return clamp((int64_t)below + (up && strcmp(r->nearest, "floor") != 0), a->in);
}

/* Each element several times in a row is a reshape and an expand; others are taken by their indices. */
static cr_t take_nearest(struct cr_translation *t, cr_t x, int axis, int64_t n,
                         const int64_t *indices)
{
    int64_t shape[CR_ONNX_RANK + 1], wide[CR_ONNX_RANK + 1], size = x->shape[axis];
    bool repeats = x->rank < CR_ONNX_RANK && n % size == 0 && n > size;
    for (int64_t i = 0; i < n && repeats; i++)
        repeats = indices[i] == i / (n / size);
    if (!repeats)
        return cr_t_take(t, x, axis, n, indices);
    memcpy(shape, x->shape, sizeof x->shape);
    memmove(shape + axis + 2, shape + axis + 1, sizeof *shape * (size_t)(x->rank - axis - 1));
    shape[axis + 1] = 1;
    memcpy(wide, shape, sizeof wide);
    wide[axis + 1] = n / size;
    cr_t y = cr_t_reshape(t, x, x->rank + 1, shape);
    y = cr_t_expand(t, y, x->rank + 1, wide);
    memcpy(shape, x->shape, sizeof x->shape);
    shape[axis] = n;
    return cr_t_reshape(t, y, x->rank, shape);
}

/* ---- linear and cubic ---- */

/* How much an element counts that is `x` away. */
static double filter(const struct resizing *r, double x)
{
    double a = r->cubic_a;
    x = fabs(x);
    if (strcmp(r->mode, "linear") == 0)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* The summands of the elements of a result: `n` each, [out, n]. */
struct summands {
    int64_t n;
    int64_t *index;
    double *weight;
};

/* Those of one element, and how many they are; places beyond the ends are those at the ends, or left out.
 * Antialiasing stretches the filter by what the axis shrinks. */
static int64_t find_summands(const struct resizing *r, const struct resized_axis *a, double x,
                             int64_t *index, double *weight)
{
    double stretch = r->antialias && a->scale < 1 ? a->scale : 1, total = 0;
    double reach = (strcmp(r->mode, "linear") == 0 ? 1 : 2) / stretch;
    int64_t n = 0;
    for (double at = floor(x - reach) + 1; at < x + reach; at++) {
        double w = filter(r, (at - x) * stretch);
        int64_t i = clamp((int64_t)at, a->in);
        if (w == 0 || (r->exclude_outside && (at < 0 || at >= (double)a->in)))
            continue;
        total += w;
        if (n > 0 && index[n - 1] == i)
            weight[n - 1] += w;
        else {
            index[n] = i;
            weight[n++] = w;
        }
    }
    for (int64_t i = 0; i < n; i++)
        weight[i] /= total;
    return n;
}

/* As many for each element as the most have: the last one is halved, which changes no sum, also none of
 * infinities. */
static void fill_up(struct summands *s, int64_t row, int64_t found)
{
    int64_t *index = s->index + row * s->n;
    double *weight = s->weight + row * s->n;
    if (found == 0)
        index[0] = 0, weight[0] = 0, found = 1;
    for (int64_t i = found; i < s->n; i++) {
        index[i] = index[i - 1];
        weight[i] = weight[i - 1] /= 2;
    }
}

/* Those of all elements: found once to see how many they are at most, and once more to keep them. */
static struct summands all_summands(struct cr_translation *t, const struct resizing *r,
                                    const struct resized_axis *a)
{
    double stretch = r->antialias && a->scale < 1 ? a->scale : 1;
    int64_t most = (int64_t)(4 / stretch) + 3, found = 1;
    int64_t *index = cr_arena_new(t->arena, (size_t)most, sizeof *index);
    double *weight = cr_arena_new(t->arena, (size_t)most, sizeof *weight);
    struct summands s = {1, NULL, NULL};
    for (int64_t o = 0; o < a->out; o++) {
        double x = coordinate(r, a, o);
        found = is_outside(r, a, x) ? 1 : find_summands(r, a, x, index, weight);
        s.n = found > s.n ? found : s.n;
    }
    s.index = cr_arena_new(t->arena, (size_t)(a->out * s.n), sizeof *index);
    s.weight = cr_arena_new(t->arena, (size_t)(a->out * s.n), sizeof *weight);
    for (int64_t o = 0; o < a->out; o++) {
        double x = coordinate(r, a, o);
        found = is_outside(r, a, x) ? 0 : find_summands(r, a, x, index, weight);
        memcpy(s.index + o * s.n, index, sizeof *index * (size_t)found);
        memcpy(s.weight + o * s.n, weight, sizeof *weight * (size_t)found);
        fill_up(&s, o, found);
    }
    return s;
}

/* Known weights [out, n] of rows, or of groups of n rows. */
static cr_t weights_of_rows(struct cr_translation *t, cr_t rows, int axes, const double *weight)
{
    int64_t shape[CR_ONNX_RANK];
    for (int i = 0; rows && i < rows->rank; i++)
        shape[i] = i < axes ? rows->shape[i] : 1;
    return rows ? cr_t_data(t, rows->type, rows->rank, shape, weight) : NULL;
}

/* Sums of rows: one summand after another, or, of many, all of them as an axis that is summed over. */
static cr_t sum_rows(struct cr_translation *t, cr_t x, int64_t out, const struct summands *s)
{
    int64_t *index = cr_arena_new(t->arena, (size_t)out, sizeof *index);
    double *weight = cr_arena_new(t->arena, (size_t)(out * s->n), sizeof *weight);
    cr_t total = NULL;
    if (s->n > MOST_SUMMANDS) {
        for (int64_t i = 0; i < out * s->n; i++)
            weight[i] = (double)s->index[i];
        cr_t all = cr_t_data(t, CR_ONNX_INT64, 2, (int64_t[]){out, s->n}, weight);
        cr_t rows = cr_t_gather(t, x, all);
        rows = cr_t_binary(t, "*", rows, weights_of_rows(t, rows, 2, s->weight));
        return cr_t_reduce(t, "sum", rows, 1, (int[]){1}, false);
    }
    for (int64_t k = 0; k < s->n && !t->failed; k++) {
        for (int64_t o = 0; o < out; o++) {
            index[o] = s->index[o * s->n + k];
            weight[o] = s->weight[o * s->n + k];
        }
        cr_t rows = cr_t_take(t, x, 0, out, index);
        rows = cr_t_binary(t, "*", rows, weights_of_rows(t, rows, 1, weight));
        total = total ? cr_t_binary(t, "+", total, rows) : rows;
    }
    return total;
}

/* The axis comes to the front, so that its elements are rows, and goes back. */
static cr_t sum_up(struct cr_translation *t, cr_t x, int axis, int64_t out,
                   const struct summands *s)
{
    int front[CR_ONNX_RANK] = {axis}, back[CR_ONNX_RANK];
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            front[i < axis ? i + 1 : i] = i;
        back[i] = i == axis ? 0 : i < axis ? i + 1 : i;
    }
    return cr_t_permute(t, sum_rows(t, cr_t_permute(t, x, front), out, s), back);
}

/* ---- an axis ---- */

/* The extrapolation value where nothing of the input is. */
static cr_t extrapolate(struct cr_translation *t, const struct resizing *r,
                        const struct resized_axis *a, cr_t y, int axis)
{
    double *outside = cr_arena_new(t->arena, (size_t)a->out, sizeof *outside);
    bool any = false;
    for (int64_t o = 0; o < a->out; o++) {
        outside[o] = is_outside(r, a, coordinate(r, a, o));
        any |= outside[o] != 0;
    }
    if (!any || !y)
        return y;
    cr_t where = cr_along(t, cr_t_data(t, CR_ONNX_BOOL, 1, &a->out, outside), y->rank, axis);
    return cr_t_where(t, where, cr_t_number(t, y->type, r->extrapolation), y);
}

/* What keeps its size and place stays; the nearest are taken as they are, others added up. */
static cr_t resize_axis(struct cr_translation *t, const struct resizing *r,
                        const struct resized_axis *a, cr_t x, int axis)
{
    bool crop = strcmp(r->coordinates, "tf_crop_and_resize") == 0;
    if (!x || (a->scale == 1 && a->in == a->out && !(crop && (a->start != 0 || a->end != 1))))
        return x;
    if (strcmp(r->mode, "nearest") == 0) {
        int64_t *index = cr_arena_new(t->arena, (size_t)a->out, sizeof *index);
        for (int64_t o = 0; o < a->out; o++)
            index[o] = nearest(r, a, o);
        return extrapolate(t, r, a, take_nearest(t, x, axis, a->out, index), axis);
    }
    struct summands s = all_summands(t, r, a);
    return extrapolate(t, r, a, sum_up(t, x, axis, a->out, &s), axis);
}

/* ---- the operator ---- */

/* Linear and cubic of integers: rounded, and clipped to what the type holds. */
static cr_t back_to(struct cr_translation *t, cr_t x, enum cr_onnx_type type)
{
    int bits = 8 * cr_onnx_type_bytes(type);
    bool without_sign = type == CR_ONNX_UINT8 || type == CR_ONNX_UINT16 || type == CR_ONNX_UINT32;
    if (cr_language_type(type) == CR_LANGUAGE_F32)
        return x;
    bits = bits > 32 ? 32 : bits;
    double low = without_sign ? 0 : -ldexp(1, bits - 1);
    double high = bits == 32     ? 2147483520.0 /* the largest float that is an i32 */
                  : without_sign ? ldexp(1, bits) - 1
                                 : ldexp(1, bits - 1) - 1;
    x = cr_t_with(t, "minimum", cr_t_with(t, "maximum", cr_t_unary(t, "round", x), low), high);
    return cr_t_cast(t, x, type);
}

/* Along each axis in turn. */
static cr_t resize_all(struct cr_translation *t, const struct resizing *r,
                       const struct resized_axis *axes, cr_t x)
{
    enum cr_onnx_type type = x->type;
    bool blends = strcmp(r->mode, "nearest") != 0;
    for (int i = 0; i < x->rank; i++)
        if (axes[i].out < 1 || axes[i].out > MOST_SIZE || axes[i].in < 1 ||
            axes[i].in > MOST_SIZE || !(axes[i].scale > 0 &&
              (double)axes[i].out / axes[i].scale <= MOST_REACH))
            return cr_onnx_refuse(t, "axis %d from %lld to %lld elements", i, (long long)axes[i].in,
                                  (long long)axes[i].out);
    cr_t y = blends ? cr_t_cast(t, x, CR_ONNX_FLOAT) : x;
    for (int i = 0; i < x->rank; i++)
        y = resize_axis(t, r, &axes[i], y, i);
    return blends ? cr_language_type(type) == CR_LANGUAGE_F32 ? cr_t_cast(t, y, type)
                                                              : back_to(t, y, type)
                  : y;
}

/* Axes that stay as they are. */
static void keep_axes(cr_t x, struct resized_axis *axes)
{
    for (int i = 0; i < x->rank; i++)
        axes[i] =
            (struct resized_axis){x->shape[i], x->shape[i], 1, (double)x->shape[i], 0, 1, false};
}

/* Sizes are rounded down, of products of floats, as other programs do. */
static void set_scale(struct resized_axis *a, double scale)
{
    double width = (double)((float)scale * (float)a->in);
    a->scale = scale;
    a->width = width;
    a->by_scale = true;
    a->out = width >= 1 && width < 2.0 * MOST_SIZE ? (int64_t)width : -1;
}

static void set_size(struct resized_axis *a, int64_t size)
{
    a->out = size;
    a->width = (double)size;
    a->scale = (double)size / (double)a->in;
}

/* The smallest or largest of the scales for all axes, of which sizes follow. */
static void keep_aspect_ratio(bool larger, int n, const int *which, struct resized_axis *axes)
{
    double scale = axes[which[0]].scale;
    for (int i = 1; i < n; i++) {
        double s = axes[which[i]].scale;
        scale = larger ? fmax(scale, s) : fmin(scale, s);
    }
    for (int i = 0; i < n; i++) {
        struct resized_axis *a = &axes[which[i]];
        a->scale = scale;
        a->width = scale * (double)a->in;
        a->by_scale = true;
        a->out = a->width < MOST_SIZE ? (int64_t)floor(a->width + 0.5) : -1;
    }
}

/* Scales or sizes of axes, and regions; false if refused. */
static bool read_axes(struct cr_translation *t, const struct resizing *r, cr_t x, cr_t scales,
                      cr_t sizes, struct resized_axis *axes)
{
    int which[CR_ONNX_RANK], n = cr_axes(t, CR_ONNX_MANY, x->rank, which);
    const char *policy = cr_string(t, "keep_aspect_ratio_policy", "stretch");
    bool crop = strcmp(r->coordinates, "tf_crop_and_resize") == 0;
    cr_t given = scales && cr_t_elements(scales) ? scales : sizes;
    const double *numbers = cr_t_known(t, given);
    const double *region = crop ? cr_t_known(t, cr_input(t, 1)) : NULL;
    keep_axes(x, axes);
    if (!numbers || n < 1 || cr_t_elements(given) != n ||
        (crop && (!region || cr_t_elements(t->in[1]) != 2 * n))) {
        cr_onnx_refuse(t,
                       crop ? "expected %d scales or sizes and a known region of twice as many"
                            : "expected %d scales or sizes, one an axis",
                       n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        struct resized_axis *a = &axes[which[i]];
        if (given == scales)
            set_scale(a, numbers[i]);
        else
            set_size(a, (int64_t)fmax(fmin(numbers[i], 2.0 * MOST_SIZE), -1));
        a->start = region ? region[i] : 0;
        a->end = region ? region[n + i] : 1;
    }
    if (given == sizes && strcmp(policy, "stretch") != 0)
        keep_aspect_ratio(strcmp(policy, "not_smaller") == 0, n, which, axes);
    return true;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* Attributes; what no version of the operator knows is refused.  What PyTorch computes, and exports, aligns
 * corners with whole sizes; ONNX does so with the size times the scale. */
static bool read_attributes(struct cr_translation *t, struct resizing *r)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const coordinates[] = {"half_pixel",
                                              "half_pixel_symmetric",
                                              "pytorch_half_pixel",
                                              "align_corners",
                                              "asymmetric",
                                              "tf_crop_and_resize",
                                              NULL};
    static const char *const nearest_modes[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                                "ceil", NULL};
    *r = (struct resizing){.mode = cr_string(t, "mode", "nearest"),
                           .coordinates =
                               cr_string(t, "coordinate_transformation_mode", "half_pixel"),
                           .nearest = cr_string(t, "nearest_mode", "round_prefer_floor"),
                           .antialias = cr_onnx_integer(t->node, "antialias", 0) != 0,
                           .exclude_outside = cr_onnx_integer(t->node, "exclude_outside", 0) != 0,
                           .whole_width = strcmp(t->graph->model->producer, "pytorch") == 0,
                           .cubic_a = cr_onnx_real(t->node, "cubic_coeff_a", -0.75),
                           .extrapolation = cr_onnx_real(t->node, "extrapolation_value", 0)};
    if (is_one_of(r->mode, modes) && is_one_of(r->coordinates, coordinates) &&
        is_one_of(r->nearest, nearest_modes))
        return true;
    cr_onnx_refuse(t, "mode %s, %s, %s", r->mode, r->coordinates, r->nearest);
    return false;
}

/* Before version 11 coordinates were divided by the scale; the nearest was below, and above where an axis
 * shrinks. */
static void resize_as_before(struct cr_translation *t, cr_t scales)
{
    struct resized_axis axes[CR_ONNX_RANK];
    struct resizing r;
    cr_t x = t->in[0];
    if (!x || !read_attributes(t, &r))
        return;
    r.coordinates = "asymmetric";
    r.nearest = "floor";
    if (!read_axes(t, &r, x, scales, NULL, axes))
        return;
    for (int i = 0; i < x->rank; i++)
        if (axes[i].scale < 1)
            r.nearest = "ceil";
    cr_give(t, 0, resize_all(t, &r, axes, x));
}

void cr_op_resize(struct cr_translation *t)
{
    struct resized_axis axes[CR_ONNX_RANK];
    struct resizing r;
    cr_t x = t->in[0];
    if (t->node->version < 11)
        resize_as_before(t, cr_input(t, 1));
    else if (x && read_attributes(t, &r) &&
             read_axes(t, &r, x, cr_input(t, 2), cr_input(t, 3), axes))
        cr_give(t, 0, resize_all(t, &r, axes, x));
}

/* Before version 9 the scales are an attribute. */
void cr_op_upsample(struct cr_translation *t)
{
    const struct cr_onnx_attribute *a = cr_onnx_typed(t->node, "scales", CR_ONNX_A_FLOATS);
    cr_t scales = cr_input(t, 1);
    if (!scales && a && a->floats)
        scales = cr_t_data(t, CR_ONNX_FLOAT, 1, (int64_t[]){a->n}, a->floats);
    resize_as_before(t, scales);
}
