/* object.c - classes, the context and errors of the Lua module; see object.h. */
#include "object.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- classes ---- */

void cr_lua_add_functions(lua_State *L, const luaL_Reg *functions)
{
    for (const luaL_Reg *f = functions; f && f->name; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
}

void cr_lua_add_class(lua_State *L, const struct cr_lua_class *class)
{
    luaL_newmetatable(L, class->name);
    lua_newtable(L);
    cr_lua_add_functions(L, class->methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods");
    lua_setfield(L, -2, "__index");
    cr_lua_add_functions(L, class->metamethods);
    lua_getfield(L, -1, "__gc");
    lua_setfield(L, -2, "__close");
    lua_pushstring(L, class->name);
    lua_setfield(L, -2, "__name");
    lua_pushstring(L, class->name); /* what getmetatable gives */
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void *cr_lua_new(lua_State *L, size_t size, const char *class)
{
    void *object = lua_newuserdata(L, size);
    memset(object, 0, size);
    luaL_getmetatable(L, class);
    lua_setmetatable(L, -2);
    return object;
}

void cr_lua_push_method(lua_State *L, const char *class, int key)
{
    key = cr_lua_absolute(L, key);
    luaL_getmetatable(L, class);
    lua_getfield(L, -1, "methods");
    lua_pushvalue(L, key);
    lua_rawget(L, -2);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

void *cr_lua_test(lua_State *L, int index, const char *class)
{
    void *object = lua_touserdata(L, index);
    if (!object || !lua_getmetatable(L, index))
        return NULL;
    luaL_getmetatable(L, class);
    if (!lua_rawequal(L, -1, -2))
        object = NULL;
    lua_pop(L, 2);
    return object;
}

void *cr_lua_scratch(lua_State *L, size_t n, size_t size)
{
    luaL_checkstack(L, 4, "crescent");
    size_t bytes = (n ? n : 1) * size;
    return memset(lua_newuserdata(L, bytes), 0, bytes);
}

int cr_lua_absolute(lua_State *L, int index)
{
    return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(L) + index + 1;
}

/* ---- the context ---- */

static const char context_class[] = "crescent.context";

static int free_context(lua_State *L)
{
    crescent_context **context = luaL_checkudata(L, 1, context_class);
    crescent_context_free(*context);
    *context = NULL;
    return 0;
}

void cr_lua_add_context(lua_State *L)
{
    static const luaL_Reg metamethods[] = {{"__gc", free_context}, {NULL, NULL}};
    static const struct cr_lua_class class = {context_class, NULL, metamethods};
    cr_lua_add_class(L, &class);
    crescent_context **context = cr_lua_new(L, sizeof *context, context_class);
    *context = crescent_context_new();
    if (!*context)
        luaL_error(L, "crescent: out of memory");
    lua_setfield(L, LUA_REGISTRYINDEX, "crescent.the_context");
}

crescent_context *cr_lua_context(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "crescent.the_context");
    crescent_context **context = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (!context || !*context)
        luaL_error(L, "crescent: the state is being closed");
    return *context;
}

/* ---- errors ---- */

void cr_lua_pass(lua_State *L, int status)
{
    if (status == CRESCENT_OK)
        return;
    lua_pushfstring(L, "crescent: %s", crescent_error(cr_lua_context(L)));
    lua_error(L);
}

int cr_lua_fail(lua_State *L, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    lua_pushfstring(L, "crescent: %s", line);
    return lua_error(L);
}

/* ---- values ---- */

/* A text as a string; raises where there is no memory for one. */
static int to_string(lua_State *L)
{
    char **text = lua_touserdata(L, 1);
    lua_pushstring(L, *text);
    return 1;
}

void cr_lua_push_text(lua_State *L, char *text)
{
    luaL_checkstack(L, 8, "crescent");
    lua_pushcfunction(L, to_string);
    lua_pushlightuserdata(L, &text);
    int status = lua_pcall(L, 1, 1, 0);
    crescent_free(text);
    if (status)
        lua_error(L);
}

void cr_lua_push_integer(lua_State *L, int64_t value)
{
    if (sizeof(lua_Integer) >= sizeof value)
        lua_pushinteger(L, (lua_Integer)value);
    else
        lua_pushnumber(L, (lua_Number)value);
}

void cr_lua_set_integer(lua_State *L, const char *key, int64_t value)
{
    cr_lua_push_integer(L, value);
    lua_setfield(L, -2, key);
}

void cr_lua_set_number(lua_State *L, const char *key, double value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, key);
}

void cr_lua_set_string(lua_State *L, const char *key, const char *value)
{
    if (!value)
        return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

void cr_lua_set_flag(lua_State *L, const char *key, int value)
{
    lua_pushboolean(L, value != 0);
    lua_setfield(L, -2, key);
}
