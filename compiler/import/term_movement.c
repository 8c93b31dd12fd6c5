/*
 * term_movement.c - expressions of the graph language: movement, indices, sums and products; see
 * term.h.
 */
#include <math.h>
#include <string.h>

#include "compiler/ir/shape_rules.h"
#include "term_parts.h"

static bool same_shape(cr_t x, int rank, const int64_t *shape)
{
    return x->rank == rank && (!rank || memcmp(x->shape, shape, (size_t)rank * sizeof *shape) == 0);
}

/* ---- movement ---- */

/* True if a reshape of x to y, whose sizes may be symbols, keeps each element's index in every
 * sample. The axes of both shapes are split, from the last one on, into groups with equal
 * numbers of elements; in each group, only the first axis may be a symbol. */
static bool keeps_indices(struct cr_translation *t, cr_t x, cr_t y)
{
    struct cr_symbols *s = t->graph->symbols;
    int i = x->rank, j = y->rank;
    while (s->n_samples && (i > 0 || j > 0)) {
        int64_t left = i > 0 ? x->shape[--i] : 1, right = j > 0 ? y->shape[--j] : 1;
        while (left != right && (i > 0 || j > 0)) {
            bool more_left = cr_size_bound(left) < cr_size_bound(right) ? i > 0 : j == 0;
            int64_t *part = more_left ? &left : &right;
            int64_t next = more_left ? x->shape[--i] : y->shape[--j];
            if (cr_size_is_symbol(*part) && next != 1)
                return false;
            *part = cr_sizes(s, *part, '*', next);
        }
        if (left != right)
            return false;
    }
    return true;
}

/* Returns the value that a size has in a sample. */
static int64_t size_at(struct cr_translation *t, int64_t size, int sample)
{
    return (int64_t)cr_number_at(t->graph->symbols, cr_number_of_size(size), sample);
}

/* Returns the element at an index of y, a reshape of x, in a sample; `otherwise` if y is too small
 * to have it in that sample. */
static double reshaped_at(struct cr_translation *t, cr_t x, cr_t y, const int64_t *index, int sample,
                          double otherwise)
{
    int64_t flat = 0, at = 0, stride = 1;
    for (int a = 0; a < y->rank; a++) {
        int64_t size = size_at(t, y->shape[a], sample);
        if (index[a] >= size)
            return otherwise;
        flat = flat * size + index[a];
    }
    for (int a = x->rank - 1; a >= 0; a--) {
        int64_t size = size_at(t, x->shape[a], sample);
        at += flat % size * stride;
        flat /= size;
        stride *= cr_size_bound(x->shape[a]);
    }
    return cr_number_at(t->graph->symbols, x->data[at], sample);
}

/* Computes the elements of a reshape when an element's position depends on the lengths. */
static cr_t fold_reshape(struct cr_translation *t, struct cr_onnx_term *y, cr_t x)
{
    struct cr_symbols *s = t->graph->symbols;
    double *data = cr_t_new_elements(t, y), *values = cr_t_array(t, s->n_samples);
    for (int64_t i = 0; i < cr_t_elements(y); i++) {
        int64_t index[CR_ONNX_RANK], rest = i;
        for (int a = y->rank - 1; a >= 0; rest /= cr_size_bound(y->shape[a--]))
            index[a] = rest % cr_size_bound(y->shape[a]);
        for (int k = 0; k < s->n_samples; k++)
            values[k] = reshaped_at(t, x, y, index, k, values[0]);
        data[i] = cr_symbols_number(s, values);
    }
    y->data = data;
    return y;
}

/* A reshape of a reshape reads the first one's operand. */
cr_t cr_t_reshape(struct cr_translation *t, cr_t x, int rank, const int64_t *shape)
{
    if (t->failed || !x || same_shape(x, rank, shape))
        return x;
    struct cr_onnx_term *like = cr_t_new(t, CR_TERM_DATA, x->type, rank, shape);
    if (!like)
        return NULL;
    if (cr_t_count(t, rank, shape) != cr_t_count(t, x->rank, x->shape))
        return cr_onnx_refuse(t, "found a reshape of %s to %s, expected as many elements", cr_t_list(t, x->rank, x->shape),
                              cr_t_list(t, rank, shape));
    if (cr_t_folds(t, like, 1, &x) && !t->at_bounds && !keeps_indices(t, x, like))
        return fold_reshape(t, like, x);
    if (cr_t_folds(t, like, 1, &x)) {
        like->data = x->data;
        return like;
    }
    if (x->kind == CR_TERM_CALL && strcmp(x->name, "reshape") == 0)
        x = x->arguments[0].term;
    if (same_shape(x, rank, shape))
        return x;
    return cr_t_call(t, "reshape", like->type, rank, shape,
                     (struct cr_onnx_argument[]){{x, NULL}, {NULL, cr_t_list(t, rank, shape)}}, 2);
}

