/* eval.h - evaluates elementwise ops and reductions on doubles, for the interpreter and for
 * constant folding. */
#ifndef CR_EVAL_H
#define CR_EVAL_H

#include "graph.h"

/*
 * Evaluates an op on the operands a, b and c; operands beyond the op's arity are ignored; a bool
 * is 0 or 1.  For a reduction, a is the accumulator and b the next element.
 */
typedef double cr_evaluator(enum cr_op op, double a, double b, double c);

/* Returns the evaluator of an op for operands of a type; an i32 result wraps modulo 2^32. */
cr_evaluator *cr_evaluator_of(enum cr_op op, enum cr_dtype dtype);

/* Returns the initial value of a reduction of elements of a type. */
double cr_identity(enum cr_op reduction, enum cr_dtype dtype);

#endif
