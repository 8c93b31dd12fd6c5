/* ops_constant.c - operators of ONNX that are computed at import, from known inputs; see ops.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "term_parts.h"

/* ---- bits ---- */

/* True if a double holds all bits of a type.  False for 64 bits and floats other than f32. */
static bool keeps_bits(enum cr_onnx_type type)
{
    int bytes = cr_onnx_type_bytes(type);
    return type == CR_ONNX_FLOAT ||
           (bytes >= 1 && bytes <= 4 && cr_language_type(type) != CR_LANGUAGE_F32);
}

static uint32_t bits_of(enum cr_onnx_type type, double number)
{
    float real = (float)number;
    uint32_t bits = 0;
    if (type == CR_ONNX_FLOAT)
        memcpy(&bits, &real, sizeof bits);
    else
        bits = (uint32_t)(int64_t)number;
    return bits;
}

/* Returns the number of a type that has the lowest bits. */
static double number_of(enum cr_onnx_type type, uint32_t bits)
{
    int width = 8 * cr_onnx_type_bytes(type);
    float real;
    if (type == CR_ONNX_FLOAT) {
        memcpy(&real, &bits, sizeof real);
        return real;
    }
    double number = width < 32 ? (double)(bits & ((1u << width) - 1)) : bits;
    bool is_signed = type == CR_ONNX_INT8 || type == CR_ONNX_INT16 || type == CR_ONNX_INT32;
    return is_signed && number >= ldexp(1, width - 1) ? number - ldexp(1, width) : number;
}

/* The language has no such operation: computes it for known elements. */
void cr_op_bit_cast(struct cr_translation *t)
{
    cr_t x = t->in[0];
    enum cr_onnx_type to = (enum cr_onnx_type)cr_onnx_integer(t->node, "to", CR_ONNX_UNDEFINED);
    if (x && x->type == to) {
        cr_give(t, 0, x);
        return;
    }
    if (!x || !keeps_bits(x->type) || !keeps_bits(to) ||
        cr_onnx_type_bytes(x->type) != cr_onnx_type_bytes(to)) {
        cr_onnx_refuse(t, "found the bits of type %s read as type %s, expected types of one size", cr_onnx_type_name(x ? x->type : 0),
                       cr_onnx_type_name(to));
        return;
    }
    const double *known = cr_t_known(t, x);
    if (!known)
        return;
    double *data = cr_t_array(t, cr_t_elements(x));
    for (int64_t i = 0; i < cr_t_elements(x); i++) {
        if (isnan(known[i])) {
            cr_onnx_refuse(t, "found the bits of a NaN, expected a number, as bits of NaN are not "
                           "kept");
            return;
        }
        data[i] = number_of(to, bits_of(x->type, known[i]));
    }
    cr_give(t, 0, cr_t_computed(t, to, x->rank, x->shape, data));
}

/* ---- optional values ---- */

/* An optional is its tensor, which is always present here. */
void cr_op_optional(struct cr_translation *t)
{
    cr_give(t, 0, t->in[0]);
}

void cr_op_optional_has_element(struct cr_translation *t)
{
    cr_give(t, 0, cr_t_number(t, CR_ONNX_BOOL, t->in[0] != NULL));
}

/* ---- Unique ---- */

/* A slice along the axis: `n` elements, at `first` plus each of `places`. */
struct slice {
    const double *data;
    const int64_t *places;
    int64_t n, first;
    int64_t index; /* its index in the input */
    int64_t group; /* its group: equal slices have the same number */
};

/* Compares as numpy.unique does: NaN are equal and larger than all numbers. */
static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare_slices(const struct slice *a, const struct slice *b)
{
    int order = 0;
    for (int64_t i = 0; !order && i < a->n; i++)
        order = compare_numbers(a->data[a->first + a->places[i]], b->data[b->first + b->places[i]]);
    return order;
}

