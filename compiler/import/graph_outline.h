/*
 * graph_outline.h - the operators and shapes of a graph before passes rewrite it, to compare
 * translations for several sizes of a symbol.
 */
#ifndef CR_ONNX_GRAPH_OUTLINE_H
#define CR_ONNX_GRAPH_OUTLINE_H

#include "graph.h"

struct cr_onnx_outline {
    int n_nodes, n_values;
    const char **ops;             /* by node: its operator; owned by the model */
    struct cr_outlined *values;   /* by value */
};

/* Free an outline by cr_onnx_outline_free, which also accepts one that is all zero. */
void cr_onnx_outline_take(struct cr_onnx_outline *outline, const struct cr_onnx_graph *graph);
void cr_onnx_outline_free(struct cr_onnx_outline *outline);

/* True if two have the same operators in the same order and values of the same ranks. */
bool cr_onnx_outline_same(const struct cr_onnx_outline *a, const struct cr_onnx_outline *b);

/* Notes in a which sizes and known elements differ in b, which has the same operators. */
void cr_onnx_outline_vary(struct cr_onnx_outline *a, const struct cr_onnx_outline *b);

/* True if b, which has the same operators, differs only where a difference was noted. */
bool cr_onnx_outline_holds(const struct cr_onnx_outline *a, const struct cr_onnx_outline *b);

#endif
