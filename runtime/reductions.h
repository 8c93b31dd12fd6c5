/*
 * reductions.h - the table of reductions: over one axis, which keeps the size 1.
 *
 * A row is all there is to a reduction but its gradient (compiler/ir/gradients.def): the
 * interpreter, the shape and type rules, the vectorised functions over rows and down
 * columns and the function of the graph language are made from it.
 *
 *     OP(name, rule, identity, combine, description)
 *
 * `rule` says of which types the operand may be; the result has the same:
 *     ARITH    f32 or i32
 *     FLOAT    f32
 *
 * `combine` is C over a, what there is so far, and b, what is added to it: an element, or what
 * there is of others.  It may consist of what expressions of elementwise.h may, is compiled for
 * the same types, and must be commutative and, but for rounding, associative: runtime.h says in
 * which order it is applied.
 *
 * `identity` is what a reduction begins with; combine(identity, b) is b.  It is a number, or
 * CR_LOWEST or CR_HIGHEST: -inf and inf, of i32 -2^31 and 2^31 - 1.
 */
#ifndef CR_REDUCTIONS_H
#define CR_REDUCTIONS_H

/* clang-format off */
#define CR_REDUCTIONS(OP) \
    OP(sum, ARITH, 0,         a + b,        "the sum") \
    OP(max, ARITH, CR_LOWEST, CR_MAX(a, b), "the largest, +0 being larger than -0; NaN if any is")
/* clang-format on */

#endif
