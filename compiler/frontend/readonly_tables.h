/* readonly_tables.h - tables that scripts cannot change. */
#ifndef CR_READONLY_TABLES_H
#define CR_READONLY_TABLES_H

#include "luaapi.h"

/* Adds rawget, rawset, rawlen and setmetatable to the table on top of the stack. */
void cr_add_seals(lua_State *L);

/* Marks the metatable on top of the stack: scripts can neither see nor replace it, nor rawset into
 * its table. */
void cr_hide_metatable(lua_State *L);

/* Replaces the table on top of the stack by a seal: a table that reads the same and cannot be
 * changed. */
void cr_seal(lua_State *L);

/* If the table at `index` is a seal, replaces it by the original table. */
void cr_unseal(lua_State *L, int index);

#endif
