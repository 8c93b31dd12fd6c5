/*
 * infer.h - what a call of a function of graphs/lib/onnx.lua gives: the front end runs the function on
 * inputs of the operands' shapes, and says the shape and the type of the result.
 */
#ifndef CR_ONNX_INFER_H
#define CR_ONNX_INFER_H

#include "translate.h"

/* Names of the functions' modules begin so: onnx.det, onnx_conv.conv. */
#define CR_ONNX_LIBRARY "onnx"

/* A result.  Of each axis: 1 + the number of the length that it ends at, or 0. */
struct cr_inferred {
    enum cr_language_type type;
    int rank;
    int64_t shape[CR_ONNX_RANK];
    signed char lengths[CR_ONNX_RANK];
};

/* An operand of the call: its axes end where `cuts` say. */
typedef void cr_onnx_cuts_of(const void *context, cr_t operand, signed char *cuts);

/* The result of a call of `name`.  `script`, which may be null, has the lengths that texts of arguments name
 * and that `cuts_of` says of operands.  Fails with what the function says, without a file or a line. */
int cr_onnx_infer(const struct cr_onnx_graph *graph, const char *name,
                  const struct cr_onnx_argument *arguments, int n,
                  const struct cr_onnx_script *script, cr_onnx_cuts_of *cuts_of,
                  const void *context, struct cr_inferred *result, struct cr_error *error);

/*
 * True if a call builds the same nodes in two translations of a file for different sizes of its lengths, and
 * only their shapes differ, by these sizes.  A weight or an index that the function computes from a size
 * would have to change with the length when the model runs, which a constant cannot.
 */
bool cr_onnx_calls_alike(const struct cr_onnx_script *script, cr_t call,
                         const struct cr_onnx_script *other, cr_t other_call);

/* True if a term is a call of such a function. */
bool cr_onnx_is_lua_op(cr_t x);

#endif
