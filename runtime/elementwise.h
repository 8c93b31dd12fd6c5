/*
 * elementwise.h - the table of elementwise ops: OP(name, arity, rule, expression, description).
 *
 * An op's row defines everything except its gradient (compiler/ir/gradients.def).  `rule` gives the
 * element types of operands and result: enum cr_rule of compiler/ir/graph.h.
 *
 * `expression` is C over the operands a, b, c.  It is compiled for double, for float and for
 * vectors of floats: it may use + - * / and unary minus, and the CR_ functions that all of these
 * define.  A bool is 0.0 or 1.0.  For i32 it is compiled for unsigned integers, which wrap modulo
 * 2^32; the CR_ functions treat them as signed.
 */
#ifndef CR_ELEMENTWISE_H
#define CR_ELEMENTWISE_H

/* clang-format off */
#define CR_ELEMENTWISE(OP) \
    OP(neg,     1, ARITH,   -a,                 "-a") \
    OP(abs,     1, ARITH,   CR_ABS(a),          "|a|") \
    OP(exp,     1, FLOAT,   CR_EXP(a),          "e to the power of a") \
    OP(log,     1, FLOAT,   CR_LOG(a),          "natural logarithm of a") \
    OP(sqrt,    1, FLOAT,   CR_SQRT(a),         "square root of a") \
    OP(rsqrt,   1, FLOAT,   CR_ONE / CR_SQRT(a), "1 / sqrt(a)") \
    OP(tanh,    1, FLOAT,   CR_TANH(a),         "hyperbolic tangent of a") \
    OP(erf,     1, FLOAT,   CR_ERF(a),          "Gauss error function of a") \
    OP(sigmoid, 1, FLOAT,   CR_SIGMOID(a),      "1 / (1 + exp(-a))") \
    OP(sin,     1, FLOAT,   CR_SIN(a),          "sine of a, in radians") \
    OP(cos,     1, FLOAT,   CR_COS(a),          "cosine of a, in radians") \
    OP(floor,   1, FLOAT,   CR_FLOOR(a),        "the largest whole number up to a") \
    OP(round,   1, FLOAT,   CR_NEAREST(a),      "a rounded to a whole number, ties to even") \
    OP(add,     2, ARITH,   a + b,              "a + b") \
    OP(sub,     2, ARITH,   a - b,              "a - b") \
    OP(mul,     2, ARITH,   a * b,              "a * b") \
    OP(div,     2, FLOAT,   a / b,              "a / b") \
    OP(pow,     2, FLOAT,   CR_POW(a, b),       "a to the power of b, of a < 0 for whole b") \
    OP(floor_divide, 2, ARITH, CR_FLOOR_DIVIDE(a, b), "a / b rounded down; of i32 by 0: 0") \
    OP(remainder, 2, ARITH, CR_REMAINDER(a, b), "what rounding a / b down leaves of a, with the sign of b; of i32 by 0: 0") \
    OP(maximum, 2, ARITH,   CR_MAX(a, b),       "the larger of a and b, +0 being larger than -0; NaN if either is") \
    OP(minimum, 2, ARITH,   CR_MIN(a, b),       "the smaller of a and b, -0 being smaller than +0; NaN if either is") \
    OP(lt,      2, COMPARE, CR_LT(a, b),        "a < b") \
    OP(le,      2, COMPARE, CR_LE(a, b),        "a <= b") \
    OP(gt,      2, COMPARE, CR_LT(b, a),        "a > b") \
    OP(ge,      2, COMPARE, CR_LE(b, a),        "a >= b") \
    OP(eq,      2, COMPARE, CR_EQ(a, b),        "a == b") \
    OP(ne,      2, COMPARE, CR_ONE - CR_EQ(a, b), "a != b") \
    OP(logical_not, 1, LOGIC, CR_ONE - a,       "not a") \
    OP(logical_and, 2, LOGIC, a * b,            "a and b") \
    OP(logical_or,  2, LOGIC, CR_MAX(a, b),     "a or b") \
    OP(where,   3, SELECT,  CR_SELECT(a, b, c), "b where a is true, c elsewhere") \
    OP(fma,     3, FLOAT,   CR_FMA(a, b, c),    "a b + c, rounded once") \
    OP(float,   1, CONVERT, CR_FLOAT(a),        "the number a as f32, rounded to nearest, ties to even; true is 1") \
    OP(int,     1, TRUNCATE, CR_INT(a),         "a without its fraction as i32; -2^31 for NaN and what no i32 is")
/* clang-format on */

#endif
