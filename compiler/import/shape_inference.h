/*
 * shape_inference.h - infers the shape, type and lengths of a term: the front end runs its call,
 * such as one of a function of graphs/lib/onnx.lua, on inputs with the operands' shapes.
 */
#ifndef CR_ONNX_SHAPE_INFERENCE_H
#define CR_ONNX_SHAPE_INFERENCE_H

#include "compiler/ir/graph.h"
#include "translate.h"

/* The names of the functions' modules begin with this: onnx.det, onnx_conv.conv. */
#define CR_ONNX_LIBRARY "onnx"

/* A result.  lengths: by axis, 1 + the number of the length that it is cut to, or 0. */
struct cr_inferred {
    enum cr_language_type type;
    int rank;
    int64_t shape[CR_ONNX_RANK];
    signed char lengths[CR_ONNX_RANK];
};

/* Infers the result of a term; a size that depends on lengths is a symbol.  Fails with the front
 * end's message, without file and line. */
int cr_onnx_infer(const struct cr_onnx_graph *graph, cr_t x, struct cr_inferred *result,
                  struct cr_error *error);

/* Like cr_onnx_infer, but an axis of an operand is a length if it is cut to that length.  Call
 * after cr_onnx_find_lengths. */
int cr_onnx_infer_cut(const struct cr_onnx_graph *graph, cr_t x, struct cr_inferred *result,
                      struct cr_error *error);

/* Returns the graph that the front end makes of a call, whose inputs are the operands; or null,
 * with its message.  cr_onnx_operand_number returns the number of an input's argument. */
const struct cr_graph *cr_onnx_call_graph(const struct cr_onnx_graph *graph, cr_t call,
                                          struct cr_error *error);
int cr_onnx_operand_number(const char *input);

/* True if a reduction, a running sum or a product of matrices in a term may run past a length,
 * up to its bound, because the axis was not cut to the length. */
bool cr_onnx_runs_to_bound(const struct cr_onnx_graph *graph, cr_t x);

/*
 * Returns a sample in which a call does not build the nodes of the first one, or 0 if there is
 * none: only shapes may differ, by sizes of lengths.  A constant that the function computes from a
 * size cannot follow the length at run time.  Call before cr_onnx_find_lengths.
 */
int cr_onnx_call_differs(const struct cr_onnx_graph *graph, cr_t call);

/* True if a term is a call of a function of graphs/lib/onnx.lua. */
bool cr_onnx_is_lua_op(cr_t x);

#endif
