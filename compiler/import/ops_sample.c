/*
 * ops_sample.c - operators of ONNX that read a picture between its elements; see ops.h.
 *
 * Coordinates are known only when the model runs.  A picture [N, C, d1, d2, ..] becomes a table with a row
 * of C channels for each place; along each axis a coordinate has the indices of its neighbours and their
 * weights, as an axis of its own behind those of the coordinates.
 */
#include <math.h>
#include <string.h>

#include "ops.h"

enum { MOST_AXES = 3, MOST_NEIGHBOURS = 4, MOST_DEGREE = 3, MOST_SIZE = 1 << 20 };

#define CUBIC_A (-0.75)

/* Neighbours from the one at `first` on, of the one below; their weights are polynomials of the distance
 * from that one. */
struct kernel {
    int n, first, degree;
    double factors[MOST_DEGREE + 1][MOST_NEIGHBOURS];
};

static const struct kernel nearest = {1, 0, 0, {{1}}};
static const struct kernel linear = {2, 0, 1, {{1, 0}, {-1, 1}}};
static const struct kernel cubic = {4,
                                    -1,
                                    3,
                                    {{0, 1, 0, 0},
                                     {CUBIC_A, 0, -CUBIC_A, 0},
                                     {-2 * CUBIC_A, -(CUBIC_A + 3), 2 * CUBIC_A + 3, CUBIC_A},
                                     {CUBIC_A, CUBIC_A + 2, -(CUBIC_A + 2), -CUBIC_A}}};

/* What stands for elements outside. */
enum padding { ZEROS, BORDER, REFLECTION };

/* Neighbours along an axis of a picture: [coordinates.., 1.., n, 1..]; valid: null if all are. */
struct neighbours {
    int64_t size;
    cr_t index, weight, valid;
};

static cr_t clamp(struct cr_translation *t, cr_t x, double low, double high)
{
    return cr_t_with(t, "minimum", cr_t_with(t, "maximum", x, low), high);
}

/* Numbers along one of `rank` axes. */
static cr_t numbers_along(struct cr_translation *t, int rank, int axis, int n,
                          const double *numbers)
{
    return cr_along(t, cr_t_data(t, CR_ONNX_FLOAT, 1, (int64_t[]){n}, numbers), rank, axis);
}

/* Mirrored at both ends until it is between them. */
static cr_t reflect(struct cr_translation *t, cr_t x, double low, double high)
{
    double span = high - low;
    if (span <= 0)
        return cr_t_with(t, "*", x, 0);
    cr_t way = cr_t_with(t, "remainder", cr_t_with(t, "-", x, low), 2 * span);
    cr_t back = cr_t_binary(t, "-", cr_t_number(t, CR_ONNX_FLOAT, 2 * span), way);
    return cr_t_with(t, "+", cr_t_binary(t, "minimum", way, back), low);
}

/* The weights' polynomials of the distance, highest power first. */
static cr_t weigh(struct cr_translation *t, const struct kernel *k, cr_t distance, int rank,
                  int axis)
{
    cr_t w = numbers_along(t, rank, axis, k->n, k->factors[k->degree]);
    for (int power = k->degree - 1; power >= 0; power--)
        w = cr_t_binary(t, "+", cr_t_binary(t, "*", distance, w),
                        numbers_along(t, rank, axis, k->n, k->factors[power]));
    return w;
}

/* Of coordinates [..] along picture axis `a` of `r`, in elements; `corner`: how far beyond the middle of the
 * first and last element the picture is reflected, 0 or 0.5. */
static struct neighbours neighbours(struct cr_translation *t, cr_t x, int a, int r, int64_t size,
                                    const struct kernel *k, enum padding padding, double corner)
{
    int64_t shape[2 * CR_ONNX_RANK];
    double offsets[MOST_NEIGHBOURS], last = (double)(size - 1);
    struct neighbours found = {.size = size};
    if (!x)
        return found;
    int rank = x->rank + r, axis = x->rank + a;
    for (int i = 0; i < rank; i++)
        shape[i] = i < x->rank ? x->shape[i] : 1;
    for (int i = 0; i < k->n; i++)
        offsets[i] = k->first + i;
    x = cr_t_reshape(t, x, rank, shape);
    cr_t below = cr_t_unary(t, k->n == 1 ? "round" : "floor", x);
    cr_t at = cr_t_binary(t, "+", below, numbers_along(t, rank, axis, k->n, offsets));
    if (padding == ZEROS)
        found.valid =
            cr_t_binary(t, "logical_and", cr_t_with(t, "ge", at, 0), cr_t_with(t, "le", at, last));
    if (padding == REFLECTION)
        at = reflect(t, at, -corner, last + corner);
    found.index = cr_t_cast(t, clamp(t, at, 0, last), CR_ONNX_INT32);
    found.weight = k->n == 1 ? NULL : weigh(t, k, cr_t_binary(t, "-", x, below), rank, axis);
    return found;
}

