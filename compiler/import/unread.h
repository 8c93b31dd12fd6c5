/* unread.h - frees elements of known values, in a translation, once nobody reads them. */
#ifndef CR_ONNX_UNREAD_H
#define CR_ONNX_UNREAD_H

#include "translate.h"

/*
 * Nodes that are done are marked; none may be on its way.  Elements stay that a node to come reads, or a
 * graph in its attributes, that an output of the model is, that a node reads which is not known, as
 * passes look at them, and those in the statements.  Other known values have no tensor from now on.
 */
void cr_onnx_free_unread(struct cr_onnx_script *script, const bool *done, int n_done);

#endif
