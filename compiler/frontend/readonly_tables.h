/* readonly_tables.h - makes tables that scripts cannot change ("seals"). */
#ifndef CR_READONLY_TABLES_H
#define CR_READONLY_TABLES_H

#include "luaapi.h"

/* Adds versions of rawget, rawset, rawlen and setmetatable that respect seals to the table on top
 * of the stack. */
void cr_add_seals(lua_State *L);

/* Marks the metatable on top of the stack as hidden: scripts can neither see nor replace it, nor
 * rawset into a table that has it. */
void cr_hide_metatable(lua_State *L);

/* Replaces the table on top of the stack by a seal: an empty table through which it can be read
 * but not changed. */
void cr_seal(lua_State *L);

/* Replaces the value at `index` by the original table if it is a seal. */
void cr_unseal(lua_State *L, int index);

#endif
