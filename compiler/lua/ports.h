/*
 * ports.h - describes the inputs, outputs, parameters and states of a model to Lua.
 */
#ifndef CR_LUA_PORTS_H
#define CR_LUA_PORTS_H

#include "tensor.h"

/* Returns port `index` of a kind, which must exist. */
crescent_port cr_lua_port(lua_State *L, const crescent_model *model, crescent_port_kind kind,
                          int index);

/* Returns the number of the port whose name is the string at stack index `index`; raises an error
 * if there is none. */
int cr_lua_port_named(lua_State *L, const crescent_model *model, crescent_port_kind kind, int index);

/* Pushes a list of the ports of a kind, each a table with name, shape, dtype and count, and for
 * parameters format. */
void cr_lua_push_ports(lua_State *L, const crescent_model *model, crescent_port_kind kind);

/* Pushes the report of a model as a table. */
void cr_lua_push_report(lua_State *L, const crescent_model *model);

#endif
