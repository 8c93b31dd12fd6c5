/* ops_norm.c - softmax and norms of ONNX; see ops.h. */
#include <string.h>

#include "ops.h"

/* ---- softmax ---- */

static cr_t softmax(struct cr_translation *t, cr_t x, int axis)
{
    int last = x->rank - 1;
    return cr_t_swap(t, cr_t_like(t, "nn.softmax", cr_t_swap(t, x, axis, last), NULL), axis, last);
}

/* Before version 13 softmax is over all axes from `axis` on, merged into one. */
void cr_op_softmax(struct cr_translation *t)
{
    cr_t x = t->in[0];
    int64_t flat[2] = {1, 1};
    bool old = t->node->version < 13;
    if (!x)
        return;
    int axis = cr_axis(t, cr_onnx_integer(t->node, "axis", old ? 1 : -1), x->rank);
    if (!x->rank)
        cr_onnx_refuse(t, "a tensor without axes, expected at least one");
    else if (!old || t->failed || axis == x->rank - 1)
        cr_set_output(t, 0, softmax(t, x, axis));
    else {
        for (int i = 0; i < x->rank; i++)
            flat[i >= axis] = cr_sizes(t->graph->symbols, flat[i >= axis], '*', x->shape[i]);
        cr_t y = softmax(t, cr_t_reshape(t, x, 2, flat), 1);
        cr_set_output(t, 0, cr_t_reshape(t, y, x->rank, x->shape));
    }
}

/* ---- norms ---- */

/* Lists the axes from `axis` on; returns how many. */
static int axes_from(int axis, int rank, int *axes)
{
    int n = 0;
    for (int i = axis; i < rank; i++)
        axes[n++] = i;
    return n;
}

