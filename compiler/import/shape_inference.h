/*
 * shape_inference.h - infers the shape, type and lengths of a term: the front end runs the term's
 * call, such as a call of a function of graphs/lib/onnx.lua, on inputs with the operands' shapes.
 */
#ifndef CR_ONNX_SHAPE_INFERENCE_H
#define CR_ONNX_SHAPE_INFERENCE_H

#include "compiler/ir/graph.h"
#include "translate.h"

/* The module names of the functions for ONNX operators begin with this text: onnx.det,
 * onnx_conv.conv. */
#define CR_ONNX_LIBRARY "onnx"

/* The inferred result.  lengths[axis] is 1 + the number of the length that the axis is cut to, or
 * 0. */
struct cr_inferred {
    enum cr_language_type type;
    int rank;
    int64_t shape[CR_ONNX_RANK];
    signed char lengths[CR_ONNX_RANK];
};

/* Infers the result of a term; a size that depends on lengths becomes a symbol.  Fails with the
 * front end's message, without file and line. */
int cr_onnx_infer(const struct cr_onnx_graph *graph, cr_t x, struct cr_inferred *result,
                  struct cr_error *error);

/* Like cr_onnx_infer, but axes of operands are written as lengths where the operand is cut to them.
 * Call after cr_onnx_find_lengths. */
int cr_onnx_infer_cut(const struct cr_onnx_graph *graph, cr_t x, struct cr_inferred *result,
                      struct cr_error *error);

/* Returns the graph that the front end makes of a call, in which the operands are inputs.  On
 * failure returns null and sets `error` to the message.  cr_onnx_operand_number returns the number
 * of the argument that an input stands for. */
const struct cr_graph *cr_onnx_call_graph(const struct cr_onnx_graph *graph, cr_t call,
                                          struct cr_error *error);
int cr_onnx_operand_number(const char *input);

/* True if a reduction, a running sum or a product of matrices in a term may run past a length,
 * up to its bound, because the axis was not cut to the length. */
bool cr_onnx_runs_to_bound(const struct cr_onnx_graph *graph, cr_t x);

/*
 * Returns a sample in which the front end builds other nodes for a call than in the first sample,
 * or 0 if there is none.  Only shapes may differ, by the sizes of lengths: a constant that a Lua
 * function computes from a size cannot follow the length at run time.  Call before
 * cr_onnx_find_lengths.
 */
int cr_onnx_call_differs(const struct cr_onnx_graph *graph, cr_t call);

/* True if a term is a call of a function of graphs/lib/onnx.lua. */
bool cr_onnx_is_lua_op(cr_t x);

#endif
