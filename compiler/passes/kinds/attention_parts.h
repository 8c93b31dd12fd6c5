/* attention_parts.h - declares the functions of the two attention kinds that are in other files. */
#ifndef CR_ATTENTION_PARTS_H
#define CR_ATTENTION_PARTS_H

#include "compiler/passes/verifier/kernel_check.h"

/* By enum cr_array_kind: the words that describe an array's gradient, such as "summed over
 * keys". */
extern const char *const cr_array_titles[];

/* Sets the roles of the atoms of parts of rows, and of a scattered table's rows; fails if an atom
 * would have two roles. */
bool cr_take_attention_roles(struct cr_kernel_check *check);
bool cr_take_gradient_roles(struct cr_kernel_check *check);

/* Fails unless the member `attention` agrees with the loops, the operands and the graph. */
int cr_verify_attention(const struct cr_kernel_check *check);
int cr_verify_attention_backward(const struct cr_kernel_check *check);

#endif
