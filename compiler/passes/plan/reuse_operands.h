/* reuse_operands.h - finds values that can be stored over an operand, in the same part of the
 * arena. */
#ifndef CR_REUSE_OPERANDS_H
#define CR_REUSE_OPERANDS_H

#include "lifetimes.h"

/*
 * Joins pairs of parts of the arena.  A kernel must store a value of one part and be the last reader of an operand in
 * the other part, over which it can store the value; no other values of the two parts may be live at the same time.
 * The sum of a residual connection is such a value.  Sets lifetimes->over.
 */
void cr_reuse_operands(struct cr_lifetimes *lifetimes, const struct cr_module *module);

#endif
