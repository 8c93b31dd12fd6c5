/* ops_elementwise.c - operators of ONNX that work element by element; see ops.h. */
#include <math.h>
#include <string.h>

#include "ops.h"

/* ---- of one operand ---- */

static void unary(struct cr_translation *t, const char *name)
{
    cr_give(t, 0, cr_t_unary(t, name, t->in[0]));
}

void cr_op_neg(struct cr_translation *t)
{
    unary(t, "neg");
}

void cr_op_abs(struct cr_translation *t)
{
    unary(t, "abs");
}

void cr_op_exp(struct cr_translation *t)
{
    unary(t, "exp");
}

void cr_op_log(struct cr_translation *t)
{
    unary(t, "log");
}

void cr_op_sqrt(struct cr_translation *t)
{
    unary(t, "sqrt");
}

void cr_op_tanh(struct cr_translation *t)
{
    unary(t, "tanh");
}

void cr_op_erf(struct cr_translation *t)
{
    unary(t, "erf");
}

void cr_op_sigmoid(struct cr_translation *t)
{
    unary(t, "sigmoid");
}

void cr_op_sin(struct cr_translation *t)
{
    unary(t, "sin");
}

void cr_op_cos(struct cr_translation *t)
{
    unary(t, "cos");
}

void cr_op_floor(struct cr_translation *t)
{
    unary(t, "floor");
}

void cr_op_round(struct cr_translation *t)
{
    unary(t, "round");
}

void cr_op_not(struct cr_translation *t)
{
    unary(t, "logical_not");
}

void cr_op_identity(struct cr_translation *t)
{
    cr_give(t, 0, t->in[0]);
}

static cr_t one_of(struct cr_translation *t, cr_t like, double number)
{
    return like ? cr_t_number(t, like->type, number) : NULL;
}

/* number - x, number / x and so on. */
static cr_t from(struct cr_translation *t, double number, const char *name, cr_t x)
{
    return cr_t_binary(t, name, one_of(t, x, number), x);
}

static cr_t neg(struct cr_translation *t, cr_t x)
{
    return cr_t_unary(t, "neg", x);
}

void cr_op_reciprocal(struct cr_translation *t)
{
    cr_give(t, 0, from(t, 1, "/", t->in[0]));
}

void cr_op_ceil(struct cr_translation *t)
{
    cr_give(t, 0, neg(t, cr_t_unary(t, "floor", neg(t, t->in[0]))));
}

void cr_op_sign(struct cr_translation *t)
{
    cr_t x = t->in[0], one = one_of(t, x, 1), minus = one_of(t, x, -1), zero = one_of(t, x, 0);
    cr_give(t, 0,
            cr_t_where(t, cr_t_with(t, "gt", x, 0), one,
                       cr_t_where(t, cr_t_with(t, "lt", x, 0), minus, zero)));
}

void cr_op_is_nan(struct cr_translation *t)
{
    cr_give(t, 0, cr_t_binary(t, "ne", t->in[0], t->in[0]));
}

/* Either sign may be asked for, both or none. */
void cr_op_is_inf(struct cr_translation *t)
{
    cr_t x = t->in[0], above = cr_t_with(t, "eq", x, INFINITY),
         below = cr_t_with(t, "eq", x, -INFINITY);
    bool positive = cr_onnx_integer(t->node, "detect_positive", 1) != 0;
    bool negative = cr_onnx_integer(t->node, "detect_negative", 1) != 0;
    if (!positive && !negative)
        cr_give(t, 0, x ? cr_t_full(t, CR_ONNX_BOOL, x->rank, x->shape, 0) : NULL);
    else
        cr_give(t, 0,
                !negative   ? above
                : !positive ? below
                            : cr_t_binary(t, "logical_or", above, below));
}

/* ---- activations ---- */

void cr_op_relu(struct cr_translation *t)
{
    cr_t x = t->in[0];
    bool plain = x && (x->kind == CR_TERM_DATA || cr_language_type(x->type) == CR_LANGUAGE_I32);
    cr_give(t, 0, plain ? cr_t_with(t, "maximum", x, 0) : cr_t_like(t, "nn.relu", x, NULL));
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
    cr_give(t, 0, swish(t, t->in[0], alpha(t, 1)));
}

/* nn.swiglu where nothing is broadcast. */
void cr_op_swiglu(struct cr_translation *t)
{
    cr_t gate = t->in[0], up = cr_input(t, 1);
    double a = alpha(t, 1);
    bool alike = gate && up && gate->rank == up->rank && gate->type == up->type &&
                 memcmp(gate->shape, up->shape, sizeof gate->shape) == 0;
    if (a == 1 && alike)
        cr_give(t, 0,
                cr_t_call(t, "nn.swiglu", gate->type, gate->rank, gate->shape,
                          (struct cr_onnx_argument[]){{gate, NULL}, {up, NULL}}, 2));
    else
        cr_give(t, 0, cr_t_binary(t, "*", swish(t, gate, a), up));
}

void cr_op_quick_gelu(struct cr_translation *t)
{
    cr_give(t, 0, swish(t, t->in[0], alpha(t, 1.702)));
}

void cr_op_gelu(struct cr_translation *t)
{
    bool is_tanh = strcmp(cr_string(t, "approximate", "none"), "tanh") == 0;
    cr_give(t, 0, cr_t_like(t, is_tanh ? "nn.gelu_tanh" : "nn.gelu", t->in[0], NULL));
}

void cr_op_bias_gelu(struct cr_translation *t)
{
    cr_give(t, 0, cr_t_like(t, "nn.gelu", cr_t_binary(t, "+", t->in[0], cr_input(t, 1)), NULL));
}

