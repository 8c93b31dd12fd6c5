/* object.c - classes, the context and errors of the Lua module; see object.h. */
#include "object.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
    lua_pushstring(L, class->name); /* for scripts, the metatable is hidden behind the class's
                                     * name */
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
        luaL_error(L, "crescent: found a call while the Lua state is being closed, expected it before");
    return *context;
}

/* ---- errors ---- */

static const char error_class[] = "crescent.error";

/* Pushes the value at `index`; an error object is pushed as its message. */
static void push_line(lua_State *L, int index)
{
    index = cr_lua_absolute(L, index);
    lua_pushvalue(L, index);
    if (!lua_istable(L, index))
        return;
    lua_getfield(L, index, "message");
    lua_getfield(L, index, "file");
    lua_getfield(L, index, "line");
    lua_getfield(L, index, "script");
    const char *message = lua_tostring(L, -4), *file = lua_tostring(L, -3), *line = lua_tostring(L, -2);
    message = message ? message : "";
    if (file && line && !lua_rawequal(L, -1, -3))
        lua_pushfstring(L, "crescent: %s (called at %s:%s)", message, file, line);
    else
        lua_pushfstring(L, "crescent: %s", message);
    lua_replace(L, -6);
    lua_pop(L, 4);
}

static int error_to_string(lua_State *L)
{
    push_line(L, 1);
    return 1;
}

static int error_concat(lua_State *L)
{
    push_line(L, 1);
    push_line(L, 2);
    lua_concat(L, 2);
    return 1;
}

/* Calls a function of Lua's string library, which is the upvalue, on an error's message. */
static int call_of_line(lua_State *L)
{
    push_line(L, 1);
    lua_replace(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* Returns a field of an error, or a method of strings, which then works on the message:
 * err:find("no tensor"). */
static int error_index(lua_State *L)
{
    lua_pushliteral(L, "");
    if (!luaL_getmetafield(L, -1, "__index") || !lua_istable(L, -1))
        return 0;
    lua_pushvalue(L, 2);
    lua_gettable(L, -2);
    if (lua_isfunction(L, -1))
        lua_pushcclosure(L, call_of_line, 1);
    return 1;
}

/* Pushes the metatable of error objects. */
static void push_error_metatable(lua_State *L)
{
    static const luaL_Reg functions[] = {{"__tostring", error_to_string}, {"__concat", error_concat},
                                         {"__index", error_index}, {NULL, NULL}};
    if (luaL_newmetatable(L, error_class)) {
        cr_lua_add_functions(L, functions);
        cr_lua_set_string(L, "__name", error_class);
    }
}

/* If the message begins with "FILE:LINE: ", sets `script` and `script_line` in the table on top
 * of the stack. */
static void set_script(lua_State *L, const char *message)
{
    const char *colon = strchr(message, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    if (!digits || digits > 9 || colon[1 + digits] != ':')
        return;
    lua_pushlstring(L, message, (size_t)(colon - message));
    lua_setfield(L, -2, "script");
    cr_lua_set_integer(L, "script_line", strtol(colon + 1, NULL, 10));
}

/* Raises an error object with a message, and with the file and line of the host's call. */
static void raise(lua_State *L, const char *message)
{
    lua_Debug at;
    luaL_checkstack(L, 8, "crescent");
    lua_newtable(L);
    cr_lua_set_string(L, "message", message);
    set_script(L, message);
    for (int level = 0; lua_getstack(L, level, &at); level++) {
        lua_getinfo(L, "Sl", &at);
        if (at.currentline <= 0)
            continue;
        cr_lua_set_string(L, "file", at.short_src);
        cr_lua_set_integer(L, "line", at.currentline);
        break;
    }
    push_error_metatable(L);
    lua_setmetatable(L, -2);
    lua_error(L);
}

void cr_lua_pass(lua_State *L, int status)
{
    if (status != CRESCENT_OK)
        raise(L, crescent_error(cr_lua_context(L)));
}

int cr_lua_fail(lua_State *L, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    raise(L, line);
    return 0;
}

/* ---- values ---- */

/* Pushes a text of the library as a string; runs in protected mode, since memory may be
 * insufficient. */
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