/* Makes a transpose if exactly two axes swap, else a permute. */
cr_t cr_t_permute(struct cr_translation *t, cr_t x, const int64_t *axes)
{
    int64_t shape[CR_ONNX_RANK], strides[CR_ONNX_RANK], moved[CR_ONNX_RANK], list[CR_ONNX_RANK];
    int changed[CR_ONNX_RANK], n = 0;
    if (t->failed || !x)
        return NULL;
    int fit = cr_permute_shape(shape, x->rank, x->shape, axes);
    if (fit < x->rank)
        return cr_onnx_refuse(t, "found axis %d of %d axes, expected axes of the tensor, each at most once",
                              (int)axes[fit], x->rank);
    for (int i = 0; i < x->rank; i++) {
        list[i] = axes[i] + 1;
        if (axes[i] != i)
            changed[n++] = i;
    }
    struct cr_onnx_term *like = n ? cr_t_new(t, CR_TERM_DATA, x->type, x->rank, shape) : NULL;
    if (!like)
        return x;
    if (cr_t_folds(t, like, 1, &x)) {
        cr_t_strides(x, strides);
        cr_permute_shape(moved, x->rank, strides, axes);
        return cr_t_fold_view(t, like, x, moved, 0);
    }
    if (n == 2)
        return cr_t_call(t, "transpose", x->type, x->rank, shape,
                         (struct cr_onnx_argument[]){{x, NULL},
                                                     {NULL, cr_t_text(t, changed[0] + 1)},
                                                     {NULL, cr_t_text(t, changed[1] + 1)}},
                         3);
    return cr_t_call(t, "permute", x->type, x->rank, shape,
                     (struct cr_onnx_argument[]){{x, NULL}, {NULL, cr_t_list(t, x->rank, list)}},
                     2);
}

cr_t cr_t_swap(struct cr_translation *t, cr_t x, int i, int j)
{
    int64_t axes[CR_ONNX_RANK];
    if (t->failed || !x)
        return NULL;
    for (int a = 0; a < x->rank; a++)
        axes[a] = a == i ? j : a == j ? i : a;
    return cr_t_permute(t, x, axes);
}

/* Repeats elements if they are known; else makes a call of expand. */
cr_t cr_t_expand(struct cr_translation *t, cr_t x, int rank, const int64_t *shape)
{
    if (t->failed || !x || same_shape(x, rank, shape))
        return x;
    struct cr_onnx_term *like = cr_t_new(t, CR_TERM_DATA, x->type, rank, shape);
    if (!like)
        return NULL;
    if (!cr_expands_to(x->rank, x->shape, rank, shape))
        return cr_onnx_refuse(t, "found the shape %s, expected one that can be expanded to %s",
                              cr_t_list(t, x->rank, x->shape), cr_t_list(t, rank, shape));
    if (cr_t_folds(t, like, 1, &x))
        return cr_t_fold_expand(t, like, x);
    return cr_t_call(t, "expand", x->type, rank, shape,
                     (struct cr_onnx_argument[]){{x, NULL}, {NULL, cr_t_list(t, rank, shape)}}, 2);
}

cr_t cr_t_full(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
               double number)
{
    cr_t one = cr_t_number(t, type, number);
    return cr_t_expand(t, one, rank, shape);
}

/* Returns the start of a slice as text.  If it differs from a length by a number, the text is the
 * length's mark and the signed number. */
static const char *start_text(struct cr_translation *t, int64_t start)
{
    int64_t more;
    int length = cr_size_is_symbol(start)
                     ? cr_symbols_nearest(t->graph->symbols, cr_number_of_size(start), &more)
                     : -1;
    return length < 0 ? cr_t_text(t, start)
                      : cr_arena_print(t->arena, "%c%d%+lld", CR_TERM_LENGTH, length, (long long)more);
}

/* True if the element `at` exists for all lengths: it is the first along an axis that is a length,
 * or the last. */
static bool always_exists(struct cr_translation *t, int64_t axis_size, int64_t at)
{
    int64_t more;
    return cr_size_is_symbol(at)
               ? cr_symbols_nearest(t->graph->symbols, cr_number_of_size(at), &more) >= 0 && more == -1
               : at == 0 && cr_size_is_symbol(axis_size);
}

