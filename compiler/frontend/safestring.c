/*
 * safestring.c - safe versions of string.rep, string.format and tostring; the other string
 * functions are Lua's own.
 *
 * There are no functions with patterns, since matching can take exponential time.  No text
 * contains an address, so that two runs of a script print the same.
 */
#include "safelib.h"

#include <stdio.h>
#include <string.h>

#include "args.h"
#include "luaapi.h"
#include "readonly_tables.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"

enum { MAX_SPEC = 16, BYTES_OF_WORK = 64 };

void cr_add_length(lua_State *L, size_t *size, size_t more, const char *op)
{
    cr_work(L, more / BYTES_OF_WORK + 1);
    if (more > CR_MAX_STRING || *size > CR_MAX_STRING - more)
        cr_raise(L, "%s: the result is too long, expected at most %d bytes", op, CR_MAX_STRING);
    *size += more;
}

/* string.rep(text, times [, separator]) */
static int string_rep(lua_State *L)
{
    size_t size, gap, total = 0;
    const char *text = luaL_checklstring(L, 1, &size);
    int64_t times = cr_arg_integer(L, 2, "string.rep", "count");
    const char *separator = luaL_optlstring(L, 3, "", &gap);
    size_t unit = size + gap;
    if (times <= 0 || unit == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (times > CR_MAX_STRING)
        cr_raise(L, "string.rep: the result is too long, expected at most %d bytes", CR_MAX_STRING);
    cr_add_length(L, &total, unit * (size_t)times, "string.rep");
    char *result = lua_newuserdata(L, total);
    memcpy(result, text, size);
    memcpy(result + size, separator, gap);
    for (size_t done = unit; done < total;) { /* doubles the filled part */
        size_t more = done < total - done ? done : total - done;
        memcpy(result + done, result, more);
        done += more;
    }
    lua_pushlstring(L, result, total - gap);
    return 1;
}

/* Pushes the result of the value's metamethod __tostring; returns false if there is none. */
static bool push_by_metamethod(lua_State *L, int index)
{
    int type = lua_type(L, index);
    if ((type != LUA_TTABLE && type != LUA_TUSERDATA) || !luaL_getmetafield(L, index, "__tostring"))
        return false;
    lua_pushvalue(L, index);
    cr_call(L, 1, 1);
    if (!lua_isstring(L, -1))
        cr_raise(L, "__tostring returned %s, expected a string", cr_type_name(L, -1));
    return true;
}

void cr_push_text(lua_State *L, int index)
{
    int type = lua_type(L, index);
    if (push_by_metamethod(L, index))
        return;
    if (type == LUA_TBOOLEAN)
        lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
    else if (type == LUA_TNUMBER || type == LUA_TSTRING)
        lua_pushvalue(L, index);
    else
        lua_pushstring(L, lua_typename(L, type));
    lua_tostring(L, -1); /* converts a number to a string */
}

/* tostring(value) */
static int value_text(lua_State *L)
{
    luaL_checkany(L, 1);
    cr_push_text(L, 1);
    return 1;
}

/* Copies a format directive such as "%-5.2f" to `spec` and returns its length; raises an error if
 * it is invalid. */
static size_t read_directive(lua_State *L, const char *at, const char *end, char *spec)
{
    const char *c = at + 1;
    c += strspn(c, "-+ #0");
    for (int part = 0; part < 2; part++) { /* a width, then a precision after a dot */
        for (int digits = 0; digits < 2 && *c >= '0' && *c <= '9'; digits++)
            c++;
        if (part == 0 && *c != '.')
            break;
        c += part == 0;
    }
    size_t length = (size_t)(c - at) + 1;
    if (c >= end || length >= MAX_SPEC || !strchr("cdiouxXeEfgGaAqs", *c))
        cr_raise(L, "string.format: found the directive '%.*s', expected one of Lua's",
                 (int)(length < 16 ? length : 16), at);
    memcpy(spec, at, length);
    spec[length] = '\0';
    return length;
}

/* Pushes one argument formatted by a directive, using Lua's own string.format, which is upvalue
 * 1. */
static void push_directive(lua_State *L, const char *spec, int argument)
{
    char kind = spec[strlen(spec) - 1];
    if (kind == 's')
        cr_push_text(L, argument);
    else
        lua_pushvalue(L, argument);
    if (strcmp(spec, "%s") == 0)
        return;
    if (kind == 's') /* Lua's padding or cutting would stop at a zero byte */
        cr_arg_string(L, -1, "string.format", spec);
    if (strchr("cdiouxXeEfgGaA", kind) && !lua_isnumber(L, -1))
        cr_raise(L, "string.format: '%s': found %s, expected a number", spec,
                 cr_type_name(L, -1));
    if (kind == 'q' && lua_type(L, -1) != LUA_TSTRING)
        cr_raise(L, "string.format: %%q: found %s, expected a string", cr_type_name(L, -1));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, -2);
    lua_pushstring(L, spec);
    lua_insert(L, -2);
    lua_call(L, 2, 1);
}