/* The picture's places as rows of channels. */
static cr_t rows_of(struct cr_translation *t, cr_t x)
{
    int axes[CR_ONNX_RANK] = {0};
    int64_t shape[2] = {x->shape[0], x->shape[1]};
    for (int i = 2; i < x->rank; i++) {
        axes[i - 1] = i;
        shape[0] *= x->shape[i];
    }
    axes[x->rank - 1] = 1;
    return cr_t_reshape(t, cr_t_permute(t, x, axes), 2, shape);
}

/* The rows of all neighbours times their weights, [coordinates.., n.., C]; 0 where one is not valid.  `batch`
 * is the picture's number, of the rank of the indices. */
static cr_t weighted_rows(struct cr_translation *t, cr_t x, cr_t batch, int r,
                          const struct neighbours *n)
{
    int64_t shape[CR_ONNX_RANK + 1];
    cr_t index = batch, weight = NULL, valid = NULL;
    for (int a = 0; a < r; a++) {
        index = cr_t_binary(t, "+", cr_t_with(t, "*", index, (double)n[a].size), n[a].index);
        if (n[a].weight)
            weight = weight ? cr_t_binary(t, "*", weight, n[a].weight) : n[a].weight;
        if (n[a].valid)
            valid = valid ? cr_t_binary(t, "logical_and", valid, n[a].valid) : n[a].valid;
    }
    cr_t rows = cr_t_gather(t, rows_of(t, x), index);
    if (!rows)
        return NULL;
    memcpy(shape, rows->shape, sizeof rows->shape);
    shape[rows->rank - 1] = 1;
    for (int i = 0; valid && i < valid->rank; i++)
        shape[i] = valid->shape[i];
    if (valid)
        rows = cr_t_where(t, cr_t_reshape(t, valid, rows->rank, shape), rows,
                          cr_t_number(t, x->type, 0));
    for (int i = 0; weight && i < weight->rank; i++)
        shape[i] = weight->shape[i];
    return weight ? cr_t_binary(t, "*", rows, cr_t_reshape(t, weight, rows->rank, shape)) : rows;
}

/* The last axis, of channels, comes behind the first one. */
static cr_t channels_first(struct cr_translation *t, cr_t x)
{
    int axes[CR_ONNX_RANK] = {0, x ? x->rank - 1 : 0};
    for (int i = 2; x && i < x->rank; i++)
        axes[i] = i - 1;
    return x ? cr_t_permute(t, x, axes) : NULL;
}

/* ---- GridSample ---- */

/* Coordinates between -1 and 1 in elements: these are the middles of the first and last one, or their
 * outer ends.  The last coordinate of a place is that of the first axis. */
static cr_t grid_coordinate(struct cr_translation *t, cr_t grid, int a, int64_t size, bool corners)
{
    int last = grid->rank - 1;
    cr_t x = cr_t_narrow(t, grid, last, grid->shape[last] - 1 - a, 1);
    x = cr_t_with(t, "+", cr_t_reshape(t, x, last, grid->shape), 1);
    if (corners)
        return cr_t_with(t, "*", cr_t_with(t, "/", x, 2), (double)(size - 1));
    return cr_t_with(t, "/", cr_t_with(t, "-", cr_t_with(t, "*", x, (double)size), 1), 2);
}

/* What the attributes name; false if refused.  Before version 20 modes were called as in PyTorch. */
static bool read_sampling(struct cr_translation *t, const struct kernel **kernel,
                          enum padding *padding)
{
    const char *mode = cr_string(t, "mode", "linear");
    const char *outside = cr_string(t, "padding_mode", "zeros");
    *kernel = strcmp(mode, "nearest") == 0                                   ? &nearest
              : strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0 ? &linear
              : strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0   ? &cubic
                                                                             : NULL;
    *padding = strcmp(outside, "border") == 0       ? BORDER
               : strcmp(outside, "reflection") == 0 ? REFLECTION
                                                    : ZEROS;
    if (*kernel && (*padding != ZEROS || strcmp(outside, "zeros") == 0))
        return true;
    cr_onnx_refuse(t, "mode %s with padding %s", mode, outside);
    return false;
}

