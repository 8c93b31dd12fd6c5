/* ops_elementwise.c - elementwise operators of ONNX that no formula of ops.def says; see ops.h. */
#include <string.h>

#include "ops.h"

/* ---- activations ---- */

void cr_op_relu(struct cr_translation *t)
{
    cr_t x = t->in[0];
    bool plain = x && (x->kind == CR_TERM_DATA || cr_language_type(x->type) == CR_LANGUAGE_I32);
    cr_set_output(t, 0, plain ? cr_t_with(t, "maximum", x, 0) : cr_t_like(t, "nn.relu", x, NULL));
}

static double alpha(struct cr_translation *t, double otherwise)
{
    return cr_onnx_real(t->node, "alpha", otherwise);
}

static cr_t swish(struct cr_translation *t, cr_t x, double a)
{
    if (a == 1)
        return cr_t_like(t, "nn.silu", x, NULL);
    return cr_t_binary(t, "*", x, cr_t_unary(t, "sigmoid", cr_t_with(t, "*", x, a)));
}

void cr_op_swish(struct cr_translation *t)
{
    cr_set_output(t, 0, swish(t, t->in[0], alpha(t, 1)));
}

void cr_op_quick_gelu(struct cr_translation *t)
{
    cr_set_output(t, 0, swish(t, t->in[0], alpha(t, 1.702)));
}

void cr_op_gelu(struct cr_translation *t)
{
    bool is_tanh = strcmp(cr_string(t, "approximate", "none"), "tanh") == 0;
    cr_set_output(t, 0, cr_t_like(t, is_tanh ? "nn.gelu_tanh" : "nn.gelu", t->in[0], NULL));
}

void cr_op_fast_gelu(struct cr_translation *t)
{
    cr_t bias = cr_input(t, 1);
    cr_set_output(
        t, 0,
        cr_t_like(t, "nn.gelu_tanh", bias ? cr_t_binary(t, "+", t->in[0], bias) : t->in[0], NULL));
}

/* ---- two operands ---- */

static bool is_integer(cr_t x)
{
    return x && cr_language_type(x->type) == CR_LANGUAGE_I32;
}

/* True if no element can be negative. */
static bool is_natural(cr_t x)
{
    bool natural = x->data != NULL || x->type == CR_ONNX_UINT8 || x->type == CR_ONNX_UINT16 ||
                   x->type == CR_ONNX_UINT32 || x->type == CR_ONNX_UINT64;
    for (int64_t i = 0; natural && x->data && i < cr_t_elements(x); i++)
        natural = x->data[i] >= 0;
    return natural;
}

/* Divides integers, rounding to zero: the language's quotient, which is rounded down, plus 1 if it
 * is negative and the remainder is not 0. */
static cr_t divide(struct cr_translation *t, cr_t a, cr_t b)
{
    cr_t down = cr_t_binary(t, "floor_divide", a, b);
    if (is_natural(a) && is_natural(b))
        return down;
    cr_t left = cr_t_with(t, "ne", cr_t_binary(t, "remainder", a, b), 0);
    cr_t below = cr_t_binary(t, "ne", cr_t_with(t, "lt", a, 0), cr_t_with(t, "lt", b, 0));
    return cr_t_where(t, cr_t_binary(t, "logical_and", left, below), cr_t_with(t, "+", down, 1),
                      down);
}

void cr_op_div(struct cr_translation *t)
{
    if (is_integer(t->in[0]) && is_integer(cr_input(t, 1)))
        cr_set_output(t, 0, divide(t, t->in[0], t->in[1]));
    else
        cr_set_output(t, 0, cr_t_binary(t, "/", t->in[0], cr_input(t, 1)));
}

/* The remainder has the sign of a if fmod is set, else the sign of b. */
void cr_op_mod(struct cr_translation *t)
{
    cr_t a = t->in[0], b = cr_input(t, 1);
    if (!cr_onnx_integer(t->node, "fmod", 0)) {
        cr_set_output(t, 0, cr_t_binary(t, "remainder", a, b));
        return;
    }
    cr_t left = cr_t_binary(t, "remainder", cr_t_unary(t, "abs", a), cr_t_unary(t, "abs", b));
    cr_set_output(t, 0, cr_t_where(t, cr_t_with(t, "lt", a, 0), cr_t_unary(t, "neg", left), left));
}

/* Computes powers in floats; an integer result is rounded. */
void cr_op_pow(struct cr_translation *t)
{
    cr_t a = t->in[0], b = cr_input(t, 1);
    enum cr_onnx_type type = a ? a->type : CR_ONNX_FLOAT;
    cr_t y = cr_t_binary(t, "pow", cr_t_cast(t, a, CR_ONNX_FLOAT), cr_t_cast(t, b, CR_ONNX_FLOAT));
    cr_set_output(t, 0, cr_t_cast(t, is_integer(a) ? cr_t_unary(t, "round", y) : y, type));
}

/* The limits are attributes before version 11, inputs since. */
void cr_op_clip(struct cr_translation *t)
{
    cr_t x = t->in[0], low = cr_input(t, 1), high = cr_input(t, 2);
    const struct cr_onnx_attribute *min = cr_onnx_typed(t->node, "min", CR_ONNX_A_FLOAT);
    const struct cr_onnx_attribute *max = cr_onnx_typed(t->node, "max", CR_ONNX_A_FLOAT);
    if (low || min)
        x = low ? cr_t_binary(t, "maximum", x, low) : cr_t_with(t, "maximum", x, min->f);
    if (high || max)
        x = high ? cr_t_binary(t, "minimum", x, high) : cr_t_with(t, "minimum", x, max->f);
    cr_set_output(t, 0, x);
}

/* ---- types ---- */

void cr_op_cast(struct cr_translation *t)
{
    cr_set_output(t, 0,
                  cr_t_cast(t, t->in[0], (enum cr_onnx_type)cr_onnx_integer(t->node, "to", 1)));
}

void cr_op_cast_like(struct cr_translation *t)
{
    cr_t like = cr_input(t, 1);
    cr_set_output(t, 0, like ? cr_t_cast(t, t->in[0], like->type) : NULL);
}
