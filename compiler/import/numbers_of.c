/* numbers_of.c - computes a value's elements; see numbers_of.h. */
#include "numbers_of.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "match.h"

enum { MOST = 1 << 23, DEPTH = 24 };

/* The state of computing elements. */
struct search {
    const struct cr_onnx_graph *graph;
    int base, depth;
};

static double *numbers(struct search *s, int value);

static int64_t elements(const struct cr_onnx_value *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n *= v->shape[i];
    return v->rank < 0 || n > MOST ? -1 : n;
}

/* ---- strides ---- */

/* Reads elements from `start` on, with a stride per axis of the result; frees the old ones. */
static double *strided(double *x, const struct cr_onnx_value *to, int64_t start,
                       const int64_t *strides)
{
    int64_t n = elements(to);
    double *y = x ? cr_calloc((size_t)(n > 0 ? n : 1), sizeof *y) : NULL;
    for (int64_t i = 0; x && i < n; i++) {
        int64_t at = start, rest = i;
        for (int axis = to->rank - 1; axis >= 0; rest /= to->shape[axis--])
            at += rest % to->shape[axis] * strides[axis];
        y[i] = x[at];
    }
    free(x);
    return y;
}

static void row_major(const struct cr_onnx_value *v, int64_t *strides)
{
    int64_t n = 1;
    for (int i = v->rank - 1; i >= 0; n *= v->shape[i--])
        strides[i] = n;
}

/* ---- elementwise ---- */

static const char *const functions[] = {
    "Mul",     "Add", "Sub", "Div",         "Equal",          "Less",
    "Greater", "And", "Or",  "LessOrEqual", "GreaterOrEqual", "Where",
    "Not",     "Cos", "Sin", "Expand"};

/* Computes function number `function` of functions[], of up to three numbers. */
static double apply(int function, const double *x)
{
    switch (function) {
    case 0:
        return x[0] * x[1];
    case 1:
        return x[0] + x[1];
    case 2:
        return x[0] - x[1];
    case 3:
        return x[0] / x[1];
    case 4:
        return x[0] == x[1];
    case 5:
        return x[0] < x[1];
    case 6:
        return x[0] > x[1];
    case 7:
        return x[0] != 0 && x[1] != 0;
    case 8:
        return x[0] != 0 || x[1] != 0;
    case 9:
        return x[0] <= x[1];
    case 10:
        return x[0] >= x[1];
    case 11:
        return x[0] != 0 ? x[1] : x[2];
    case 12:
        return x[0] == 0;
    case 13:
        return cos((float)x[0]);
    case 14:
        return sin((float)x[0]);
    default:
        return x[0];
    }
}

/* Sets the strides of an operand that is broadcast to a value; false if it cannot be. */
static bool spread(const struct cr_onnx_value *x, const struct cr_onnx_value *to, int64_t *strides)
{
    int64_t own[CR_ONNX_RANK];
    row_major(x, own);
    for (int i = 1; i <= to->rank; i++) {
        int64_t size = i <= x->rank ? x->shape[x->rank - i] : 1;
        if (size != 1 && size != to->shape[to->rank - i])
            return false;
        strides[to->rank - i] = size == 1 ? 0 : own[x->rank - i];
    }
    return x->rank <= to->rank;
}

/* Computes an elementwise function; operands are broadcast to the result. */
static double *elementwise(struct search *s, const struct cr_onnx_node *n, int function,
                           int64_t count)
{
    const struct cr_onnx_value *to = &s->graph->values[n->outputs[0]];
    int operands = function == 15 ? 1 : n->n_inputs;
    bool is_whole =
        function != 3 || to->type == CR_ONNX_FLOAT; /* quotients of integers are left out */
    double *x[3] = {NULL, NULL, NULL}, *y = cr_calloc((size_t)count + 1, sizeof *y);
    for (int k = 0; is_whole && k < operands && operands <= 3; k++) {
        int64_t strides[CR_ONNX_RANK];
        x[k] =
            spread(&s->graph->values[n->inputs[k]], to, strides) ? numbers(s, n->inputs[k]) : NULL;
        is_whole = x[k] && (x[k] = strided(x[k], to, 0, strides));
    }
    for (int64_t i = 0; is_whole && operands <= 3 && i < count; i++) {
        double of[3] = {x[0][i], x[1] ? x[1][i] : 0, x[2] ? x[2][i] : 0}, v = apply(function, of);
        y[i] = to->type == CR_ONNX_FLOAT ? (double)(float)v : v;
    }
    for (int k = 0; k < 3; k++)
        free(x[k]);
    if (is_whole && operands <= 3)
        return y;
    free(y);
    return NULL;
}

