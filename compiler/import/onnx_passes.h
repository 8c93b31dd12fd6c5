/* onnx_passes.h - passes over an ONNX graph, in their order. */
#ifndef CR_ONNX_PASSES_H
#define CR_ONNX_PASSES_H

#include "graph.h"

extern cr_onnx_pass *const cr_onnx_passes[]; /* in the order in which they run; null ends the
                                                list */

#endif