/* Returns PREFIX if the weight is PREFIX.weight and the bias, if any, is PREFIX.bias; or null. */
static const char *module_of(struct cr_translation *t, cr_t weight, cr_t bias)
{
    static const char end[] = ".weight";
    if (weight->kind != CR_TERM_VALUE || !t->graph->values[weight->value].tensor ||
        weight->rank != 1)
        return NULL;
    const char *name = t->graph->values[weight->value].name;
    size_t n = strlen(name);
    if (n <= strlen(end) || strcmp(name + n - strlen(end), end) != 0)
        return NULL;
    for (const char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", *c))
            return NULL;
    const char *prefix = cr_arena_text(t->arena, name, n - strlen(end));
    const char *other = cr_arena_print(t->arena, "%s.bias", prefix);
    if (bias && (bias->kind != CR_TERM_VALUE || !t->graph->values[bias->value].tensor ||
                 strcmp(t->graph->values[bias->value].name, other) != 0))
        return NULL;
    return prefix;
}

/* Makes a layer if its parameters are PREFIX.weight and PREFIX.bias, or returns null. */
static cr_t as_layer(struct cr_translation *t, const char *function, cr_t x, cr_t weight, cr_t bias,
                     double epsilon)
{
    const char *path = module_of(t, weight, bias);
    if (!path || weight->shape[0] != x->shape[x->rank - 1])
        return NULL;
    bool no_bias = !bias && strcmp(function, "nn.layer_norm") == 0;
    return cr_t_scope(t, path, function, x,
                      cr_arena_print(t->arena, "{eps = %s%s}", cr_lua_number(t->arena, epsilon),
                                     no_bias ? ", bias = false" : ""),
                      weight->value, bias ? bias->value : CR_ONNX_NONE);
}

/* (x - mean) / sqrt(variance + epsilon); sets *mean and *inverse = 1 / sqrt(..), too. */
static cr_t standardise(struct cr_translation *t, cr_t x, int n, const int *axes, double epsilon,
                        cr_t *mean, cr_t *inverse)
{
    *mean = cr_mean(t, x, n, axes, true);
    cr_t centred = cr_t_binary(t, "-", x, *mean);
    cr_t variance = cr_mean(t, cr_t_with(t, "pow", centred, 2), n, axes, true);
    *inverse = cr_t_unary(t, "rsqrt", cr_t_with(t, "+", variance, epsilon));
    return cr_t_binary(t, "*", centred, *inverse);
}

/* Gives the norm over the axes from `from` on, times the scale plus the bias.  Mean and inverse
 * deviation are outputs `first` and `first` + 1. */
static void layer_norm(struct cr_translation *t, cr_t x, cr_t scale, cr_t bias, int64_t from,
                       int first)
{
    int axes[CR_ONNX_RANK];
    double epsilon = cr_onnx_real(t->node, "epsilon", 1e-5);
    cr_t mean, inverse;
    if (!x || !scale || t->failed)
        return;
    int axis = cr_axis(t, from, x->rank), n = axes_from(axis, x->rank, axes);
    bool plain = n == 1 && !cr_has_output(t, first) && !cr_has_output(t, first + 1);
    cr_t layer = plain ? as_layer(t, "nn.layer_norm", x, scale, bias, epsilon) : NULL;
    if (layer) {
        cr_set_output(t, 0, layer);
        return;
    }
    cr_t y = cr_t_binary(t, "*", standardise(t, x, n, axes, epsilon, &mean, &inverse), scale);
    cr_set_output(t, 0, bias ? cr_t_binary(t, "+", y, bias) : y);
    if (cr_has_output(t, first))
        cr_set_output(t, first, mean);
    if (cr_has_output(t, first + 1))
        cr_set_output(t, first + 1, inverse);
}

void cr_op_layer_normalization(struct cr_translation *t)
{
    layer_norm(t, t->in[0], cr_input(t, 1), cr_input(t, 2), cr_onnx_integer(t->node, "axis", -1),
               1);
}

/* Gives an RMS norm, as a layer of the library if the weight's name fits. */
static void rms_norm(struct cr_translation *t, cr_t x, cr_t scale, int64_t from)
{
    int axes[CR_ONNX_RANK];
    double epsilon = cr_onnx_real(t->node, "epsilon", 1e-5);
    if (!x || !scale || t->failed)
        return;
    int axis = cr_axis(t, from, x->rank), n = axes_from(axis, x->rank, axes);
    cr_t layer = n == 1 ? as_layer(t, "nn.rms_norm", x, scale, NULL, epsilon) : NULL;
    if (layer) {
        cr_set_output(t, 0, layer);
        return;
    }
    cr_t squares = cr_mean(t, cr_t_with(t, "pow", x, 2), n, axes, true);
    cr_t inverse = cr_t_unary(t, "rsqrt", cr_t_with(t, "+", squares, epsilon));
    cr_set_output(t, 0, cr_t_binary(t, "*", cr_t_binary(t, "*", x, inverse), scale));
}

void cr_op_rms_normalization(struct cr_translation *t)
{
    rms_norm(t, t->in[0], cr_input(t, 1), cr_onnx_integer(t->node, "axis", -1));
}

/* com.microsoft: x + skip + bias is normalised, and is also the last output. */
static cr_t skip_sum(struct cr_translation *t, int bias)
{
    cr_t x = cr_t_binary(t, "+", t->in[0], cr_input(t, 1));
    return cr_input(t, bias) ? cr_t_binary(t, "+", x, cr_input(t, bias)) : x;
}

/* The sum is shared by several terms and an output, so it gets a name. */
void cr_op_skip_layer_normalization(struct cr_translation *t)
{
    cr_t x = skip_sum(t, 4);
    layer_norm(t, x, cr_input(t, 2), cr_input(t, 3), -1, 1);
    if (cr_has_output(t, 3))
        cr_set_output(t, 3, x);
}

void cr_op_skip_rms_normalization(struct cr_translation *t)
{
    cr_t x = skip_sum(t, 3);
    rms_norm(t, x, cr_input(t, 2), -1);
    if (cr_has_output(t, 3))
        cr_set_output(t, 3, x);
}

/* com.microsoft: normalises the sum of rows for words, positions and segments.  Output 1 is the
 * number of tokens that the mask allows, output 2 the sum. */
void cr_op_embed_layer_normalization(struct cr_translation *t)
{
    cr_t ids = t->in[0], segments = cr_input(t, 1), mask = cr_input(t, 7), at = cr_input(t, 8);
    cr_t positions = cr_input(t, 3), part = NULL;
    if (!ids || ids->rank != 2 || !cr_input(t, 2) || !positions || positions->rank != 2)
        return;
    int64_t T = ids->shape[1];
    cr_t x = cr_t_gather(t, cr_input(t, 2), ids);
    part = at ? cr_t_gather(t, positions, at) : cr_t_narrow(t, positions, 0, 0, T);
    x = cr_t_binary(t, "+", x, part);
    if (segments && cr_input(t, 4))
        x = cr_t_binary(t, "+", x, cr_t_gather(t, cr_input(t, 4), segments));
    layer_norm(t, x, cr_input(t, 5), cr_input(t, 6), -1, 3);
    if (cr_has_output(t, 1))
        cr_set_output(t, 1,
                      mask ? cr_t_reduce(t, "sum",
                                         cr_t_cast(t, cr_t_with(t, "eq", mask, 1), CR_ONNX_INT32),
                                         1, (int[]){1}, false)
                           : cr_t_full(t, CR_ONNX_INT32, 1, ids->shape, 0));
    if (cr_has_output(t, 2))
        cr_set_output(t, 2, x);
}
