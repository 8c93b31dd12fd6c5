/*
 * unused_constants.h - frees elements of known values during a translation, once nothing reads
 * them.
 */
#ifndef CR_ONNX_UNUSED_CONSTANTS_H
#define CR_ONNX_UNUSED_CONSTANTS_H

#include "translate.h"

/*
 * Frees the elements of known values that nothing will read.  Call it between nodes; `done` is true
 * for translated nodes.  Values keep their elements if a later node or a subgraph in its attributes
 * reads them, if they are outputs of the model or occur in statements, or if a node with unknown
 * outputs reads them, since passes look at such operands.
 */
void cr_onnx_free_unread(struct cr_onnx_script *script, const bool *done, int n_done);

#endif
