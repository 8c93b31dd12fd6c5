/*
 * elementwise.h - the table of elementwise ops.
 *
 * One row is all there is to an elementwise op: the interpreter, the shape and
 * type rules, the vectorised strips, the backward pass and the reference in docs/
 * are made from it.
 *
 *     OP(name, arity, rule, expression, description, gradient)
 *
 * `rule` relates the element types (f32, i32, bool) of operands and result:
 *     ARITH    all operands of one numeric type, the result has it too
 *     FLOAT    f32 in, f32 out
 *     COMPARE  two operands of one numeric type, the result is bool
 *     LOGIC    bool in, bool out
 *     SELECT   bool, then two operands of one type, which the result has too
 *     CONVERT  i32 or bool in, f32 out
 *
 * `expression` is C over the operands a, b, c.  It is compiled for double (the
 * interpreter), for float (plain C) and for GNU vectors of floats (AVX2,
 * AVX-512), so it may use + - * / and unary minus, which all of these have, and
 * the CR_ functions that each of them defines.  A bool is 0.0 or 1.0.
 *
 * Where the rule admits i32 the same expression is compiled once more, over unsigned
 * integers of 32 bits: + - * and unary minus wrap modulo 2^32, as in two's complement,
 * and the CR_ functions take the operands for signed.  `description` holds for both.
 *
 * `gradient` says for each operand, in parentheses, what its gradient gets from the op:
 * an expression over the nodes of the operands a, b, c, of the result y, and of g, the
 * gradient of the result.  n_NAME(...) is a node of the op NAME, n_number(x, v) the
 * number v in the shape of x; compiler/ir/gradient.c compiles the column and explains
 * n_unless.  NONE stands for an operand that has none: a bool, an i32, a thing compared.
 */
#ifndef CR_ELEMENTWISE_H
#define CR_ELEMENTWISE_H

/* clang-format off */
#define CR_ELEMENTWISE(OP) \
    OP(neg,     1, ARITH,   -a,                 "-a", (n_neg(g))) \
    OP(abs,     1, ARITH,   CR_ABS(a),          "|a|", (n_where(n_lt(a, n_number(a, 0)), n_neg(g), \
       n_where(n_eq(a, n_number(a, 0)), n_number(a, 0), g)))) \
    OP(exp,     1, FLOAT,   CR_EXP(a),          "e to the power of a", (n_mul(g, y))) \
    OP(log,     1, FLOAT,   CR_LOG(a),          "natural logarithm of a", (n_div(g, a))) \
    OP(sqrt,    1, FLOAT,   CR_SQRT(a),         "square root of a", (n_div(g, n_add(y, y)))) \
    OP(rsqrt,   1, FLOAT,   CR_ONE / CR_SQRT(a), "1 / sqrt(a)", \
       (n_mul(n_mul(g, n_number(y, -0.5)), n_mul(y, n_mul(y, y))))) \
    OP(tanh,    1, FLOAT,   CR_TANH(a),         "hyperbolic tangent of a", \
       (n_mul(g, n_sub(n_number(y, 1), n_mul(y, y))))) \
    OP(erf,     1, FLOAT,   CR_ERF(a),          "Gauss error function of a", \
       (n_mul(g, n_mul(n_number(a, 1.1283791670955126), n_exp(n_neg(n_mul(a, a))))))) \
    OP(sigmoid, 1, FLOAT,   CR_SIGMOID(a),      "1 / (1 + exp(-a))", \
       (n_mul(g, n_mul(y, n_sub(n_number(y, 1), y))))) \
    OP(add,     2, ARITH,   a + b,              "a + b", (g, g)) \
    OP(sub,     2, ARITH,   a - b,              "a - b", (g, n_neg(g))) \
    OP(mul,     2, ARITH,   a * b,              "a * b", (n_mul(g, b), n_mul(g, a))) \
    OP(div,     2, FLOAT,   a / b,              "a / b", \
       (n_div(g, b), n_neg(n_div(n_mul(g, y), b)))) \
    OP(maximum, 2, ARITH,   CR_MAX(a, b),       "the larger of a and b, +0 being larger than -0; NaN if either is", \
       (n_unless(n_lt(a, b), a, b, g), n_unless(n_lt(b, a), a, b, g))) \
    OP(minimum, 2, ARITH,   CR_MIN(a, b),       "the smaller of a and b, -0 being smaller than +0; NaN if either is", \
       (n_unless(n_lt(b, a), a, b, g), n_unless(n_lt(a, b), a, b, g))) \
    OP(lt,      2, COMPARE, CR_LT(a, b),        "a < b", (NONE, NONE)) \
    OP(le,      2, COMPARE, CR_LE(a, b),        "a <= b", (NONE, NONE)) \
    OP(gt,      2, COMPARE, CR_LT(b, a),        "a > b", (NONE, NONE)) \
    OP(ge,      2, COMPARE, CR_LE(b, a),        "a >= b", (NONE, NONE)) \
    OP(eq,      2, COMPARE, CR_EQ(a, b),        "a == b", (NONE, NONE)) \
    OP(ne,      2, COMPARE, CR_ONE - CR_EQ(a, b), "a != b", (NONE, NONE)) \
    OP(logical_not, 1, LOGIC, CR_ONE - a,       "not a", (NONE)) \
    OP(logical_and, 2, LOGIC, a * b,            "a and b", (NONE, NONE)) \
    OP(logical_or,  2, LOGIC, CR_MAX(a, b),     "a or b", (NONE, NONE)) \
    OP(where,   3, SELECT,  CR_SELECT(a, b, c), "b where a is true, c elsewhere", \
       (NONE, n_where(a, g, n_number(g, 0)), n_where(a, n_number(g, 0), g))) \
    OP(fma,     3, FLOAT,   CR_FMA(a, b, c),    "a b + c, rounded once", \
       (n_mul(g, b), n_mul(g, a), g)) \
    OP(float,   1, CONVERT, CR_FLOAT(a),        "the number a as f32, rounded to nearest, ties to even; true is 1", (NONE))
/* clang-format on */

#endif