void cr_op_fast_gelu(struct cr_translation *t)
{
    cr_t bias = cr_input(t, 1);
    cr_give(
        t, 0,
        cr_t_like(t, "nn.gelu_tanh", bias ? cr_t_binary(t, "+", t->in[0], bias) : t->in[0], NULL));
}

/* ---- of two ---- */

static void binary(struct cr_translation *t, const char *name)
{
    cr_give(t, 0, cr_t_binary(t, name, cr_input(t, 0), cr_input(t, 1)));
}

void cr_op_add(struct cr_translation *t)
{
    binary(t, "+");
}

void cr_op_sub(struct cr_translation *t)
{
    binary(t, "-");
}

void cr_op_mul(struct cr_translation *t)
{
    binary(t, "*");
}

static bool is_integer(cr_t x)
{
    return x && cr_language_type(x->type) == CR_LANGUAGE_I32;
}

/* Whether no element is below 0. */
static bool is_natural(cr_t x)
{
    bool natural = x->data != NULL || x->type == CR_ONNX_UINT8 || x->type == CR_ONNX_UINT16 ||
                   x->type == CR_ONNX_UINT32 || x->type == CR_ONNX_UINT64;
    for (int64_t i = 0; natural && x->data && i < cr_t_elements(x); i++)
        natural = x->data[i] >= 0;
    return natural;
}

/* Of integers the quotient is rounded to zero: that of the language, which is rounded down, plus 1 where
 * it is below 0 and something is left. */
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
        cr_give(t, 0, divide(t, t->in[0], t->in[1]));
    else
        binary(t, "/");
}

/* With fmod what is left has the sign of a, else that of b. */
void cr_op_mod(struct cr_translation *t)
{
    cr_t a = t->in[0], b = cr_input(t, 1);
    if (!cr_onnx_integer(t->node, "fmod", 0)) {
        binary(t, "remainder");
        return;
    }
    cr_t left = cr_t_binary(t, "remainder", cr_t_unary(t, "abs", a), cr_t_unary(t, "abs", b));
    cr_give(t, 0, cr_t_where(t, cr_t_with(t, "lt", a, 0), neg(t, left), left));
}

/* Of a number as the exponent `^` can do without pow; integers go through floats. */
void cr_op_pow(struct cr_translation *t)
{
    cr_t a = t->in[0], b = cr_input(t, 1);
    enum cr_onnx_type type = a ? a->type : CR_ONNX_FLOAT;
    cr_t y = cr_t_binary(t, "pow", cr_t_cast(t, a, CR_ONNX_FLOAT), cr_t_cast(t, b, CR_ONNX_FLOAT));
    cr_give(t, 0, cr_t_cast(t, is_integer(a) ? cr_t_unary(t, "round", y) : y, type));
}

void cr_op_equal(struct cr_translation *t)
{
    binary(t, "eq");
}

void cr_op_less(struct cr_translation *t)
{
    binary(t, "lt");
}

void cr_op_less_or_equal(struct cr_translation *t)
{
    binary(t, "le");
}

void cr_op_greater(struct cr_translation *t)
{
    binary(t, "gt");
}

void cr_op_greater_or_equal(struct cr_translation *t)
{
    binary(t, "ge");
}

void cr_op_and(struct cr_translation *t)
{
    binary(t, "logical_and");
}

void cr_op_or(struct cr_translation *t)
{
    binary(t, "logical_or");
}

void cr_op_xor(struct cr_translation *t)
{
    binary(t, "ne");
}

/* ---- of any number ---- */

static cr_t fold_inputs(struct cr_translation *t, const char *name)
{
    cr_t x = t->in[0];
    for (int i = 1; i < t->node->n_inputs; i++)
        x = cr_t_binary(t, name, x, t->in[i]);
    return x;
}

void cr_op_sum(struct cr_translation *t)
{
    cr_give(t, 0, fold_inputs(t, "+"));
}

void cr_op_mean(struct cr_translation *t)
{
    cr_give(t, 0, cr_t_with(t, "/", fold_inputs(t, "+"), t->node->n_inputs));
}

void cr_op_max(struct cr_translation *t)
{
    cr_give(t, 0, fold_inputs(t, "maximum"));
}

void cr_op_min(struct cr_translation *t)
{
    cr_give(t, 0, fold_inputs(t, "minimum"));
}

/* The limits are attributes before version 11, then inputs. */
void cr_op_clip(struct cr_translation *t)
{
    cr_t x = t->in[0], low = cr_input(t, 1), high = cr_input(t, 2);
    const struct cr_onnx_attribute *min = cr_onnx_typed(t->node, "min", CR_ONNX_A_FLOAT);
    const struct cr_onnx_attribute *max = cr_onnx_typed(t->node, "max", CR_ONNX_A_FLOAT);
    if (low || min)
        x = low ? cr_t_binary(t, "maximum", x, low) : cr_t_with(t, "maximum", x, min->f);
    if (high || max)
        x = high ? cr_t_binary(t, "minimum", x, high) : cr_t_with(t, "minimum", x, max->f);
    cr_give(t, 0, x);
}

void cr_op_where(struct cr_translation *t)
{
    cr_give(t, 0, cr_t_where(t, t->in[0], cr_input(t, 1), cr_input(t, 2)));
}

/* ---- types ---- */

void cr_op_cast(struct cr_translation *t)
{
    cr_give(t, 0, cr_t_cast(t, t->in[0], (enum cr_onnx_type)cr_onnx_integer(t->node, "to", 1)));
}

void cr_op_cast_like(struct cr_translation *t)
{
    cr_t like = cr_input(t, 1);
    cr_give(t, 0, like ? cr_t_cast(t, t->in[0], like->type) : NULL);
}
