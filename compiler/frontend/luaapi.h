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
#endif

#endif
