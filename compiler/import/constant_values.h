/*
 * constant_values.h - computes the elements of a value if they are known.  Recognisers read masks
 * and tables of angles this way, which operators compute from the model's constants; they also find
 * out which element of another value each element of a view is.
 */
#ifndef CR_ONNX_CONSTANT_VALUES_H
#define CR_ONNX_CONSTANT_VALUES_H

#include "graph.h"

/* True if a node only moves elements of its first input, as Reshape, Transpose and Slice do. */
bool cr_onnx_moves(const struct cr_onnx_node *node);

/* Returns the elements of a value, to be freed by the caller, or null if they are not known.  If
 * `base` is a value and not CR_ONNX_NONE, returns for each element of `value` the index of the same
 * element in `base`; then null unless only nodes that move elements are between them. */
double *cr_onnx_numbers_of(const struct cr_onnx_graph *graph, int value, int base);

#endif