/* Stores the text on top of the stack as item n of the list at index `parts`, and adds its length
 * to *total. */
static void add_part(lua_State *L, int parts, int n, size_t *total)
{
    size_t size;
    lua_tolstring(L, -1, &size);
    cr_add_length(L, total, size + 16, "string.format");
    lua_rawseti(L, parts, n);
}

/* Pushes the concatenation of the n strings in the list on top of the stack. */
static void join_parts(lua_State *L, int n)
{
    int parts = lua_gettop(L);
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, parts, i);
        luaL_addvalue(&buffer);
    }
    luaL_pushresult(&buffer);
}

/* string.format(text, ...) */
static int string_format(lua_State *L)
{
    size_t size, total = 0;
    const char *at = luaL_checklstring(L, 1, &size), *end = at + size;
    int argument = 1, n = 0, parts = lua_gettop(L) + 1;
    lua_newtable(L);
    while (at < end) {
        char spec[MAX_SPEC];
        const char *percent = memchr(at, '%', (size_t)(end - at));
        const char *next = percent ? percent : end;
        if (next == at && at[1] == '%') { /* "%%" */
            lua_pushliteral(L, "%");
            next = at + 2;
        } else if (next == at) {
            next = at + read_directive(L, at, end, spec);
            if (++argument == parts)
                cr_raise(L,
                         "string.format: found no value for '%s', expected one for each directive",
                         spec);
            push_directive(L, spec, argument);
        } else {
            lua_pushlstring(L, at, (size_t)(next - at));
        }
        add_part(L, parts, ++n, &total);
        at = next;
    }
    join_parts(L, n);
    return 1;
}

/* Sets the table on top of the stack as the methods of strings. */
static void set_string_methods(lua_State *L)
{
    lua_pushliteral(L, "");
    lua_newtable(L);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    cr_hide_metatable(L);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

void cr_add_safe_string(lua_State *L)
{
    static const char *const safe[] = {"byte",  "char",    "len", "lower",
                                       "upper", "reverse", "sub", NULL};
    static const luaL_Reg functions[] = {{"rep", string_rep}, {NULL, NULL}};
    static const luaL_Reg globals[] = {{"tostring", value_text}, {NULL, NULL}};
    cr_add_functions(L, globals);
    lua_newtable(L);
    cr_push_library(L, luaopen_string, LUA_STRLIBNAME);
    cr_copy_fields(L, safe);
    lua_getfield(L, -1, "format");
    lua_pushcclosure(L, string_format, 1);
    lua_setfield(L, -3, "format");
    lua_pop(L, 1);
    cr_add_functions(L, functions);
    if (!cr_run_of(L)->hosted)
        set_string_methods(L);
    cr_seal(L);
    lua_setfield(L, -2, "string");
}
