/* Tables of Lua; see luaapi.h. */
#include "luaapi.h"

#include "script.h"

const char *const cr_lua_release = CR_LUA_RELEASE;

void cr_push_registry_table(lua_State *L, const char *key)
{
    lua_pushlightuserdata(L, (void *)key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    if (!lua_isnil(L, -1))
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushlightuserdata(L, (void *)key);
    lua_pushvalue(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

void cr_add_functions(lua_State *L, const luaL_Reg *functions)
{
    for (; functions->name; functions++) {
        lua_pushcfunction(L, functions->func);
        lua_setfield(L, -2, functions->name);
    }
}

void cr_open_library(lua_State *L, lua_CFunction open, const char *name)
{
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
}

void cr_copy_fields(lua_State *L, const char *const *names)
{
    for (; *names; names++) {
        lua_getfield(L, -1, *names);
        lua_setfield(L, -3, *names);
    }
}
