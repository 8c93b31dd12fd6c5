/* literal.h - constants of many values. */
#ifndef CR_LITERAL_H
#define CR_LITERAL_H

#include "luaapi.h"

/* const({...} [, shape [, type]]): a table of numbers, or of tables that are alike.  A flat one takes
 * the shape that is said. */
int cr_lua_literal(lua_State *L);

#endif
