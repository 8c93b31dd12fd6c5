/*
 * unused_constants.h - frees elements of known values during a translation, once nothing reads
 * them.
 */
#ifndef CR_ONNX_UNUSED_CONSTANTS_H
#define CR_ONNX_UNUSED_CONSTANTS_H

#include "translate.h"

/*
 * Call between nodes; `done` marks translated ones.  Keeps elements that a later node or a graph in
 * its attributes reads, elements of the model's outputs and of statements, and elements that a node
 * with unknown outputs reads, as passes look at them.  Other known values lose their tensors.
 */
void cr_onnx_free_unread(struct cr_onnx_script *script, const bool *done, int n_done);

#endif
