/*
 * reductions.h - the table of reductions over one axis: OP(name, rule, identity, combine, description).
 *
 * A reduction's row defines everything except its gradient (compiler/ir/gradients.def).  `rule` gives the element
 * types that it accepts: enum cr_rule of compiler/ir/graph.h.
 *
 * `combine` is a C expression over a, the value so far, and b, an element or the value of other elements, in the form
 * of the expressions of elementwise.h.  It is commutative and, except for rounding, associative; runtime.h tells in
 * which order it is applied.  combine(identity, b) is b. CR_LOWEST and CR_HIGHEST are -inf and inf; for i32, -2^31
 * and 2^31 - 1.
 */
#ifndef CR_REDUCTIONS_H
#define CR_REDUCTIONS_H

/* clang-format off */
#define CR_REDUCTIONS(OP) \
    OP(sum, ARITH, 0,         a + b,        "the sum") \
    OP(max, ARITH, CR_LOWEST, CR_MAX(a, b), "the largest, +0 being larger than -0; NaN if any is")
/* clang-format on */

#endif