/* Casts to bool, or to a type that can represent the numbers. */
static double *cast(struct search *s, const struct cr_onnx_node *n, int64_t count)
{
    double *y = numbers(s, n->inputs[0]);
    enum cr_onnx_type type = s->graph->values[n->outputs[0]].type;
    for (int64_t i = 0; y && i < count; i++)
        y[i] = type == CR_ONNX_BOOL                              ? y[i] != 0
               : type == CR_ONNX_FLOAT || type == CR_ONNX_DOUBLE ? y[i]
                                                                 : trunc(y[i]);
    return y;
}

/* ---- movement ---- */

/* Keeps the triangle above or below a diagonal, which is included; other elements become 0. */
static double *triangle(struct search *s, const struct cr_onnx_node *n, int64_t count)
{
    const struct cr_onnx_value *v = &s->graph->values[n->outputs[0]];
    double diagonal = 0;
    if (v->rank < 2 || (n->n_inputs > 1 && n->inputs[1] != CR_ONNX_NONE &&
                        !cr_onnx_scalar(s->graph, n->inputs[1], &diagonal)))
        return NULL;
    double *x = numbers(s, n->inputs[0]);
    int64_t columns = v->shape[v->rank - 1], rows = v->shape[v->rank - 2];
    bool is_upper = cr_onnx_integer(n, "upper", 1) != 0;
    for (int64_t i = 0; x && i < count; i++) {
        double from = (double)(i % columns) - (double)(i / columns % rows);
        if (is_upper ? from < diagonal : from > diagonal)
            x[i] = 0;
    }
    return x;
}

/* Permutes axes by `perm`, or reverses them without it. */
static double *transposed(struct search *s, const struct cr_onnx_node *n)
{
    const struct cr_onnx_attribute *a = cr_onnx_attribute(n, "perm");
    const struct cr_onnx_value *from = &s->graph->values[n->inputs[0]],
                               *to = &s->graph->values[n->outputs[0]];
    int64_t old[CR_ONNX_RANK], strides[CR_ONNX_RANK];
    row_major(from, old);
    for (int i = 0; i < from->rank; i++) {
        int64_t axis = a && a->ints && a->n == from->rank ? a->ints[i] : from->rank - 1 - i;
        if (axis < 0 || axis >= from->rank)
            return NULL;
        strides[i] = old[axis];
    }
    return strided(numbers(s, n->inputs[0]), to, 0, strides);
}

/* Permutes axes as a recogniser's node says, by attributes axis0, axis1, ... */
static double *permuted(struct search *s, const struct cr_onnx_node *n)
{
    const struct cr_onnx_value *from = &s->graph->values[n->inputs[0]],
                               *to = &s->graph->values[n->outputs[0]];
    int64_t old[CR_ONNX_RANK], strides[CR_ONNX_RANK];
    row_major(from, old);
    for (int i = 0; i < from->rank; i++) {
        char name[] = "axis0";
        name[4] = (char)('0' + i);
        strides[i] = old[cr_onnx_integer(n, name, i)];
    }
    return strided(numbers(s, n->inputs[0]), to, 0, strides);
}

