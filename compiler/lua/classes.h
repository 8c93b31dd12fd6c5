/* classes.h - the classes of the Lua module.  Each function adds the functions that make a
 * class's objects to the table on top of the stack.  The class of tensors is in tensor.h. */
#ifndef CR_LUA_CLASSES_H
#define CR_LUA_CLASSES_H

#include <lua.h>

#include "compiler/crescent.h"

void cr_lua_add_models(lua_State *L);     /* adds crescent.open and crescent.model */
void cr_lua_add_trainers(lua_State *L);   /* crescent.trainer */
void cr_lua_add_tokenizers(lua_State *L); /* crescent.tokenizer */
void cr_lua_add_generators(lua_State *L); /* crescent.generator */
void cr_lua_add_embedders(lua_State *L);  /* crescent.embedder */

void cr_lua_add_explanations(lua_State *L);

/* m:explain(path, options): explains the compilation of a model.  Its graph is compiled again
 * with the given configuration. */
int cr_lua_explain(lua_State *L, const crescent_graph *graph, const crescent_model *model,
                   const crescent_config *config, int64_t seed);

#endif
