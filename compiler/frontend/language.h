/*
 * language.h - the functions that scripts can call.
 *
 * cr_lua_... are functions of Lua; cr_add_... add theirs to the table on top of the stack.
 */
#ifndef CR_LANGUAGE_H
#define CR_LANGUAGE_H

#include "luaapi.h"

struct cr_run;

void cr_add_primitives(lua_State *L);      /* primitives.c */
void cr_add_elementwise(lua_State *L);     /* broadcast.c */
void cr_add_scopes(lua_State *L);          /* scope.c */
void cr_add_dump_statements(lua_State *L); /* printed_graph.c */

/* Forgets the names of inputs, parameters and states before another graph is built
 * (primitives.c). */
void cr_forget_declared(lua_State *L);

/* Resolves the names of entries in calls of replace to the entries that the script returned
 * (state_update.c). */
void cr_settle_replacements(lua_State *L, struct cr_run *run);

/* Fails for a state that is never read or never replaced (state_update.c). */
void cr_check_states(lua_State *L, struct cr_run *run);

int cr_lua_matmul(lua_State *L);  /* broadcast.c */
int cr_lua_grad(lua_State *L);    /* grad.c */
int cr_lua_replace(lua_State *L); /* state_update.c */
int cr_lua_options(lua_State *L); /* script_options.c */
int cr_lua_layer_options(lua_State *L); /* layer_options.c */
int cr_lua_require(lua_State *L); /* script_source.c */

/* Makes the type of tensors, with its operators and methods (operators.c). */
void cr_add_tensor_type(lua_State *L);

#endif
