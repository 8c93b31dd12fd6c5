/*
 * readonly_tables.c - makes tables that scripts cannot change; see readonly_tables.h.
 *
 * A script gets an empty table as a proxy ("seal") for a table of the language or of a library
 * module. The seal's hidden metatable redirects reads to the original table and refuses writes.
 * Neither rawset nor setmetatable can bypass it.
 */
#include "readonly_tables.h"

#include "args.h"
#include "luaapi.h"
#include "script_errors.h"
#include "script_state.h"

static const char hidden_key; /* mark of a metatable that belongs to the front end */
static const char target_key; /* mark in a seal's metatable; its value is the original table */
static const char open_key;   /* mark in a copy of a script's metatable: the script may replace
                               * that metatable */
static const char copies_key; /* key of cr_push_kept_table: metatable of a script -> the copy
                               * given to Lua */

/* Sets metatable[key] to the value on top of the stack and pops it; the metatable is below it. */
static void set_mark(lua_State *L, const void *key)
{
    lua_pushlightuserdata(L, (void *)key);
    lua_insert(L, -2);
    lua_rawset(L, -3);
}

/* Pushes the value of a mark in the metatable of the table at `index`; pushes nothing and
 * returns false if there is none. */
static bool get_mark(lua_State *L, int index, const void *key)
{
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index))
        return false;
    lua_pushlightuserdata(L, (void *)key);
    lua_rawget(L, -2);
    lua_remove(L, -2);
    if (!lua_isnil(L, -1))
        return true;
    lua_pop(L, 1);
    return false;
}

void cr_hide_metatable(lua_State *L)
{
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pushboolean(L, 1);
    set_mark(L, &hidden_key);
}

static int refuse_write(lua_State *L)
{
    lua_settop(L, 2);
    cr_raise(L, "'%.100s' cannot be set in a table of a library, expected a table of the script",
             lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : cr_type_name(L, 2));
}

void cr_seal(lua_State *L)
{
    int target = lua_gettop(L);
    lua_newtable(L);
    lua_newtable(L);
    lua_pushvalue(L, target);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, refuse_write);
    lua_setfield(L, -2, "__newindex");
    lua_pushvalue(L, target);
    set_mark(L, &target_key);
    cr_hide_metatable(L);
    lua_setmetatable(L, -2);
    lua_replace(L, target);
}

void cr_unseal(lua_State *L, int index)
{
    if (get_mark(L, index, &target_key))
        lua_replace(L, index);
}

/* rawget(table, key) */
static int safe_rawget(lua_State *L)
{
    cr_arg_count(L, "rawget", 2, 2);
    if (lua_type(L, 1) != LUA_TTABLE)
        cr_raise(L, "rawget: found %s, expected a table", cr_type_name(L, 1));
    cr_unseal(L, 1);
    lua_rawget(L, 1);
    return 1;
}

/* rawset(table, key, value) */
static int safe_rawset(lua_State *L)
{
    cr_arg_count(L, "rawset", 3, 3);
    if (lua_type(L, 1) != LUA_TTABLE)
        cr_raise(L, "rawset: argument 1: found %s, expected a table", cr_type_name(L, 1));
    if (get_mark(L, 1, &hidden_key))
        cr_raise(L, "rawset: found a table of the language or of a library, expected a table of "
                 "the script");
    double key = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : 0;
    if (lua_isnil(L, 2) || key != key)
        cr_raise(L, "rawset: found %s as the key, expected another value",
                 lua_isnil(L, 2) ? "nothing" : "nan");
    lua_rawset(L, 1);
    lua_settop(L, 1);
    return 1;
}

/* rawlen(table or string) */
static int safe_rawlen(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TTABLE && lua_type(L, 1) != LUA_TSTRING)
        cr_raise(L, "rawlen: found %s, expected a table or string", cr_type_name(L, 1));
    lua_settop(L, 1);
    cr_unseal(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
    return 1;
}

