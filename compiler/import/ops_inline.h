/* ops_inline.h - translates operators into terms that a Lua function or a formula makes. */
#ifndef CR_ONNX_OPS_INLINE_H
#define CR_ONNX_OPS_INLINE_H

#include "ops.h"

/* Translates a node by its row's function or formula.  A formula with operands "a b ..." is folded
 * over the inputs from the left: `a` is the result so far, `b` the next input. */
void cr_translate_inlined(struct cr_translation *t, const struct cr_onnx_op *op);

#endif