/* The number of the picture for each coordinate, as indices have axes. */
static cr_t batch_numbers(struct cr_translation *t, int64_t n, int rank)
{
    return cr_along(t, cr_t_cast(t, cr_t_iota(t, 1, &n, 0), CR_ONNX_INT32), rank, 0);
}

/* Each output place is a sum over the neighbours of its coordinate, along all axes at once. */
void cr_op_grid_sample(struct cr_translation *t)
{
    const struct kernel *kernel;
    enum padding padding;
    struct neighbours n[MOST_AXES];
    cr_t x = t->in[0], grid = cr_input(t, 1);
    int r = x ? x->rank - 2 : 0, axes[MOST_AXES];
    bool corners = cr_onnx_integer(t->node, "align_corners", 0) != 0;
    if (!x || !grid || !read_sampling(t, &kernel, &padding))
        return;
    if (r < 1 || r > MOST_AXES || grid->rank != x->rank || grid->shape[grid->rank - 1] != r ||
        grid->shape[0] != x->shape[0]) {
        cr_onnx_refuse(t, "expected a picture of 1 to %d axes and as many coordinates", MOST_AXES);
        return;
    }
    for (int a = 0; a < r; a++) {
        axes[a] = grid->rank - 1 + a;
        n[a] = neighbours(t, grid_coordinate(t, grid, a, x->shape[2 + a], corners), a, r,
                          x->shape[2 + a], kernel, padding, corners ? 0 : 0.5);
    }
    cr_t rows = weighted_rows(t, x, batch_numbers(t, x->shape[0], grid->rank - 1 + r), r, n);
    cr_give(t, 0, channels_first(t, cr_t_reduce(t, "sum", rows, r, axes, false)));
}

/* ---- AffineGrid ---- */

/* Coordinates between -1 and 1 along an axis, as one of `rank`. */
static cr_t places_along(struct cr_translation *t, int rank, int axis, int64_t size, bool corners)
{
    double *at = cr_t_axis_array(t, size);
    for (int64_t i = 0; at && i < size; i++)
        at[i] = !corners    ? (double)(2 * i + 1) / (double)size - 1
                : size == 1 ? 0
                            : (double)(2 * i) / (double)(size - 1) - 1;
    return at ? numbers_along(t, rank, axis, (int)size, at) : NULL;
}

/* Column `j` of matrices [N, r, r + 1], as [N, 1.., r] of the rank of a grid. */
static cr_t column(struct cr_translation *t, cr_t theta, int64_t j)
{
    int64_t r = theta->shape[1], shape[CR_ONNX_RANK] = {theta->shape[0], 1, 1, 1, 1};
    shape[1 + r] = r;
    return cr_t_reshape(t, cr_t_narrow(t, theta, 2, (int)j, 1), (int)r + 2, shape);
}

/* Matrices times the places of a picture [N, C, d..] and 1: a sum over axes, of which the last one comes
 * first in a matrix. */
void cr_op_affine_grid(struct cr_translation *t)
{
    int64_t size[CR_ONNX_MANY];
    cr_t theta = t->in[0];
    int n = cr_numbers_of(t, cr_input(t, 1), size), r = n - 2;
    bool fits = theta && r >= 2 && r <= MOST_AXES && theta->rank == 3 && theta->shape[1] == r &&
                theta->shape[2] == r + 1;
    for (int a = 0; fits && a < r; a++)
        fits = size[2 + a] > 0 && size[2 + a] <= MOST_SIZE;
    if (!fits) {
        cr_onnx_refuse(t, "expected matrices for a picture of 2 or 3 axes, and its sizes");
        return;
    }
    bool corners = cr_onnx_integer(t->node, "align_corners", 0) != 0;
    cr_t grid = NULL;
    for (int a = r - 1; a >= 0; a--) {
        cr_t places = places_along(t, r + 2, 1 + a, size[2 + a], corners);
        cr_t part = cr_t_binary(t, "*", column(t, theta, r - 1 - a), places);
        grid = grid ? cr_t_binary(t, "+", grid, part) : part;
    }
    cr_give(t, 0, cr_t_binary(t, "+", grid, column(t, theta, r)));
}

