/*
 * numbers_of.h - what a value's elements are, as far as the model says: for masks and tables of
 * angles that are made of buffers by a few operators, and for views, which are what they do to
 * indices.
 */
#ifndef CR_ONNX_NUMBERS_OF_H
#define CR_ONNX_NUMBERS_OF_H

#include "graph.h"

/* The elements of a value, to be freed; null if they are not known.  If `base` is not CR_ONNX_NONE
 * its elements are 0, 1, 2, ..., and no others are known. */
double *cr_onnx_numbers_of(const struct cr_onnx_graph *graph, int value, int base);

#endif
