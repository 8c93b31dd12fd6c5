/*
 * The part of Lua's library a model script may use.
 *
 * Chosen from the originals by name, so that nothing comes in unasked; replaced
 * where the original could reach outside, run without end inside one call, or
 * give another result from run to run or under another Lua.
 */
#include <stdio.h>
#include <string.h>

#include "compiler/frontend/frontend.h"

enum { MAX_REPEAT = 1 << 20, MAX_LENGTH = 1 << 25, MAX_UNPACK = 4096 };

/* A list: a table without a metatable, not longer than memory allows. */
static int check_list(lua_State *L, int index, const char *op)
{
    if (lua_type(L, index) != LUA_TTABLE)
        cr_raise(L, "%s: found %s, a table is expected", op, cr_type_name(L, index));
    if (lua_getmetatable(L, index))
        cr_raise(L, "%s: found a table with a metatable, a plain one is expected", op);
    size_t length = lua_rawlen(L, index);
    if (length > MAX_LENGTH)
        cr_raise(L, "%s: the table is too long", op);
    return (int)length;
}

/* Calls the original, upvalue 1 (named by upvalue 2), if argument 1 is a list. */
static int on_list(lua_State *L)
{
    check_list(L, 1, lua_tostring(L, lua_upvalueindex(2)));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* table.insert(list, [position,] value) */
static int list_insert(lua_State *L)
{
    int length = check_list(L, 1, "table.insert");
    cr_arg_count(L, "table.insert", 2, 3);
    int64_t at = length + 1;
    if (lua_gettop(L) == 3)
        at = cr_arg_integer(L, 2, "table.insert", "position");
    if (at < 1 || at > length + 1)
        cr_raise(L, "table.insert: position %lld in a list of %d", (long long)at, length);
    for (int i = length; i >= at; i--) {
        lua_rawgeti(L, 1, i);
        lua_rawseti(L, 1, i + 1);
    }
    lua_rawseti(L, 1, (int)at);
    return 0;
}

/* table.remove(list [, position]) */
static int list_remove(lua_State *L)
{
    int length = check_list(L, 1, "table.remove");
    int64_t at = lua_isnoneornil(L, 2) ? length : cr_arg_integer(L, 2, "table.remove", "position");
    if (length == 0)
        return 0;
    if (at < 1 || at > length)
        cr_raise(L, "table.remove: position %lld in a list of %d", (long long)at, length);
    lua_rawgeti(L, 1, (int)at);
    for (int i = (int)at; i < length; i++) {
        lua_rawgeti(L, 1, i + 1);
        lua_rawseti(L, 1, i);
    }
    lua_pushnil(L);
    lua_rawseti(L, 1, length);
    return 1;
}

/* table.unpack(list [, first [, last]]) */
static int list_unpack(lua_State *L)
{
    int64_t last = check_list(L, 1, "table.unpack"), first = 1;
    if (!lua_isnoneornil(L, 2))
        first = cr_arg_integer(L, 2, "table.unpack", "first");
    if (!lua_isnoneornil(L, 3))
        last = cr_arg_integer(L, 3, "table.unpack", "last");
    if (first > last)
        return 0;
    if (first < -MAX_LENGTH || last > MAX_LENGTH || last - first >= MAX_UNPACK)
        cr_raise(L, "table.unpack: items %lld to %lld, at most %d are expected", (long long)first,
                 (long long)last, MAX_UNPACK);
    luaL_checkstack(L, (int)(last - first) + 1, "table.unpack");
    for (int64_t i = first; i <= last; i++)
        lua_rawgeti(L, 1, (int)i);
    return (int)(last - first) + 1;
}

/* string.rep(text, times [, separator]) */
static int string_rep(lua_State *L)
{
    size_t size, gap = 0;
    const char *text = luaL_checklstring(L, 1, &size);
    int64_t times = cr_arg_integer(L, 2, "string.rep", "count");
    const char *separator = luaL_optlstring(L, 3, "", &gap);
    if (times > 0 && (size + gap > MAX_REPEAT || times > MAX_REPEAT ||
                      (size + gap) * (size_t)times > MAX_REPEAT))
        cr_raise(L, "string.rep: the result has more than %d bytes", MAX_REPEAT);
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    for (int64_t i = 0; i < times; i++) {
        if (i > 0)
            luaL_addlstring(&buffer, separator, gap);
        luaL_addlstring(&buffer, text, size);
    }
    luaL_pushresult(&buffer);
    return 1;
}

/* Refuses metamethods by which the garbage collector would run or steer a script. */
static int safe_setmetatable(lua_State *L)
{
    static const char *const refused[] = {"__gc", "__mode"};
    lua_settop(L, 2);
    if (lua_type(L, 1) != LUA_TTABLE || (lua_type(L, 2) != LUA_TTABLE && !lua_isnil(L, 2)))
        cr_raise(L, "setmetatable: found %s and %s, two tables are expected", cr_type_name(L, 1),
                 cr_type_name(L, 2));
    for (size_t i = 0; lua_istable(L, 2) && i < sizeof refused / sizeof *refused; i++) {
        lua_pushstring(L, refused[i]);
        lua_rawget(L, 2);
        if (!lua_isnil(L, -1))
            cr_raise(L, "setmetatable: %s is not available", refused[i]);
        lua_settop(L, 2);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

static int safe_rawlen(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TTABLE && lua_type(L, 1) != LUA_TSTRING)
        cr_raise(L, "rawlen: found %s, a table or string is expected", cr_type_name(L, 1));
    lua_pushnumber(L, (lua_Number)lua_rawlen(L, 1));
    return 1;
}

/* print goes to stderr: stdout belongs to the command. */
static int print_to_stderr(lua_State *L)
{
    int n = lua_gettop(L);
    for (int i = 1; i <= n; i++) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_pushvalue(L, i);
        lua_call(L, 1, 1);
        const char *text = lua_tostring(L, -1);
        fprintf(stderr, "%s%s", i > 1 ? "\t" : "", text ? text : "?");
        lua_pop(L, 1);
    }
    fputc('\n', stderr);
    return 0;
}

/* Numbers before strings, each in order; nothing else has one. */
static int key_less(lua_State *L)
{
    int a = lua_type(L, 1), b = lua_type(L, 2);
    if (a != b)
        lua_pushboolean(L, a == LUA_TNUMBER);
    else if (a == LUA_TNUMBER)
        lua_pushboolean(L, lua_tonumber(L, 1) < lua_tonumber(L, 2));
    else
        lua_pushboolean(L, cr_compare_names(lua_tostring(L, 1), lua_tostring(L, 2)) < 0);
    return 1;
}

/* The keys of the table at index 1, sorted by `table.sort` (upvalue 1), on the stack. */
static void push_sorted_keys(lua_State *L)
{
    lua_newtable(L);
    int n = 0;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TNUMBER && lua_type(L, -1) != LUA_TSTRING)
            cr_raise(L, "pairs: found a key that is %s, numbers and strings have an order",
                     cr_type_name(L, -1));
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, ++n);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, -2);
    lua_pushcfunction(L, key_less);
    lua_call(L, 2, 0);
}

