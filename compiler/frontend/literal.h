/* literal.h - constants of many values, from a table. */
#ifndef CR_LITERAL_H
#define CR_LITERAL_H

#include "luaapi.h"

/* const({...} [, shape [, type]]): from a list of numbers, or of tables of one shape.  A flat list
 * gets the given shape. */
int cr_lua_literal(lua_State *L);

#endif
