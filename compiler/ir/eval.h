/* eval.h - elementwise ops on doubles: the meaning that the interpreter and folding share. */
#ifndef CR_EVAL_H
#define CR_EVAL_H

#include "graph.h"

/* The op's value; operands past its arity are ignored.  A bool is 0 or 1. */
double cr_eval(enum cr_op op, double a, double b, double c);

/* The elementwise op that a reduction repeats, and in *start what it begins with. */
enum cr_op cr_reduction(enum cr_op op, double *start);

#endif
