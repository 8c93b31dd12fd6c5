/*
 * unused_constants.h - frees elements of known values during a translation, as soon as nothing will
 * read them.
 */
#ifndef CR_ONNX_UNUSED_CONSTANTS_H
#define CR_ONNX_UNUSED_CONSTANTS_H

#include "translate.h"

/*
 * Frees the elements of known values that nothing will read.  Call it between nodes; `done` is true
 * for translated nodes.  Elements stay if a later node or a graph in its attributes reads the
 * value, if it is an output of the model, if it occurs in a statement, or if a node with unknown
 * outputs reads it, as passes look at such operands.
 */
void cr_onnx_free_unread(struct cr_onnx_script *script, const bool *done, int n_done);

#endif
