/*
 * constant_values.h - computes a value's elements if they are known: for masks and tables of angles
 * that a few operators make of buffers, and for views, which are compared by their indices.
 */
#ifndef CR_ONNX_CONSTANT_VALUES_H
#define CR_ONNX_CONSTANT_VALUES_H

#include "graph.h"

/* True if a node only moves elements. */
bool cr_onnx_moves(const struct cr_onnx_node *node);

/* Returns the elements of a value, to be freed by the caller, or null if they are not known.  If
 * `base` is not CR_ONNX_NONE, its elements count as 0, 1, 2, ..., and no others as known. */
double *cr_onnx_numbers_of(const struct cr_onnx_graph *graph, int value, int base);

#endif
