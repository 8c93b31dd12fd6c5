/* ops_formula.h - operators that a formula of the language translates. */
#ifndef CR_ONNX_OPS_FORMULA_H
#define CR_ONNX_OPS_FORMULA_H

#include "ops.h"

/* Translates a node by the formula of its row, with its inputs as operands: see ops.def. */
void cr_translate_formula(struct cr_translation *t, const struct cr_onnx_op *op);

#endif