/* Pushes the copy of the script's metatable at `index`; makes the copy on first use. */
static void push_copy(lua_State *L, int index)
{
    cr_push_kept_table(L, &copies_key);
    lua_pushvalue(L, index);
    lua_rawget(L, -2);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, index);
        lua_pushvalue(L, -2);
        cr_run_of(L)->trusted = true; /* allows a table with keys other than numbers: here the
                                       * keys are addresses */
        lua_rawset(L, -4);
        cr_run_of(L)->trusted = false;
    }
    lua_remove(L, -2);
}

/* Copies the allowed metamethods of the metatable at index `metatable` to its copy, on top of the
 * stack. */
static void copy_events(lua_State *L, int metatable)
{
    static const char *const events[] = {
        "__index", "__newindex", "__call", "__tostring", "__len", "__eq",  "__lt",  "__le",
        "__add",   "__sub",      "__mul",  "__div",      "__mod", "__pow", "__unm", "__concat"};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        lua_pushstring(L, events[i]);
        lua_pushvalue(L, -1);
        lua_rawget(L, metatable);
        lua_rawset(L, -3);
    }
    lua_pushliteral(L, "__metatable");
    lua_rawget(L, metatable);
    bool open = lua_isnil(L, -1);
    if (open) {
        lua_pop(L, 1);
        lua_pushvalue(L, metatable);
    }
    lua_setfield(L, -2, "__metatable");
    if (open)
        lua_pushboolean(L, 1);
    else
        lua_pushnil(L);
    set_mark(L, &open_key);
}

/* Raises an error for a metatable with __gc, __close or __mode, by which the garbage collector or
 * the end of a block would call functions or remove entries; and for a __call that is not a
 * function: a table could be its own __call, and Lua would look it up forever. */
static void refuse_events(lua_State *L, int metatable)
{
    static const char *const refused[] = {"__gc", "__mode", "__close"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        lua_pushstring(L, refused[i]);
        lua_rawget(L, metatable);
        if (!lua_isnil(L, -1))
            cr_raise(L, "setmetatable: found the field %s, expected a metatable without it",
                     refused[i]);
        lua_pop(L, 1);
    }
    lua_pushliteral(L, "__call");
    lua_rawget(L, metatable);
    if (!lua_isnil(L, -1) && !lua_isfunction(L, -1))
        cr_raise(L, "setmetatable: __call is %s, expected a function", cr_type_name(L, -1));
    lua_pop(L, 1);
}

/*
 * setmetatable(table, metatable): gives Lua a copy of the metatable that scripts cannot reach.
 * Else a script could add __mode later: the collector takes time quadratic in the number of weak
 * tables, and their contents would vary from run to run.
 */
static int safe_setmetatable(lua_State *L)
{
    lua_settop(L, 2);
    if (lua_type(L, 1) != LUA_TTABLE || (lua_type(L, 2) != LUA_TTABLE && !lua_isnil(L, 2)))
        cr_raise(L, "setmetatable: found %s and %s, expected two tables", cr_type_name(L, 1),
                 cr_type_name(L, 2));
    if (lua_getmetatable(L, 1) && !get_mark(L, 1, &open_key))
        cr_raise(L,
                 "setmetatable: found a table with a protected metatable, expected another table");
    lua_settop(L, 2);
    if (lua_istable(L, 2)) {
        refuse_events(L, 2);
        push_copy(L, 2);
        copy_events(L, 2);
    }
    lua_setmetatable(L, 1);
    lua_settop(L, 1);
    return 1;
}

void cr_add_seals(lua_State *L)
{
    static const luaL_Reg functions[] = {{"rawget", safe_rawget},
                                         {"rawset", safe_rawset},
                                         {"rawlen", safe_rawlen},
                                         {"setmetatable", safe_setmetatable},
                                         {NULL, NULL}};
    cr_add_functions(L, functions);
}
