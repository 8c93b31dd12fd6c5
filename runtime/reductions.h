/*
 * reductions.h - the table of reductions: over one axis, which keeps the size 1.
 *
 * A row defines a reduction: the interpreter, the shape and type rules, the vectorised functions over
 * rows and down columns and the function of the graph language are made from it.  Its gradient is a row of
 * compiler/ir/gradients.def.
 *
 *     OP(name, rule, identity, combine, description)
 *
 * `rule` says which element types it has: enum cr_rule of compiler/ir/graph.h.
 *
 * `combine` is a C expression over a, the value so far, and b, an element or the value of other elements.
 * It is written as the expressions of elementwise.h are, compiled for the same types, commutative and, but
 * for rounding, associative.  runtime.h says in which order it is applied.
 *
 * `identity` is the initial value: combine(identity, b) is b.  It is a number, or CR_LOWEST or CR_HIGHEST:
 * -inf and inf, of i32 -2^31 and 2^31 - 1.
 */
#ifndef CR_REDUCTIONS_H
#define CR_REDUCTIONS_H

/* clang-format off */
#define CR_REDUCTIONS(OP) \
    OP(sum, ARITH, 0,         a + b,        "the sum") \
    OP(max, ARITH, CR_LOWEST, CR_MAX(a, b), "the largest, +0 being larger than -0; NaN if any is")
/* clang-format on */

#endif
