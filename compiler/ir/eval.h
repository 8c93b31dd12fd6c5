/* eval.h - elementwise ops on doubles: the meaning that the interpreter and folding share. */
#ifndef CR_EVAL_H
#define CR_EVAL_H

#include "graph.h"

/* The op's value; operands past its arity are ignored.  A bool is 0 or 1. */
double cr_eval(enum cr_op op, double a, double b, double c);

/* The same for an op with an i32 result, of operands that are i32: it wraps modulo 2^32. */
double cr_eval_i32(enum cr_op op, double a, double b, double c);

/* An op of a node of some type: one of the two above. */
typedef double cr_evaluator(enum cr_op op, double a, double b, double c);
cr_evaluator *cr_evaluator_of(enum cr_op op, enum cr_dtype dtype);

/* The elementwise op that a reduction to a type repeats, and in *start what it begins with. */
enum cr_op cr_reduction(enum cr_op op, enum cr_dtype dtype, double *start);

#endif
