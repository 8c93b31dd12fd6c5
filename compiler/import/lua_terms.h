/*
 * lua_terms.h - runs formulas and functions of graphs/lib on terms.  They call functions of the language, such
 * as reshape, which make terms here and not nodes of a graph.
 */
#ifndef CR_ONNX_LUA_TERMS_H
#define CR_ONNX_LUA_TERMS_H

#include "ops_arguments.h"

/*
 * Calls the function, or evaluates the formula, of a row.  Sets `results` to the terms that it returns, at most
 * `most`, and the others to null.  Refuses the node with the message of an error.
 */
void cr_lua_terms_run(struct cr_translation *t, const struct cr_onnx_op *op, const struct cr_op_arguments *arguments,
                      cr_t *results, int most);

#endif