/* The iterator of pairs; upvalues: sorted keys, how many were given out. */
static int next_pair(lua_State *L)
{
    int i = (int)lua_tonumber(L, lua_upvalueindex(2)) + 1;
    lua_pushnumber(L, i);
    lua_replace(L, lua_upvalueindex(2));
    lua_rawgeti(L, lua_upvalueindex(1), i);
    if (lua_isnil(L, -1))
        return 1;
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    return 2;
}

/* pairs(table), in the order of the keys: hash order changes from run to run, and the
 * order of statements is the order of a graph's nodes. */
static int sorted_pairs(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TTABLE)
        cr_raise(L, "pairs: found %s, a table is expected", cr_type_name(L, 1));
    lua_settop(L, 1);
    push_sorted_keys(L);
    lua_pushnumber(L, 0);
    lua_pushcclosure(L, next_pair, 2);
    lua_pushvalue(L, 1);
    return 2;
}

/* Opens one of Lua's libraries and leaves its table on the stack. */
static void open_library(lua_State *L, lua_CFunction open, const char *name)
{
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
}

/* Copies fields from the table on top to the one below it. */
static void copy_fields(lua_State *L, const char *const *names)
{
    for (; *names; names++) {
        lua_getfield(L, -1, *names);
        lua_setfield(L, -3, *names);
    }
}

