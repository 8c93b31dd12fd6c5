/*
 * ports.h - the tensors at a model's border as tables and tensors of Lua.
 */
#ifndef CR_LUA_PORTS_H
#define CR_LUA_PORTS_H

#include "tensor.h"

/* Port number i, which there is. */
crescent_port cr_lua_port(lua_State *L, const crescent_model *model, crescent_port_kind kind,
                          int index);

/* The number of the port whose name is the string at `index`; refused if there is none. */
int cr_lua_port_named(lua_State *L, const crescent_model *model, crescent_port_kind kind, int index);

/* Pushes a list of tables: name, shape, dtype, count, and of a parameter how it is kept. */
void cr_lua_push_ports(lua_State *L, const crescent_model *model, crescent_port_kind kind);

/* Pushes what crescent_report says. */
void cr_lua_push_report(lua_State *L, const crescent_model *model);

#endif
