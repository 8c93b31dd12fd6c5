/* unread.h - frees elements of known values, in a translation, once nobody reads them. */
#ifndef CR_ONNX_UNREAD_H
#define CR_ONNX_UNREAD_H

#include "translate.h"

/*
 * `done` marks translated nodes; no node may be in translation.  Keeps elements that a later node
 * or a graph in its attributes reads, those of the model's outputs and of statements, and those
 * that a node with unknown outputs reads, as passes look at them.  Other known values lose their
 * tensors.
 */
void cr_onnx_free_unread(struct cr_onnx_script *script, const bool *done, int n_done);

#endif
