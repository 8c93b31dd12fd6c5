/*
 * luaapi.h - the Lua headers, the few names in which Lua 5.4 and LuaJIT differ, and what Lua's
 * own interface lacks.
 */
#ifndef CR_LUAAPI_H
#define CR_LUAAPI_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#if LUA_VERSION_NUM < 502
#include <luajit.h>
#define lua_rawlen lua_objlen
#define lua_pushglobaltable(L) lua_pushvalue((L), LUA_GLOBALSINDEX)
#define lua_load(L, reader, data, chunk, mode) lua_loadx((L), (reader), (data), (chunk), (mode))
#define CR_LUA_RELEASE LUAJIT_VERSION
#define cr_lua_less(L, a, b) lua_lessthan((L), (a), (b))
#define cr_set_globals_of(L, function) lua_setfenv((L), (function))
#else
#define CR_LUA_RELEASE LUA_RELEASE
#define cr_lua_less(L, a, b) lua_compare((L), (a), (b), LUA_OPLT)
#define cr_set_globals_of(L, function) lua_setupvalue((L), (function), 1) /* _ENV */
#endif

/* Pushes the table of the registry under the address `key`, an empty one the first time. */
void cr_push_registry_table(lua_State *L, const char *key);

/* Adds functions of a list to the table on top of the stack. */
void cr_add_functions(lua_State *L, const luaL_Reg *functions);

/* Opens one of Lua's libraries and leaves its table on the stack. */
void cr_open_library(lua_State *L, lua_CFunction open, const char *name);

/* Copies fields from the table on top to the one below it. */
void cr_copy_fields(lua_State *L, const char *const *names);

#endif
