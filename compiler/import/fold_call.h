/* fold_call.h - computes the result of a call whose operands are known. */
#ifndef CR_ONNX_FOLD_CALL_H
#define CR_ONNX_FOLD_CALL_H

#include "term.h"

/* Returns the known elements of a call of a function of graphs/lib/onnx.lua, in its type and
 * shape; null if an operand is not known, or if there are too many elements. */
cr_t cr_fold_call(struct cr_translation *t, cr_t call);

#endif
