/* luaapi.c - helpers for Lua's API; see luaapi.h. */
#include "luaapi.h"

#include "script.h"

const char *const cr_lua_release = CR_LUA_RELEASE;

static const char kept_key; /* registry key of the table of values that the front end keeps */

void cr_open_kept(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)&kept_key);
    lua_newtable(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

void cr_close_kept(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)&kept_key);
    lua_pushnil(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

void cr_set_kept(lua_State *L, const char *key)
{
    lua_pushlightuserdata(L, (void *)&kept_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_pushlightuserdata(L, (void *)key);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 2);
}

void cr_push_kept(lua_State *L, const char *key)
{
    lua_pushlightuserdata(L, (void *)&kept_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    if (lua_isnil(L, -1)) /* no run */
        return;
    lua_pushlightuserdata(L, (void *)key);
    lua_rawget(L, -2);
    lua_replace(L, -2);
}

void cr_push_kept_table(lua_State *L, const char *key)
{
    cr_push_kept(L, key);
    if (!lua_isnil(L, -1))
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    cr_set_kept(L, key);
}

#if LUA_VERSION_NUM >= 502 || defined CR_LUAJIT
int cr_load_lua_text(lua_State *L, lua_Reader reader, void *data, const char *chunk)
{
#ifdef CR_LUAJIT
    return lua_loadx(L, reader, data, chunk, "t");
#else
    return lua_load(L, reader, data, chunk, "t");
#endif
}
#else
/* A wrapper of a reader that fails if the first piece of text begins like Lua bytecode. */
struct text_reader {
    lua_Reader reader;
    void *data;
    int begun;
};

static const char *read_text(lua_State *L, void *data, size_t *size)
{
    struct text_reader *text = data;
    const char *piece = text->reader(L, text->data, size);
    if (!text->begun && *size && *piece == *LUA_SIGNATURE)
        luaL_error(L, "attempt to load a binary chunk (mode is 't')");
    text->begun = 1;
    return piece;
}

int cr_load_lua_text(lua_State *L, lua_Reader reader, void *data, const char *chunk)
{
    struct text_reader text = {reader, data, 0};
    return lua_load(L, read_text, &text, chunk);
}
#endif

int cr_load_lua_bytecode(lua_State *L, const char *code, size_t size, const char *chunk)
{
    return luaL_loadbuffer(L, code, size, chunk);
}

void cr_add_functions(lua_State *L, const luaL_Reg *functions)
{
    for (; functions->name; functions++) {
        lua_pushcfunction(L, functions->func);
        lua_setfield(L, -2, functions->name);
    }
}

void cr_copy_fields(lua_State *L, const char *const *names)
{
    for (; *names; names++) {
        lua_getfield(L, -1, *names);
        lua_setfield(L, -3, *names);
    }
}
