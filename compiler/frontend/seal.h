/* seal.h - tables that scripts cannot change. */
#ifndef CR_SEAL_H
#define CR_SEAL_H

#include "luaapi.h"

/* Adds rawget, rawset, rawlen and setmetatable to the table on top of the stack. */
void cr_add_seals(lua_State *L);

/* Marks the metatable on top of the stack as one that scripts neither see nor replace; nor do
 * they rawset into its table. */
void cr_hide_metatable(lua_State *L);

/* Replaces the table on top of the stack by one that reads as it does and cannot be changed. */
void cr_seal(lua_State *L);

/* If the table at `index` is such a one, puts the table behind it there. */
void cr_unseal(lua_State *L, int index);

#endif
