/*
 * infer.h - infers the shape and type of a call's result: the front end runs the function of
 * graphs/lib/onnx.lua on inputs with the operands' shapes.
 */
#ifndef CR_ONNX_INFER_H
#define CR_ONNX_INFER_H

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

/* Sets `cuts` of an operand: by axis, 1 + the number of the length that it is cut to, or 0. */
typedef void cr_onnx_cuts_of(const void *context, cr_t operand, signed char *cuts);

/* Infers the result of a call of `name`.  `script`, which may be null, has the lengths that
 * arguments and `cuts_of` refer to.  Fails with the function's message, without file and line. */
int cr_onnx_infer(const struct cr_onnx_graph *graph, const char *name,
                  const struct cr_onnx_argument *arguments, int n,
                  const struct cr_onnx_script *script, cr_onnx_cuts_of *cuts_of,
                  const void *context, struct cr_inferred *result, struct cr_error *error);

/*
 * True if a call builds the same nodes in two translations for different sizes of lengths, and
 * only shapes differ, by these sizes.  A constant that the function computes from a size cannot
 * follow the length at run time.
 */
bool cr_onnx_calls_alike(const struct cr_onnx_script *script, cr_t call,
                         const struct cr_onnx_script *other, cr_t other_call);

/* True if a term is a call of a function of graphs/lib/onnx.lua. */
bool cr_onnx_is_lua_op(cr_t x);

#endif
