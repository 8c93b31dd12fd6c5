/*
 * onnx_outline.h - what nodes a graph has and of what shapes its values are, before anything is recognised in
 * it: for files that are translated for several sizes of a symbol.
 */
#ifndef CR_ONNX_OUTLINE_H
#define CR_ONNX_OUTLINE_H

#include "graph.h"

struct cr_onnx_outline {
    int n_nodes, n_values;
    const char **ops;             /* by node; the model's */
    struct cr_outlined *values;   /* by value */
};

/* Freed by cr_onnx_outline_free, which takes one that is all zero, too. */
void cr_onnx_outline_take(struct cr_onnx_outline *outline, const struct cr_onnx_graph *graph);
void cr_onnx_outline_free(struct cr_onnx_outline *outline);

/* Whether two have the same operators in the same order. */
bool cr_onnx_outline_same(const struct cr_onnx_outline *a, const struct cr_onnx_outline *b);

/* Notes in the first of two that are the same what is another number in the second. */
void cr_onnx_outline_vary(struct cr_onnx_outline *a, const struct cr_onnx_outline *b);

/* Whether a further one, which is the same, has other numbers only where some were noted. */
bool cr_onnx_outline_holds(const struct cr_onnx_outline *a, const struct cr_onnx_outline *b);

#endif
