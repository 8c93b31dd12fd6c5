/* ops_reduce.c - reductions of ONNX, products of matrices, running sums; see ops.h. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "ops.h"

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
        return cr_onnx_refuse(t, "a product of %lld elements, expected at most %d",
                              (long long)x->shape[axis], MOST_FACTORS);
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
    int64_t n = x->shape[axis], *backwards = last ? cr_t_axis_array(t, n) : NULL;
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

enum { MOST_LARGEST = 64 };

/* Finds the k largest one by one; each is hidden from the next search. */
void cr_op_top_k(struct cr_translation *t)
{
    cr_t x = t->in[0], values[MOST_LARGEST], indices[MOST_LARGEST];
    int64_t k[CR_ONNX_MANY] = {cr_onnx_integer(t->node, "k", 1)};
    if (!x || (cr_input(t, 1) && cr_numbers_of(t, t->in[1], k) < 0))
        return;
    int axis = cr_axis(t, cr_onnx_integer(t->node, "axis", -1), x->rank);
    bool smallest = !cr_onnx_integer(t->node, "largest", 1);
    bool whole = cr_language_type(x->type) == CR_LANGUAGE_I32;
    if (*k < 1 || *k > MOST_LARGEST || *k > x->shape[axis] || x->type == CR_ONNX_BOOL) {
        cr_onnx_refuse(t, "the %lld largest of %lld, expected 1 to %d numbers", (long long)*k,
                       (long long)x->shape[axis], MOST_LARGEST);
        return;
    }
    cr_t left = smallest ? cr_t_unary(t, "neg", x) : x,
         place = cr_t_iota(t, x->rank, x->shape, axis);
    for (int64_t i = 0; i < *k; i++) {
        indices[i] = cr_t_argmax(t, left, axis, true);
        values[i] = cr_t_gather_along(t, x, indices[i], axis);
        left = cr_t_where(t, cr_t_binary(t, "eq", place, indices[i]),
                          cr_t_number(t, x->type, whole ? INT32_MIN : -INFINITY), left);
    }
    cr_give(t, 0, cr_t_concat(t, values, (int)*k, axis));
    if (cr_wants(t, 1))
        cr_give(t, 1, cr_t_concat(t, indices, (int)*k, axis));
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

/* ---- Einsum ---- */

enum { LETTERS = 128 };

/* Reads the letters of an operand.  An ellipsis becomes capital letters; its last axis is "A". */
static bool read_letters(const char **at, int rank, char *out)
{
    int n = 0, named = 0;
    for (const char *c = *at; *c && *c != ',' && *c != '-'; c++)
        named += isalpha((unsigned char)*c) != 0;
    for (; **at && **at != ',' && **at != '-'; ++*at) {
        if (isalpha((unsigned char)**at) && n < CR_ONNX_RANK)
            out[n++] = (char)tolower((unsigned char)**at);
        if (strncmp(*at, "...", 3) == 0) {
            for (int i = rank - named; i > 0 && n < CR_ONNX_RANK; i--)
                out[n++] = (char)('A' + i - 1);
            *at += 2;
        }
    }
    out[n] = '\0';
    return rank < 0 || n == rank;
}

/* Permutes an operand's axes to the order of `all`, with size 1 for letters that it lacks.  Takes
 * the diagonal of a letter that it has twice. */
static cr_t spread(struct cr_translation *t, cr_t x, const char *own, const char *all)
{
    char letters[CR_ONNX_RANK + 1];
    int axes[CR_ONNX_RANK], n = 0;
    int64_t shape[CR_ONNX_RANK];
    strcpy(letters, own);
    for (int i = 0; x && letters[i]; i++) {
        const char *again = strchr(letters + i + 1, letters[i]);
        if (!again)
            continue;
        int other = (int)(again - letters), axis[] = {other};
        cr_t here = cr_t_iota(t, x->rank, x->shape, i),
             there = cr_t_iota(t, x->rank, x->shape, other);
        x = cr_t_where(t, cr_t_binary(t, "eq", here, there), x, cr_t_number(t, x->type, 0));
        x = cr_t_reduce(t, "sum", x, 1, axis, false);
        memmove(letters + other, letters + other + 1, strlen(letters + other));
        i--;
    }
    for (int i = 0; all[i]; i++) {
        const char *at = strchr(letters, all[i]);
        shape[i] = at && x ? x->shape[at - letters] : 1;
        if (at)
            axes[n++] = (int)(at - letters);
    }
    return x ? cr_t_reshape(t, cr_t_permute(t, x, axes), (int)strlen(all), shape) : NULL;
}

/* Selects the letters of `all` that are in a, b and c, or not in them, as the flags say. */
static void choose(const char *all, const char *a, bool in_a, const char *b, bool in_b,
                   const char *c, bool in_c, char *out)
{
    for (; *all; all++)
        if ((strchr(a, *all) != NULL) == in_a && (strchr(b, *all) != NULL) == in_b &&
            (strchr(c, *all) != NULL) == in_c)
            *out++ = *all;
    *out = '\0';
}

/* Returns the product of the sizes of letters. */
static int64_t size_of(cr_t x, const char *own, const char *letters)
{
    int64_t n = 1;
    for (; *letters; letters++)
        n *= x->shape[strchr(own, *letters) - own];
    return n;
}

/*
 * Computes an equation of two operands as a product of matrices.  Batch letters are in both
 * operands and the result, summed ones only in both operands, rows in a, columns in b.  Returns
 * null without an error if the equation has another form.
 */
static cr_t as_matmul(struct cr_translation *t, cr_t a, const char *la, cr_t b, const char *lb,
                      const char *all, const char *out)
{
    char batch[CR_ONNX_RANK + 1], rows[CR_ONNX_RANK + 1], columns[CR_ONNX_RANK + 1],
        summed[CR_ONNX_RANK + 1], order[3 * CR_ONNX_RANK + 3];
    int64_t shape[2 * CR_ONNX_RANK];
    int axes[CR_ONNX_RANK], n = 0;
    choose(all, la, true, lb, true, out, true, batch);
    choose(all, la, true, lb, false, out, true, rows);
    choose(all, la, false, lb, true, out, true, columns);
    choose(all, la, true, lb, true, out, false, summed);
    if (strlen(batch) + strlen(rows) + strlen(summed) != strlen(la) || !*summed ||
        strlen(batch) + strlen(columns) + strlen(summed) != strlen(lb))
        return NULL;
    for (const char *c = batch; *c; c++)
        if (size_of(a, la, (char[]){*c, 0}) != size_of(b, lb, (char[]){*c, 0}))
            return NULL;
    strcat(strcat(strcpy(order, batch), rows), summed);
    cr_t x = spread(t, a, la, order);
    x = cr_t_reshape(
        t, x, 3, (int64_t[]){size_of(a, la, batch), size_of(a, la, rows), size_of(a, la, summed)});
    strcat(strcat(strcpy(order, batch), summed), columns);
    cr_t y = spread(t, b, lb, order);
    y = cr_t_reshape(
        t, y, 3,
        (int64_t[]){size_of(b, lb, batch), size_of(b, lb, summed), size_of(b, lb, columns)});
    cr_t z = cr_t_matmul(t, x, y);
    strcat(strcat(strcpy(order, batch), rows), columns);
    for (const char *c = order; *c; c++)
        shape[n++] =
            strchr(la, *c) ? size_of(a, la, (char[]){*c, 0}) : size_of(b, lb, (char[]){*c, 0});
    z = cr_t_reshape(t, z, n, shape);
    for (int i = 0; out[i]; i++)
        axes[i] = (int)(strchr(order, out[i]) - order);
    return z ? cr_t_permute(t, z, axes) : NULL;
}

/* Sets the letters of the result if the equation has none: the ellipsis, then letters that appear
 * once, in alphabetical order. */
static void implied(const char *all_operands, char *out)
{
    int n = 0;
    for (int c = 'Z'; c >= 'A'; c--)
        if (strchr(all_operands, c) && n < CR_ONNX_RANK)
            out[n++] = (char)c;
    for (int c = 'a'; c <= 'z'; c++) {
        const char *at = strchr(all_operands, c);
        if (at && !strchr(at + 1, c) && n < CR_ONNX_RANK)
            out[n++] = (char)c;
    }
    out[n] = '\0';
}

static bool has_twice(const char *letters)
{
    for (; *letters; letters++)
        if (strchr(letters + 1, *letters))
            return true;
    return false;
}

enum { MOST_OPERANDS = 4 };

/* An equation of einsum: the letters of the axes. */
struct equation {
    char own[MOST_OPERANDS][CR_ONNX_RANK + 1];    /* of each operand */
    char every[MOST_OPERANDS * CR_ONNX_RANK + 1]; /* of all operands, concatenated */
    char out[CR_ONNX_RANK + 1];                   /* of the result */
    char all[LETTERS];                            /* of all operands, each once */
};

/* Reads what follows the operands: "->" and the letters of the result, or nothing. */
static void read_result(struct equation *e, const char *at)
{
    int dots = 0, named = 0;
    if (*at != '-') {
        implied(e->every, e->out);
        return;
    }
    at += 2;
    for (const char *c = e->every; *c; c++)
        if (*c >= 'A' && *c <= 'Z' && *c - 'A' + 1 > dots)
            dots = *c - 'A' + 1;
    for (const char *c = at; *c; c++)
        named += isalpha((unsigned char)*c) != 0;
    read_letters(&at, named + dots, e->out);
}

/* Reads the attribute `equation`; false if it is refused. */
static bool read_equation(struct cr_translation *t, struct equation *e)
{
    char text[256], *to = text;
    const char *at = text;
    int n = t->node->n_inputs, n_all = 0;
    for (const char *c = cr_string(t, "equation", ""); *c && to < text + 255; c++)
        if (*c != ' ')
            *to++ = *c;
    *to = '\0';
    for (int i = 0; i < n && i < MOST_OPERANDS && !t->failed; i++) {
        if (!t->in[i] || !read_letters(&at, t->in[i]->rank, e->own[i]))
            cr_onnx_refuse(t,
                           "equation %s does not fit its operands, expected a letter for each axis",
                           text);
        strcat(e->every, e->own[i]);
        at += *at == ',';
    }
    if (n > MOST_OPERANDS || n < 1 || t->failed) {
        cr_onnx_refuse(t, "%d operands, expected at most %d", n, MOST_OPERANDS);
        return false;
    }
    read_result(e, at);
    for (const char *c = e->out; *c; c++)
        if (!strchr(e->every, *c) || strchr(c + 1, *c)) {
            cr_onnx_refuse(t, "equation %s has a result letter twice, or one that no operand has, "
                           "expected each once", text);
            return false;
        }
    for (const char *c = e->every; *c; c++)
        if (!strchr(e->all, *c) && n_all < LETTERS - 1)
            e->all[n_all++] = *c;
    return true;
}

/* Multiplies operands, broadcast to all letters, and sums over letters that the result lacks. */
static cr_t sum_of_products(struct cr_translation *t, const struct equation *e)
{
    int axes[CR_ONNX_RANK], summed[CR_ONNX_RANK], n_summed = 0, n_out = 0;
    char left[CR_ONNX_RANK + 1];
    if (strlen(e->all) > CR_ONNX_RANK) {
        cr_onnx_refuse(t, "%d letters, expected at most %d", (int)strlen(e->all), CR_ONNX_RANK);
        return NULL;
    }
    cr_t y = spread(t, t->in[0], e->own[0], e->all);
    for (int i = 1; i < t->node->n_inputs; i++)
        y = cr_t_binary(t, "*", y, spread(t, t->in[i], e->own[i], e->all));
    for (int i = 0; e->all[i]; i++)
        if (!strchr(e->out, e->all[i]))
            summed[n_summed++] = i;
    choose(e->all, e->out, true, e->out, true, e->out, true, left);
    y = cr_t_reduce(t, "sum", y, n_summed, summed, false);
    for (; e->out[n_out]; n_out++)
        axes[n_out] = (int)(strchr(left, e->out[n_out]) - left);
    return y && n_out == y->rank ? cr_t_permute(t, y, axes) : y;
}

/* Uses a product of matrices if possible, else a sum of products. */
void cr_op_einsum(struct cr_translation *t)
{
    struct equation e = {0};
    cr_t y = NULL;
    if (!read_equation(t, &e))
        return;
    if (t->node->n_inputs == 2 && !has_twice(e.own[0]) && !has_twice(e.own[1]))
        y = as_matmul(t, t->in[0], e.own[0], t->in[1], e.own[1], e.all, e.out);
    if (!y && !t->failed)
        y = sum_of_products(t, &e);
    if (y || !t->failed)
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
