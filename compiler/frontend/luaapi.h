/* luaapi.h - the Lua headers, and the few names in which Lua 5.4 and LuaJIT differ. */
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
#define cr_lua_less(L, a, b) lua_lessthan((L), (a), (b))
#define cr_set_globals_of(L, function) lua_setfenv((L), (function))
#else
#define cr_lua_less(L, a, b) lua_compare((L), (a), (b), LUA_OPLT)
#define cr_set_globals_of(L, function) lua_setupvalue((L), (function), 1) /* _ENV */
#endif

#endif