/* Takes one element along an axis by a gather, as narrow cannot take a part of an axis that is a
 * length. */
static cr_t narrow_to_one(struct cr_translation *t, cr_t x, int axis, int64_t at)
{
    cr_t index = cr_t_data(t, CR_ONNX_INT64, 1, (int64_t[]){1}, (double[]){cr_number_of_size(at)});
    return cr_t_swap(t, cr_t_gather(t, cr_t_swap(t, x, 0, axis), index), 0, axis);
}

/* Returns x itself if the whole axis is taken.  In the script, a size that is a length is written
 * as its bound. */
cr_t cr_t_narrow(struct cr_translation *t, cr_t x, int axis, int64_t start, int64_t size)
{
    int64_t shape[CR_ONNX_RANK], strides[CR_ONNX_RANK];
    if (t->failed || !x || size == x->shape[axis])
        return x;
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] = size;
    if (!cr_is_inside(cr_size_bound(start), cr_size_bound(size), cr_size_bound(x->shape[axis])))
        return cr_onnx_refuse(t, "found a slice outside of an axis of %s, expected one inside",
                              cr_t_text(t, x->shape[axis]));
    struct cr_onnx_term *like = cr_t_new(t, CR_TERM_DATA, x->type, x->rank, shape);
    if (like && !cr_size_is_symbol(start) && cr_t_folds(t, like, 1, &x)) {
        cr_t_strides(x, strides);
        return cr_t_fold_view(t, like, x, strides, start * strides[axis]);
    }
    if (size == 1 && always_exists(t, x->shape[axis], start))
        return narrow_to_one(t, x, axis, start);
    return cr_t_call(t, "narrow", x->type, x->rank, shape,
                     (struct cr_onnx_argument[]){{x, NULL},
                                                 {NULL, cr_t_text(t, axis + 1)},
                                                 {NULL, start_text(t, start)},
                                                 {NULL, cr_t_text(t, cr_size_bound(size))}},
                     4);
}

/* True if only the last part of a concat may have a symbolic size along the axis: then the offsets
 * of all parts are the same for all values of the lengths. */
static bool begins_plain(const cr_t *parts, int n, int axis)
{
    for (int i = 0; i < n - 1; i++)
        if (cr_size_is_symbol(parts[i]->shape[axis]))
            return false;
    return true;
}

/* Returns the concat of the parts.  Parts without elements are left out, as the language has no
 * such tensors. */
cr_t cr_t_concat(struct cr_translation *t, const cr_t *parts, int n, int axis)
{
    int64_t shape[CR_ONNX_RANK];
    struct cr_onnx_argument *items = cr_arena_new(t->arena, (size_t)n, sizeof *items);
    int kept = 0;
    if (n < 1)
        return cr_onnx_refuse(t, "found a concatenation of no tensors, expected at least one");
    if (t->failed || !parts[0])
        return NULL;
    memcpy(shape, parts[0]->shape, sizeof shape);
    shape[axis] = 0;
    for (int i = 0; i < n; i++) {
        if (!parts[i])
            return NULL;
        if (parts[i]->rank != parts[0]->rank)
            return cr_onnx_refuse(t, "found tensors of %d and %d axes to concatenate, expected as many axes",
                                  parts[0]->rank, parts[i]->rank);
        if (!cr_t_same_types(t, parts[0], parts[i]))
            return NULL;
        if (!cr_differ_along(axis, parts[0]->rank, parts[0]->shape, parts[i]->rank, parts[i]->shape))
            return cr_onnx_refuse(t, "found tensors to concatenate that differ along another axis, expected equal sizes");
        shape[axis] = cr_sizes(t->graph->symbols, shape[axis], '+', parts[i]->shape[axis]);
        if (parts[i]->shape[axis])
            items[kept++] = (struct cr_onnx_argument){parts[i], NULL};
    }
    struct cr_onnx_term *like = cr_t_new(t, CR_TERM_DATA, parts[0]->type, parts[0]->rank, shape);
    if (!like)
        return NULL;
    if (cr_t_folds(t, like, n, parts) && begins_plain(parts, n, axis))
        return cr_t_fold_concat(t, like, parts, n, axis);
    if (kept == 1)
        return items[0].term;
    items = memcpy(cr_arena_new(t->arena, (size_t)kept + 3, sizeof *items), items,
                   (size_t)kept * sizeof *items);
    memmove(items + 1, items, (size_t)kept * sizeof *items);
    items[0] = (struct cr_onnx_argument){NULL, CR_TERM_TABLE};
    items[kept + 1] = (struct cr_onnx_argument){NULL, CR_TERM_TABLE_END};
    items[kept + 2] = (struct cr_onnx_argument){NULL, cr_t_text(t, axis + 1)};
    return cr_t_call(t, "concat", like->type, like->rank, shape, items, kept + 3);
}

