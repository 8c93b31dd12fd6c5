/* ops_lua.h - translates operators into calls of functions of graphs/lib/onnx.lua. */
#ifndef CR_ONNX_OPS_LUA_H
#define CR_ONNX_OPS_LUA_H

#include "ops.h"

/* Translates a node into a call of its row's function, with the inputs and attributes that the row
 * lists; see ops.def. */
void cr_translate_by_lua(struct cr_translation *t, const struct cr_onnx_op *op);

#endif
