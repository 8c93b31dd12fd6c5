#include "eval.h"

#include <math.h>
#include <stdlib.h>

/* The macros that elementwise.h and reductions.h use, for double. */
#define CR_ONE 1.0
#define CR_FLOAT(x) ((double)(float)(x))
#define CR_ABS(x) fabs(x)
#define CR_EXP(x) exp(x)
#define CR_LOG(x) log(x)
#define CR_SQRT(x) sqrt(x)
#define CR_TANH(x) tanh(x)
#define CR_ERF(x) erf(x)
#define CR_SIGMOID(x) (1.0 / (1.0 + exp(-(x))))
#define CR_SIN(x) sin(x)
#define CR_COS(x) cos(x)
#define CR_FLOOR(x) floor(x)
#define CR_NEAREST(x) rint(x)
#define CR_POW(x, y) pow(x, y)
#define CR_FMA(a, b, c) fma(a, b, c)
#define CR_MAX(x, y) larger(x, y)
#define CR_MIN(x, y) (-larger(-(x), -(y)))
#define CR_FLOOR_DIVIDE(x, y) floor((x) / (y))
#define CR_REMAINDER(x, y) modulo(x, y)
#define CR_INT(x) ((x) > -0x1.00000002p31 && (x) < 0x1p31 ? trunc(x) + 0 : -0x1p31)
#define CR_LT(x, y) ((x) < (y) ? 1.0 : 0.0)
#define CR_LE(x, y) ((x) <= (y) ? 1.0 : 0.0)
#define CR_EQ(x, y) ((x) == (y) ? 1.0 : 0.0)
#define CR_SELECT(x, y, z) ((x) != 0 ? (y) : (z))
#define CR_LOWEST (-INFINITY)
#define CR_HIGHEST INFINITY

/* Returns the larger number; NaN if either is NaN; +0 of two zeros. */
static double larger(double x, double y)
{
    if (isnan(x) || isnan(y))
        return x + y;
    return x > y || (x == y && !signbit(x)) ? x : y;
}

/* Returns x modulo y, with the sign of y. */
static double modulo(double x, double y)
{
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Evaluates an op in double precision, if operands or result are f32 or bool. */
static double eval_floats(enum cr_op op, double a, double b, double c)
{
    (void)b, (void)c; /* not used by the unary ops of the table */
    switch (op) {
#define OP(name, arity, rule, expression, description)                                             \
    case CR_OP_##name:                                                                             \
        return expression;
        CR_ELEMENTWISE(OP)
#undef OP
#define OP(name, rule, identity, combine, description)                                             \
    case CR_OP_##name:                                                                             \
        return combine;
        CR_REDUCTIONS(OP)
#undef OP
    default:
        abort();
    }
}

static const double f32_identity[CR_OP_COUNT] = {
#define OP(name, rule, identity, combine, description) [CR_OP_##name] = identity,
    CR_REDUCTIONS(OP)
#undef OP
};

/* Redefines the op macros for int64_t, in which no op on two i32 values overflows. */
#undef CR_ABS
#undef CR_FLOOR_DIVIDE
#undef CR_REMAINDER
#undef CR_MAX
#undef CR_MIN
#undef CR_LOWEST
#undef CR_HIGHEST
#define CR_ABS(x) ((x) < 0 ? -(x) : (x))
#define CR_FLOOR_DIVIDE(x, y) floor_divide(x, y)
#define CR_REMAINDER(x, y) ((y) ? (x) - floor_divide(x, y) * (y) : 0)
#define CR_MAX(x, y) ((x) > (y) ? (x) : (y))
#define CR_MIN(x, y) ((x) < (y) ? (x) : (y))
#define CR_LOWEST INT32_MIN
#define CR_HIGHEST INT32_MAX

/* Select the expressions of the op table whose result can be i32; abort for the others. */
#define I32_ARITH(expression) (expression)
#define I32_FLOAT(expression) (abort(), 0)
#define I32_COMPARE(expression) (abort(), 0)
#define I32_LOGIC(expression) (abort(), 0)
#define I32_SELECT(expression) (abort(), 0)
#define I32_CONVERT(expression) (abort(), 0)
#define I32_TRUNCATE(expression) (abort(), 0)

static int64_t floor_divide(int64_t x, int64_t y)
{
    return !y ? 0 : x / y - (x % y != 0 && (x < 0) != (y < 0));
}

/* Returns `result` modulo 2^32 as a number between -2^31 and 2^31 - 1. */
static double wrapped(int64_t result)
{
    uint32_t bits = (uint32_t)(uint64_t)result;
    return (double)bits - (bits > INT32_MAX ? 0x1p32 : 0);
}

/* Evaluates the op's expression from the table on integers; the result is not yet wrapped to
 * i32. */
static int64_t eval_integers(enum cr_op op, int64_t a, int64_t b, int64_t c)
{
    (void)b, (void)c;
    switch (op) {
#define OP(name, arity, rule, expression, description)                                             \
    case CR_OP_##name:                                                                             \
        return I32_##rule(expression);
        CR_ELEMENTWISE(OP)
#undef OP
#define OP(name, rule, identity, combine, description)                                             \
    case CR_OP_##name:                                                                             \
        return I32_##rule(combine);
        CR_REDUCTIONS(OP)
#undef OP
    default:
        abort();
    }
}

static double eval_i32(enum cr_op op, double a, double b, double c)
{
    return wrapped(eval_integers(op, (int64_t)a, (int64_t)b, (int64_t)c));
}

cr_evaluator *cr_evaluator_of(enum cr_op op, enum cr_dtype dtype)
{
    return cr_ops[op].rule == CR_RULE_ARITH && dtype == CR_I32 ? eval_i32 : eval_floats;
}

static const double i32_identity[CR_OP_COUNT] = {
#define OP(name, rule, identity, combine, description) [CR_OP_##name] = identity,
    CR_REDUCTIONS(OP)
#undef OP
};

double cr_identity(enum cr_op reduction, enum cr_dtype dtype)
{
    return (dtype == CR_I32 ? i32_identity : f32_identity)[reduction];
}