/* ---- indices ---- */

/* Looks up rows of `inner` elements in a known table, by indices that depend on lengths. */
static cr_t fold_gather(struct cr_translation *t, struct cr_onnx_term *y, cr_t table, cr_t index, int64_t inner)
{
    struct cr_symbols *s = t->graph->symbols;
    double *data = cr_t_new_elements(t, y), *values = cr_t_array(t, s->n_samples);
    for (int64_t i = 0; i < cr_t_elements(y); i++) {
        for (int k = 0; k < s->n_samples; k++) {
            double row = cr_number_at(s, index->data[i / inner], k);
            bool inside = row >= 0 && row < (double)cr_size_bound(table->shape[0]);
            values[k] = inside ? cr_number_at(s, table->data[(int64_t)row * inner + i % inner], k) : NAN;
        }
        data[i] = cr_symbols_element(s, y->rank, y->shape, i, cr_symbols_number(s, values));
    }
    y->data = data;
    return y;
}

cr_t cr_t_gather(struct cr_translation *t, cr_t table, cr_t index)
{
    int64_t shape[2 * CR_ONNX_RANK], inner = 1;
    if (t->failed || !table || !index || !cr_t_is_of(t, index, CR_OF_INTEGERS))
        return NULL;
    if (!table->rank)
        return cr_onnx_refuse(t, "found a scalar as the table of a lookup, expected at least one axis");
    int rank = cr_gather_shape(shape, table->rank, table->shape, index->rank, index->shape);
    struct cr_onnx_term *like = cr_t_new(t, CR_TERM_DATA, table->type, rank, shape);
    if (!like)
        return NULL;
    for (int i = 1; i < table->rank; i++)
        inner *= cr_size_bound(table->shape[i]);
    if (index->data && cr_t_has_symbols(t->graph, index) && inner && cr_t_folds(t, like, 1, &table))
        return fold_gather(t, like, table, index, inner);
    if (index->data && cr_t_folds(t, like, 1, &table)) {
        double *data = cr_t_new_elements(t, like);
        for (int64_t i = 0; i < cr_t_elements(like); i++) {
            int64_t row = cr_t_whole(index->data[i / inner]);
            if (row < 0 || row >= cr_size_bound(table->shape[0]))
                return cr_onnx_refuse(t, "found an index outside of the table, expected one inside");
            data[i] = table->data[row * inner + i % inner];
        }
        like->data = data;
        return like;
    }
    return cr_t_call(t, "gather", table->type, rank, shape,
                     (struct cr_onnx_argument[]){{table, NULL}, {index, NULL}}, 2);
}

/* True if the shape of an index equals that of x except along the axis.  Otherwise refuses the
 * node. */
static bool fits(struct cr_translation *t, cr_t x, cr_t index, int axis)
{
    bool fit = axis < x->rank && cr_differ_along(axis, x->rank, x->shape, index->rank, index->shape);
    if (!fit)
        cr_onnx_refuse(t, "found indices of the shape %s along axis %d of %s, expected ones that fit",
                       cr_t_list(t, index->rank, index->shape), axis,
                       cr_t_list(t, x->rank, x->shape));
    return fit;
}

cr_t cr_t_gather_along(struct cr_translation *t, cr_t x, cr_t index, int axis)
{
    if (t->failed || !x || !index || !cr_t_is_of(t, index, CR_OF_INTEGERS) ||
        !fits(t, x, index, axis))
        return NULL;
    struct cr_onnx_term *like = cr_t_new(t, CR_TERM_DATA, x->type, index->rank, index->shape);
    if (like && index->data && !cr_t_has_symbols(t->graph, index) && cr_t_folds(t, like, 1, &x)) {
        for (int64_t i = 0; i < cr_t_elements(like); i++)
            if (index->data[i] < 0 || index->data[i] >= (double)cr_size_bound(x->shape[axis]))
                return cr_onnx_refuse(t, "found an index outside of an axis of %s, expected one inside",
                                      cr_t_text(t, x->shape[axis]));
        return cr_t_fold_take(t, like, x, index, axis);
    }
    return cr_t_call(
        t, "gather", x->type, index->rank, index->shape,
        (struct cr_onnx_argument[]){{x, NULL}, {index, NULL}, {NULL, cr_t_text(t, axis + 1)}}, 3);
}