/* Takes one index of an axis and removes the axis. */
static double *picked(struct search *s, const struct cr_onnx_node *n)
{
    const struct cr_onnx_value *from = &s->graph->values[n->inputs[0]],
                               *to = &s->graph->values[n->outputs[0]];
    double index;
    int64_t axis = cr_onnx_integer(n, "axis", 0), old[CR_ONNX_RANK], strides[CR_ONNX_RANK];
    axis += axis < 0 ? from->rank : 0;
    if (!cr_onnx_scalar(s->graph, n->inputs[1], &index) || to->rank != from->rank - 1 || axis < 0 ||
        axis >= from->rank)
        return NULL;
    index += index < 0 ? (double)from->shape[axis] : 0;
    if (index < 0 || index >= (double)from->shape[axis])
        return NULL;
    row_major(from, old);
    for (int i = 0; i < to->rank; i++)
        strides[i] = old[i + (i >= axis)];
    return strided(numbers(s, n->inputs[0]), to, (int64_t)index * old[axis], strides);
}

/* Slices along one axis, forwards. */
static double *sliced(struct search *s, const struct cr_onnx_node *n)
{
    const struct cr_onnx_value *from = &s->graph->values[n->inputs[0]],
                               *to = &s->graph->values[n->outputs[0]];
    double start, axis, step = 1;
    int64_t strides[CR_ONNX_RANK];
    if (n->n_inputs < 4 || !cr_onnx_scalar(s->graph, n->inputs[1], &start) ||
        !cr_onnx_scalar(s->graph, n->inputs[3], &axis) ||
        (n->n_inputs > 4 && n->inputs[4] != CR_ONNX_NONE &&
         !cr_onnx_scalar(s->graph, n->inputs[4], &step)))
        return NULL;
    axis += axis < 0 ? from->rank : 0;
    if (step != 1 || axis < 0 || axis >= from->rank || to->rank != from->rank)
        return NULL;
    start += start < 0 ? (double)from->shape[(int)axis] : 0;
    if (start < 0 || start + (double)to->shape[(int)axis] > (double)from->shape[(int)axis])
        return NULL;
    row_major(from, strides);
    return strided(numbers(s, n->inputs[0]), to, (int64_t)start * strides[(int)axis], strides);
}

/* Concatenates along an axis. */
static double *joined(struct search *s, const struct cr_onnx_node *n, int64_t count)
{
    const struct cr_onnx_value *to = &s->graph->values[n->outputs[0]];
    int64_t axis = cr_onnx_integer(n, "axis", 0), inner = 1, start = 0;
    axis += axis < 0 ? to->rank : 0;
    if (axis < 0 || axis >= to->rank)
        return NULL;
    for (int i = (int)axis + 1; i < to->rank; i++)
        inner *= to->shape[i];
    double *y = cr_calloc((size_t)count + 1, sizeof *y);
    for (int k = 0; k < n->n_inputs; k++) {
        const struct cr_onnx_value *from = &s->graph->values[n->inputs[k]];
        double *x = from->rank == to->rank ? numbers(s, n->inputs[k]) : NULL;
        if (!x) {
            free(y);
            return NULL;
        }
        int64_t own = inner * from->shape[axis], whole = inner * to->shape[axis];
        for (int64_t row = 0; row * whole < count; row++)
            memcpy(y + row * whole + start, x + row * own, (size_t)own * sizeof *y);
        start += own;
        free(x);
    }
    return y;
}

/* Multiplies matrices whose inner axis has size 1: an outer product per batch. */
static double *outer_product(struct search *s, const struct cr_onnx_node *n, int64_t count)
{
    const struct cr_onnx_value *a = &s->graph->values[n->inputs[0]],
                               *b = &s->graph->values[n->inputs[1]],
                               *to = &s->graph->values[n->outputs[0]];
    int rank = to->rank;
    if (rank < 2 || a->rank != rank || b->rank != rank || a->shape[rank - 1] != 1 ||
        to->type != CR_ONNX_FLOAT)
        return NULL;
    for (int i = 0; i < rank - 2; i++)
        if (a->shape[i] != b->shape[i])
            return NULL;
    int64_t rows = to->shape[rank - 2], columns = to->shape[rank - 1];
    double *x = numbers(s, n->inputs[0]), *y = x ? numbers(s, n->inputs[1]) : NULL;
    double *z = y ? cr_calloc((size_t)count + 1, sizeof *z) : NULL;
    for (int64_t i = 0; z && i < count; i++)
        z[i] = (float)(x[i / columns] * y[i / columns / rows * columns + i % columns]);
    free(x);
    free(y);
    return z;
}

