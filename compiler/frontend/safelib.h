/* safelib.h - the part of Lua's library that a script may use. */
#ifndef CR_SAFELIB_H
#define CR_SAFELIB_H

#include "luaapi.h"

/* Adds the safe part of Lua's library to the table on top of the stack: base and math are in
 * safelib.c, the others in safestring.c and safetable.c. */
void cr_add_safe_library(lua_State *L);
void cr_add_safe_string(lua_State *L);
void cr_add_safe_table(lua_State *L);

/* Pushes tostring(value at index), without an address. */
void cr_push_text(lua_State *L, int index);

/* Adds to the length of a string under construction; raises if it gets too long. */
void cr_add_length(lua_State *L, size_t *size, size_t more, const char *op);

#endif
