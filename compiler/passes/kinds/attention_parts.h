/* attention_parts.h - what the rows of the two kinds of attention refer to in other files. */
#ifndef CR_ATTENTION_PARTS_H
#define CR_ATTENTION_PARTS_H

#include "compiler/passes/verifier/kernel_check.h"

/* "summed over keys" ..., by kind of array. */
extern const char *const cr_array_titles[];

/* Give the atoms of parts of rows, and of the rows of a table, their roles. */
bool cr_take_attention_roles(struct cr_kernel_check *check);
bool cr_take_gradient_roles(struct cr_kernel_check *check);

/* What the member `attention` says agrees with the loops, the operands and the graph. */
int cr_verify_attention(const struct cr_kernel_check *check);
int cr_verify_attention_backward(const struct cr_kernel_check *check);

/* The gradients of an attention, each of which is a part of a concat, or an output. */
int cr_verify_gradients(struct cr_kernel_check *check, struct cr_made_part *made);

#endif