/* ---- RoiAlign ---- */

/* Where the samples of each region lie along an axis, [regions, bins * samples]: a region begins at column
 * `from` of the regions and ends two columns later. */
static cr_t samples(struct cr_translation *t, cr_t rois, int from, int64_t bins, int64_t each)
{
    int64_t n = bins * each;
    double scale = cr_onnx_real(t->node, "spatial_scale", 1);
    bool shifted =
        t->node->version >= 16 &&
        strcmp(cr_string(t, "coordinate_transformation_mode", "half_pixel"), "half_pixel") == 0;
    double *steps = cr_t_axis_array(t, n);
    if (!steps)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        steps[i] = ((double)i + 0.5) / (double)n;
    cr_t start = cr_t_with(t, "*", cr_t_narrow(t, rois, 1, from, 1), scale);
    cr_t end = cr_t_with(t, "*", cr_t_narrow(t, rois, 1, from + 2, 1), scale);
    cr_t size = cr_t_binary(t, "-", end, start);
    size = shifted ? size : cr_t_with(t, "maximum", size, 1);
    start = shifted ? cr_t_with(t, "-", start, 0.5) : start;
    return cr_t_binary(
        t, "+", start,
        cr_t_binary(t, "*", size, cr_t_data(t, rois->type, 2, (int64_t[]){1, n}, steps)));
}

/* Neighbours of samples [regions, n], which are one of two axes of coordinates. */
static struct neighbours sample_neighbours(struct cr_translation *t, cr_t at, int a, int64_t size)
{
    struct neighbours none = {.size = size};
    if (!at)
        return none;
    int64_t n = at->shape[1], shape[] = {at->shape[0], a == 0 ? n : 1, a == 0 ? 1 : n};
    int64_t wide[] = {shape[0], shape[1], shape[2], 1, 1};
    at = cr_t_reshape(t, at, 3, shape);
    cr_t valid = cr_t_binary(t, "logical_and", cr_t_with(t, "ge", at, -1),
                             cr_t_with(t, "le", at, (double)size));
    struct neighbours found =
        neighbours(t, clamp(t, at, 0, (double)(size - 1)), a, 2, size, &linear, BORDER, 0);
    found.valid = cr_t_reshape(t, valid, 5, wide);
    return found;
}

/* The mean or the largest of the samples in each bin of a region; of the largest, neighbours times their
 * weights are compared. */
void cr_op_roi_align(struct cr_translation *t)
{
    cr_t x = t->in[0], rois = cr_input(t, 1), batch = cr_input(t, 2);
    int64_t h = cr_onnx_integer(t->node, "output_height", 1);
    int64_t w = cr_onnx_integer(t->node, "output_width", 1);
    int64_t each = cr_onnx_integer(t->node, "sampling_ratio", 0);
    bool mean = strcmp(cr_string(t, "mode", "avg"), "avg") == 0;
    if (!x || !rois || !batch || x->rank != 4 || rois->rank != 2 || rois->shape[1] != 4 || h < 1 ||
        w < 1 || h > 1 << 12 || w > 1 << 12 || each < 1 || each > 64) {
        cr_onnx_refuse(t, "expected regions [n, 4] and a sampling_ratio of 1 to 64");
        return;
    }
    const struct neighbours n[] = {
        sample_neighbours(t, samples(t, rois, 1, h, each), 0, x->shape[2]),
        sample_neighbours(t, samples(t, rois, 0, w, each), 1, x->shape[3])};
    const int64_t bins[] = {rois->shape[0], h, each, w, each, x->shape[1]};
    const char *how = mean ? "sum" : "max";
    cr_t index = cr_along(t, cr_t_cast(t, batch, CR_ONNX_INT32), 5, 0);
    cr_t y = weighted_rows(t, x, index, 2, n);
    y = cr_t_reduce(t, how, y, 2, (int[]){3, 4}, false);
    y = cr_t_reduce(t, how, cr_t_reshape(t, y, 6, bins), 2, (int[]){2, 4}, false);
    cr_give(t, 0, channels_first(t, mean ? cr_t_with(t, "/", y, (double)(each * each)) : y));
}
