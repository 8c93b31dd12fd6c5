/*
 * lua_terms.h - runs formulas and functions of graphs/lib on terms.  Functions of the language that
 * they call, such as reshape, make terms here, whereas in a script they make nodes of a graph.
 */
#ifndef CR_ONNX_LUA_TERMS_H
#define CR_ONNX_LUA_TERMS_H

#include "ops_arguments.h"

/*
 * Calls the Lua function of an operator's row, or evaluates its formula.  Sets `results` to the
 * terms that it returns, at most `most`, and the rest of `results` to null.  After an error in Lua,
 * refuses the node with the error's message.
 */
void cr_lua_terms_run(struct cr_translation *t, const struct cr_onnx_op *op, const struct cr_op_arguments *arguments,
                      cr_t *results, int most);

#endif