/* Takes the part of a split along an axis that is `value`. */
static double *split(struct search *s, const struct cr_onnx_node *n, int value)
{
    const struct cr_onnx_value *from = &s->graph->values[n->inputs[0]],
                               *to = &s->graph->values[value];
    int64_t axis = cr_onnx_integer(n, "axis", 0), start = 0, strides[CR_ONNX_RANK];
    axis += axis < 0 ? from->rank : 0;
    if (axis < 0 || axis >= from->rank || to->rank != from->rank)
        return NULL;
    for (int i = 0; i < n->n_outputs && n->outputs[i] != value; i++) {
        if (n->outputs[i] == CR_ONNX_NONE)
            return NULL;
        start += s->graph->values[n->outputs[i]].shape[axis];
    }
    row_major(from, strides);
    return strided(numbers(s, n->inputs[0]), to, start * strides[axis], strides);
}

/* ---- the whole ---- */

static bool is_one_of(const char *op, const char *const *ops, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(op, ops[i]) == 0)
            return true;
    return false;
}

/* Computes the output of a node.  With a base, only nodes that move elements are computed. */
static double *of_node(struct search *s, const struct cr_onnx_node *n, int value, int64_t count)
{
    static const char *const views[] = {"Reshape", "Unsqueeze", "Squeeze",
                                        "Flatten", "Identity",  "View"};
    if (*n->domain && strcmp(n->domain, CR_ONNX_CRESCENT) != 0)
        return NULL;
    if (is_one_of(n->op, views, 6))
        return numbers(s, n->inputs[0]);
    for (size_t i = 0; s->base == CR_ONNX_NONE && i < sizeof functions / sizeof *functions; i++)
        if (strcmp(n->op, functions[i]) == 0)
            return elementwise(s, n, (int)i, count);
    if (s->base == CR_ONNX_NONE && strcmp(n->op, "Trilu") == 0)
        return triangle(s, n, count);
    if (s->base == CR_ONNX_NONE && strcmp(n->op, "MatMul") == 0)
        return outer_product(s, n, count);
    if (s->base == CR_ONNX_NONE && strcmp(n->op, "Concat") == 0)
        return joined(s, n, count);
    if (s->base == CR_ONNX_NONE && strcmp(n->op, "Cast") == 0)
        return cast(s, n, count);
    return strcmp(n->op, "Transpose") == 0 ? transposed(s, n)
           : strcmp(n->op, "Permute") == 0 ? permuted(s, n)
           : strcmp(n->op, "Gather") == 0  ? picked(s, n)
           : strcmp(n->op, "Slice") == 0   ? sliced(s, n)
           : strcmp(n->op, "Split") == 0   ? split(s, n, value)
                                           : NULL;
}

/* Returns a value's elements: from its tensor, from the base, or computed by its node. */
static double *numbers(struct search *s, int value)
{
    const struct cr_onnx_value *v = &s->graph->values[value];
    int64_t n = v->tensor ? v->tensor->elements : elements(v);
    if (n < 0 || n > MOST)
        return NULL;
    if (value == s->base || (s->base == CR_ONNX_NONE && v->tensor && v->tensor->data)) {
        double *x = cr_calloc((size_t)n + 1, sizeof *x);
        for (int64_t i = 0; i < n; i++)
            x[i] = value == s->base ? (double)i : cr_onnx_element(v->tensor, i);
        return x;
    }
    if (v->producer == CR_ONNX_NONE || v->tensor || s->depth == DEPTH)
        return NULL;
    s->depth++;
    double *x = of_node(s, &s->graph->nodes[v->producer], value, n);
    s->depth--;
    return x;
}

double *cr_onnx_numbers_of(const struct cr_onnx_graph *g, int value, int base)
{
    return value == CR_ONNX_NONE ? NULL : numbers(&(struct search){g, base, 0}, value);
}