/* Adds a function that has an original, on top of the stack and popped, as upvalue. */
static void add_around(lua_State *L, int table, const char *name, lua_CFunction function)
{
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, table, name);
}

static void add_base(lua_State *L, int language)
{
    static const char *const safe[] = {"assert",   "error",  "type",     "tostring",
                                       "tonumber", "ipairs", "select",   "getmetatable",
                                       "rawget",   "rawset", "rawequal", NULL};
    lua_pushvalue(L, language);
    open_library(L, luaopen_base, "");
    copy_fields(L, safe);
    lua_getfield(L, -1, "setmetatable");
    add_around(L, language, "setmetatable", safe_setmetatable);
    lua_getfield(L, -1, "tostring");
    add_around(L, language, "print", print_to_stderr);
    lua_pushcfunction(L, safe_rawlen);
    lua_setfield(L, language, "rawlen");
    lua_pop(L, 2);
}

/* No random numbers: a script is to give the same graph every time. */
static void add_math(lua_State *L, int language)
{
    static const char *const safe[] = {"abs",   "acos", "asin", "atan", "ceil", "cos", "exp",
                                       "floor", "fmod", "huge", "log",  "max",  "min", "modf",
                                       "pi",    "sin",  "sqrt", "tan",  NULL};
    lua_newtable(L);
    open_library(L, luaopen_math, LUA_MATHLIBNAME);
    copy_fields(L, safe);
    lua_pop(L, 1);
    lua_setfield(L, language, "math");
}

/* No patterns: matching one can take time without end. */
static void add_string(lua_State *L, int language)
{
    static const char *const safe[] = {"byte",  "char",    "format", "len", "lower",
                                       "upper", "reverse", "sub",    NULL};
    lua_newtable(L);
    open_library(L, luaopen_string, LUA_STRLIBNAME);
    copy_fields(L, safe);
    lua_pop(L, 1);
    lua_pushcfunction(L, string_rep);
    lua_setfield(L, -2, "rep");
    lua_pushliteral(L, "");
    lua_newtable(L);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
    lua_setfield(L, language, "string");
}

/* Adds an original, on top of the stack and popped, that works on lists only. */
static void add_on_list(lua_State *L, int table, const char *name, const char *full)
{
    lua_pushstring(L, full);
    lua_pushcclosure(L, on_list, 2);
    lua_setfield(L, table, name);
}

static void add_table(lua_State *L, int language)
{
    lua_newtable(L);
    int table = lua_gettop(L);
    open_library(L, luaopen_table, LUA_TABLIBNAME);
    lua_getfield(L, -1, "sort");
    lua_pushvalue(L, -1);
    add_around(L, language, "pairs", sorted_pairs);
    add_on_list(L, table, "sort", "table.sort");
    lua_getfield(L, -1, "concat");
    add_on_list(L, table, "concat", "table.concat");
    lua_pop(L, 1);
    lua_pushcfunction(L, list_insert);
    lua_setfield(L, table, "insert");
    lua_pushcfunction(L, list_remove);
    lua_setfield(L, table, "remove");
    lua_pushcfunction(L, list_unpack);
    lua_setfield(L, table, "unpack");
    lua_pushcfunction(L, list_unpack);
    lua_setfield(L, language, "unpack");
    lua_setfield(L, language, "table");
}

void cr_add_safe_library(lua_State *L)
{
    int language = lua_gettop(L);
    add_base(L, language);
    add_math(L, language);
    add_string(L, language);
    add_table(L, language);
}
