/* reuse_operands.h - values that are stored over an operand, in the same part of the arena. */
#ifndef CR_REUSE_OPERANDS_H
#define CR_REUSE_OPERANDS_H

#include "lifetimes.h"

/*
 * Joins two parts of the arena if a kernel may store a value of one over an operand that it is the
 * last to read, a value of the other, and no other values of the two are live at once.  Such a value
 * is the sum of a residual connection.  Sets lifetimes->over.
 */
void cr_reuse_operands(struct cr_lifetimes *lifetimes, const struct cr_module *module);

#endif
