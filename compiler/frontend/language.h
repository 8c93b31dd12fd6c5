/*
 * language.h - the functions that scripts can call.
 *
 * Functions cr_lua_... are called by Lua; functions cr_add_... add such functions to the table on
 * top of the stack.
 */
#ifndef CR_LANGUAGE_H
#define CR_LANGUAGE_H

#include "luaapi.h"

struct cr_run;

void cr_add_primitives(lua_State *L);      /* primitives.c */
void cr_add_elementwise(lua_State *L);     /* broadcast.c */
void cr_add_scopes(lua_State *L);          /* scope.c */
void cr_add_dump_statements(lua_State *L); /* printed_graph.c */

/* Forgets the names of inputs, parameters and states, so that another graph can be built
 * (primitives.c). */
void cr_forget_declared(lua_State *L);

/* Sets the entries of replacements: scripts call replace with the name of an entry, which exists
 * only when the script has returned its entries (state_update.c). */
void cr_settle_replacements(lua_State *L, struct cr_run *run);

/* Raises an error for a state that is never read or never replaced (state_update.c). */
void cr_check_states(lua_State *L, struct cr_run *run);

int cr_lua_matmul(lua_State *L);  /* broadcast.c */
int cr_lua_grad(lua_State *L);    /* grad.c */
int cr_lua_replace(lua_State *L); /* state_update.c */
int cr_lua_options(lua_State *L); /* script_options.c */
int cr_lua_layer_options(lua_State *L); /* layer_options.c */
int cr_lua_require(lua_State *L); /* script_source.c */

/* Creates the metatable of tensors, with their operators and methods (operators.c). */
void cr_add_tensor_type(lua_State *L);

#endif