/* ---- sums and products ---- */

cr_t cr_t_reduce(struct cr_translation *t, const char *name, cr_t x, int n, const int64_t *axes,
                 bool keep)
{
    int64_t shape[CR_ONNX_RANK], left[CR_ONNX_RANK], list[CR_ONNX_RANK];
    unsigned reduced = 0;
    bool along_symbol = false;
    if (t->failed || !x || !cr_t_is_of(t, x, CR_OF_NUMBERS))
        return NULL;
    for (int i = 0; i < n; i++) {
        if (axes[i] < 0 || axes[i] >= x->rank || reduced >> axes[i] & 1)
            return cr_onnx_refuse(t, "found axis %d of %d axes, expected axes of the tensor, each at most once",
                                  (int)axes[i], x->rank);
        along_symbol |= cr_size_is_symbol(x->shape[axes[i]]);
        reduced |= 1u << axes[i];
        list[i] = axes[i] + 1;
    }
    cr_reduce_shape(shape, x->rank, x->shape, reduced, true);
    int rank = cr_reduce_shape(left, x->rank, x->shape, reduced, false);
    struct cr_onnx_term *like = cr_t_new(t, CR_TERM_DATA, x->type, x->rank, shape);
    if (!like || !n)
        return x;
    if (cr_t_folds(t, like, 1, &x) && !cr_t_has_symbols(t->graph, x) && !along_symbol) {
        cr_t y = cr_t_fold_reduce(t, strcmp(name, "sum") == 0, x, like);
        return keep ? y : cr_t_reshape(t, y, rank, left);
    }
    struct cr_onnx_argument arguments[] = {
        {x, NULL}, {NULL, n == 1 ? cr_t_text(t, list[0]) : cr_t_list(t, n, list)}, {NULL, "false"}};
    return cr_t_call(t, name, x->type, keep ? x->rank : rank, keep ? shape : left, arguments,
                     keep ? 2 : 3);
}

cr_t cr_t_cumsum(struct cr_translation *t, cr_t x, int axis, bool reverse)
{
    if (t->failed || !x || !cr_t_is_of(t, x, CR_OF_NUMBERS))
        return NULL;
    if (cr_t_folds(t, x, 1, &x) && !cr_t_has_symbols(t->graph, x) && !(reverse && cr_size_is_symbol(x->shape[axis])))
        return cr_t_fold_cumsum(t, x, axis, reverse);
    return cr_t_call(
        t, "cumsum", x->type, x->rank, x->shape,
        (struct cr_onnx_argument[]){{x, NULL}, {NULL, cr_t_text(t, axis + 1)}, {NULL, "true"}},
        reverse ? 3 : 2);
}

cr_t cr_t_matmul(struct cr_translation *t, cr_t a, cr_t b)
{
    int64_t shape[CR_ONNX_RANK];
    int n = 0;
    if (t->failed || !a || !b || !cr_t_is_of(t, a, CR_OF_NUMBERS) || !cr_t_same_types(t, a, b))
        return NULL;
    if (!a->rank || !b->rank ||
        cr_product_shape(&n, shape, a->rank, a->shape, b->rank, b->shape) != CR_PRODUCT_FITS)
        return cr_onnx_refuse(t, "found a product of shapes %s and %s, expected equal inner sizes",
                              cr_t_list(t, a->rank, a->shape), cr_t_list(t, b->rank, b->shape));
    struct cr_onnx_term *like = cr_t_new(t, CR_TERM_DATA, a->type, n, shape);
    int64_t k = a->shape[a->rank - 1];
    if (like && k == 0)
        return cr_t_full(t, a->type, n, shape, 0);
    if (like && cr_t_elements(like) <= CR_FOLDED_WHOLE / (k + 1) &&
        cr_t_folds(t, like, 2, (cr_t[]){a, b}) && !cr_t_has_symbols(t->graph, a) && !cr_t_has_symbols(t->graph, b))
        return cr_t_fold_matmul(t, a, b, like);
    return cr_t_call(t, "matmul", a->type, n, shape,
                     (struct cr_onnx_argument[]){{a, NULL}, {b, NULL}}, 2);
}
