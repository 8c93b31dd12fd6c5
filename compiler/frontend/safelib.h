/* safelib.h - the part of Lua's library that a script may use. */
#ifndef CR_SAFELIB_H
#define CR_SAFELIB_H

#include "luaapi.h"

/* Adds the safe part of Lua's library to the table on top of the stack.  The base functions and
 * math are in safelib.c, the others in safestring.c and safetable.c. */
void cr_add_safe_library(lua_State *L);
void cr_add_safe_string(lua_State *L);
void cr_add_safe_table(lua_State *L);

/* Pushes the text that tostring gives for the value at `index`, but without the address of a
 * table or function. */
void cr_push_text(lua_State *L, int index);

/* Adds `more` to *size, the length of a string under construction; raises an error if the string
 * gets too long. */
void cr_add_length(lua_State *L, size_t *size, size_t more, const char *op);

#endif
