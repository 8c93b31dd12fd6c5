/* literal.h - makes a constant of many values from a Lua table. */
#ifndef CR_LITERAL_H
#define CR_LITERAL_H

#include "luaapi.h"

/* const({...} [, shape [, type]]): the table is a list of numbers, or of nested tables of equal
 * shape.  A flat list is reshaped to `shape`. */
int cr_lua_literal(lua_State *L);

#endif
