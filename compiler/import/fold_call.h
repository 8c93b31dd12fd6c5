/* fold_call.h - computes the result of a call whose operands are known. */
#ifndef CR_ONNX_FOLD_CALL_H
#define CR_ONNX_FOLD_CALL_H

#include "term.h"

/* Returns a term with the elements that a call of a function of graphs/lib/onnx.lua computes, in
 * the call's type and shape.  Returns null if an operand is not known, or if there are too many
 * elements to fold. */
cr_t cr_fold_call(struct cr_translation *t, cr_t call);

#endif
