/*
 * luaapi.h - includes the Lua headers, defines the few names in which Lua 5.1 to 5.4 and LuaJIT
 * differ, and adds helpers for Lua's API.
 */
#ifndef CR_LUAAPI_H
#define CR_LUAAPI_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#if LUA_VERSION_NUM < 502 && __has_include(<luajit.h>)
#include <luajit.h>
#define CR_LUAJIT
#define CR_LUA_RELEASE LUAJIT_VERSION
#else
#define CR_LUA_RELEASE LUA_RELEASE
#endif

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#define lua_pushglobaltable(L) lua_pushvalue((L), LUA_GLOBALSINDEX)
#define cr_lua_less(L, a, b) lua_lessthan((L), (a), (b))
#define cr_set_globals_of(L, function) lua_setfenv((L), (function))
#else
#define cr_lua_less(L, a, b) lua_compare((L), (a), (b), LUA_OPLT)
#define cr_set_globals_of(L, function) lua_setupvalue((L), (function), 1) /* upvalue 1 of a chunk
                                                                           * is _ENV */
#endif

/* Create and remove the table in which the front end keeps values during a run, in the registry;
 * its keys are addresses. */
void cr_open_kept(lua_State *L);
void cr_close_kept(lua_State *L);

/* cr_set_kept pops the value on top of the stack and keeps it under `key`; cr_push_kept pushes
 * it. */
void cr_set_kept(lua_State *L, const char *key);
void cr_push_kept(lua_State *L, const char *key);

/* Pushes the table that is kept under `key`; on first use it makes an empty one. */
void cr_push_kept_table(lua_State *L, const char *key);

/* Loads a text; leaves a function or an error message on the stack and returns a status of Lua.
 * Refuses bytecode, which can bypass Lua's checks.  `reader` must return the whole first piece at
 * once. */
int cr_load_lua_text(lua_State *L, lua_Reader reader, void *data, const char *chunk);

/* Loads bytecode that precompile.c wrote; leaves a function or an error message on the stack and
 * returns a status of Lua. */
int cr_load_lua_bytecode(lua_State *L, const char *code, size_t size, const char *chunk);

/* Adds a list of C functions, ended by a null name, to the table on top of the stack. */
void cr_add_functions(lua_State *L, const luaL_Reg *functions);

/* Copies fields from the table on top of the stack to the one below it. */
void cr_copy_fields(lua_State *L, const char *const *names);

#endif
