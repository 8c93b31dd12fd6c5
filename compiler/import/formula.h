/* formula.h - operators that are an expression of the language. */
#ifndef CR_ONNX_FORMULA_H
#define CR_ONNX_FORMULA_H

#include "ops.h"

/* A node becomes the formula of its row, with its inputs for the operands: see ops.def. */
void cr_translate_formula(struct cr_translation *t, const struct cr_onnx_op *op);

#endif