/* Orders slices by content, equal ones by index. */
static int by_content(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    int order = compare_slices(a, b);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int by_index(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

/* The results of Unique: by group, the index of its first slice and the number of slices; by
 * slice, its group. */
struct groups {
    int64_t n;
    double *first, *count, *of;
};

/* Groups equal slices.  Groups are numbered by content if sorted, else by first occurrence. */
static void group_slices(struct cr_translation *t, struct slice *slices, int64_t n, bool sorted,
                         struct groups *g)
{
    int64_t next = 0, *number = cr_arena_new(t->arena, (size_t)n, sizeof *number);
    qsort(slices, (size_t)n, sizeof *slices, by_content);
    for (int64_t i = 0; i < n; i++) {
        g->n += i == 0 || compare_slices(&slices[i - 1], &slices[i]) != 0;
        slices[i].group = g->n - 1;
        number[i] = sorted ? i : -1;
    }
    qsort(slices, (size_t)n, sizeof *slices, by_index);
    for (int64_t i = 0; i < n; i++) {
        int64_t *of = &number[slices[i].group];
        if (*of < 0)
            *of = next++;
        if (g->count[*of]++ == 0)
            g->first[*of] = (double)i;
        g->of[i] = (double)*of;
    }
}

/* Returns the slices of a known term along an axis. */
static struct slice *slices_of(struct cr_translation *t, cr_t x, int axis)
{
    struct cr_onnx_term one = *x;
    int64_t n = x->shape[axis], strides[CR_ONNX_RANK];
    struct slice *slices = cr_arena_new(t->arena, (size_t)n, sizeof *slices);
    cr_t_strides(x->rank, x->shape, strides);
    one.shape[axis] = 1;
    const int64_t *places = cr_t_places(t, &one, strides, 0);
    for (int64_t i = 0; i < n; i++)
        slices[i] = (struct slice){x->data, places, cr_t_elements(&one), i * strides[axis], i, 0};
    return slices;
}

/* If there is no attribute `axis`, x is flattened. */
void cr_op_unique(struct cr_translation *t)
{
    cr_t x = t->in[0];
    bool flat = !cr_onnx_attribute(t->node, "axis");
    if (!cr_t_known(t, x))
        return;
    if (flat)
        x = cr_t_reshape(t, x, 1, (int64_t[]){cr_t_elements(x)});
    int axis = flat ? 0 : cr_axis(t, cr_onnx_integer(t->node, "axis", 0), x->rank);
    if (!cr_t_known(t, x) || !x->rank)
        return;
    int64_t n = x->shape[axis], *first = cr_arena_new(t->arena, (size_t)n, sizeof *first);
    struct groups g = {.first = cr_arena_new(t->arena, (size_t)n, sizeof *g.first),
                       .count = cr_arena_new(t->arena, (size_t)n, sizeof *g.count),
                       .of = cr_arena_new(t->arena, (size_t)n, sizeof *g.of)};
    group_slices(t, slices_of(t, x, axis), n, cr_onnx_integer(t->node, "sorted", 1) != 0, &g);
    for (int64_t i = 0; i < g.n; i++)
        first[i] = (int64_t)g.first[i];
    cr_give(t, 0, cr_t_take(t, x, axis, g.n, first));
    cr_give(t, 1, cr_t_data(t, CR_ONNX_INT64, 1, &g.n, g.first));
    cr_give(t, 2, cr_t_data(t, CR_ONNX_INT64, 1, &n, g.of));
    cr_give(t, 3, cr_t_data(t, CR_ONNX_INT64, 1, &g.n, g.count));
}

/* ---- NonMaxSuppression ---- */

/* Boxes of four numbers: two corners in any order, or the centre, the width and the height. */
struct boxes {
    const double *at;
    bool centred;
    double most_overlap;
};

/* Sets the ends of a box along an axis of the picture: 0 is y, 1 is x. */
static void ends_of(const struct boxes *boxes, int64_t box, int axis, double *low, double *high)
{
    const double *b = boxes->at + 4 * box;
    double half = b[3 - axis] / 2;
    *low = boxes->centred ? b[1 - axis] - half : fmin(b[axis], b[axis + 2]);
    *high = boxes->centred ? b[1 - axis] + half : fmax(b[axis], b[axis + 2]);
}

/* True if the intersection of two boxes exceeds the allowed share of their union. */
static bool overlap(const struct boxes *boxes, int64_t a, int64_t b)
{
    double shared = 1, area_a = 1, area_b = 1;
    for (int axis = 0; axis < 2; axis++) {
        double low_a, high_a, low_b, high_b;
        ends_of(boxes, a, axis, &low_a, &high_a);
        ends_of(boxes, b, axis, &low_b, &high_b);
        shared *= fmax(fmin(high_a, high_b) - fmax(low_a, low_b), 0);
        area_a *= high_a - low_a;
        area_b *= high_b - low_b;
    }
    return shared > 0 && shared / (area_a + area_b - shared) > boxes->most_overlap;
}

/* Selects boxes of a class, the highest score first, that do not overlap one selected
 * before.  Returns how many. */
static int64_t select_boxes(const struct boxes *boxes, const double *scores, int64_t n,
                            double least, int64_t most, int64_t *selected)
{
    int64_t n_selected = 0;
    double bound =
        INFINITY; /* boxes with a lower score, or with an equal score and an index after `last`,
                     were not visited yet */
    for (int64_t last = -1; n_selected < most;) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (scores[i] > least && (scores[i] < bound || (scores[i] == bound && i > last)) &&
                (best < 0 || scores[i] > scores[best]))
                best = i;
        if (best < 0)
            return n_selected;
        bound = scores[best];
        last = best;
        bool free = true;
        for (int64_t i = 0; free && i < n_selected; i++)
            free = !overlap(boxes, selected[i], best);
        if (free)
            selected[n_selected++] = best;
    }
    return n_selected;
}

/* Reads an optional input of one number; returns false if it is not known. */
static bool number_input(struct cr_translation *t, int input, double *number)
{
    cr_t x = cr_input(t, input);
    const double *known = x && cr_t_elements(x) ? cr_t_known(t, x) : NULL;
    if (known)
        *number = *known;
    return !t->failed;
}

enum { MOST_BOXES = 4096 };

/* Gives the selected boxes of each batch and class as rows [batch, class, box]. */
void cr_op_non_max_suppression(struct cr_translation *t)
{
    cr_t x = t->in[0], scores = cr_input(t, 1);
    double most = 0, most_overlap = 0, least = -INFINITY;
    if (!x || !scores || x->rank != 3 || scores->rank != 3 || x->shape[2] != 4 ||
        x->shape[0] != scores->shape[0] || x->shape[1] != scores->shape[2] ||
        x->shape[1] > MOST_BOXES) {
        cr_onnx_refuse(t, "expected at most %d boxes and a score of each", MOST_BOXES);
        return;
    }
    if (!cr_t_known(t, x) || !cr_t_known(t, scores) || !number_input(t, 2, &most) ||
        !number_input(t, 3, &most_overlap) || !number_input(t, 4, &least))
        return;
    int64_t n = x->shape[1], classes = scores->shape[1], n_rows = 0, selected[MOST_BOXES];
    double *rows = cr_arena_new(t->arena, (size_t)cr_t_elements(scores) * 3, sizeof *rows);
    int64_t limit = most > (double)n ? n : (int64_t)most;
    for (int64_t i = 0; i < x->shape[0] * classes; i++) {
        struct boxes boxes = {x->data + i / classes * n * 4,
                              cr_onnx_integer(t->node, "center_point_box", 0) != 0, most_overlap};
        int64_t kept = select_boxes(&boxes, scores->data + i * n, n, least, limit, selected);
        for (int64_t k = 0; k < kept; k++, n_rows++) {
            rows[3 * n_rows] = (double)(i / classes);
            rows[3 * n_rows + 1] = (double)(i % classes);
            rows[3 * n_rows + 2] = (double)selected[k];
        }
    }
    cr_give(t, 0, cr_t_data(t, CR_ONNX_INT64, 2, (int64_t[]){n_rows, 3}, rows));
}
