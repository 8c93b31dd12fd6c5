/* hosted.c - runs a Lua function of a program that itself uses Lua; see hosted.h. */
#include "hosted.h"

#include <string.h>

#include "compiler/ir/mem.h"
#include "globals.h"
#include "language.h"
#include "readonly_tables.h"
#include "script_errors.h"

static const char function_key; /* key of cr_push_kept: the hosted function */
static const char outer_key;    /* key of cr_push_kept: the function's own globals */

/* Reads a global: from the language (upvalue 1) or, if it is not there, from the function's own
 * globals (upvalue 2). */
static int read_global(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    if (!lua_isnil(L, -1))
        return 1;
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(2));
    return 1;
}

/* Assigns to one of the function's own globals. */
static int set_global(lua_State *L)
{
    cr_check_new_global(L);
    lua_settable(L, lua_upvalueindex(2));
    return 0;
}

/* Pushes a table that reads from the language at index `language`, then from the globals at index
 * `outer`. */
static void push_globals(lua_State *L, int language, int outer)
{
    static const struct {
        const char *event;
        lua_CFunction function;
    } events[] = {{"__index", read_global}, {"__newindex", set_global}};
    lua_newtable(L);
    lua_newtable(L);
    for (int i = 0; i < 2; i++) {
        lua_pushvalue(L, language);
        lua_pushvalue(L, outer);
        lua_pushcclosure(L, events[i].function, 2);
        lua_setfield(L, -2, events[i].event);
    }
    cr_hide_metatable(L);
    lua_setmetatable(L, -2);
}

#if LUA_VERSION_NUM < 502

/* Gives the function the globals of the language, and keeps its own for restore_globals. */
static void replace_globals(lua_State *L, int function, int language)
{
    lua_getfenv(L, function);
    push_globals(L, language, lua_gettop(L));
    lua_setfenv(L, function);
    cr_set_kept(L, &outer_key);
}

static void restore_globals(lua_State *L)
{
    cr_push_kept(L, &function_key);
    cr_push_kept(L, &outer_key);
    if (lua_istable(L, -1))
        lua_setfenv(L, -2);
}

#else

/* Returns the index of a function's upvalue _ENV; 0 if the function uses no globals. */
static int number_of_env(lua_State *L, int function)
{
    const char *name;
    for (int i = 1; (name = lua_getupvalue(L, function, i)); i++) {
        lua_pop(L, 1);
        if (strcmp(name, "_ENV") == 0)
            return i;
    }
    return 0;
}

/* Pushes a function that has one upvalue, in which _ENV can be kept. */
static void push_holder(lua_State *L)
{
    if (luaL_loadstring(L, "return"))
        lua_error(L);
}

/* Gives a function the globals of the language until restore_globals.  All functions of a file
 * share one upvalue _ENV, so the function gets an upvalue of its own; a holder function keeps the
 * shared one. */
static void replace_globals(lua_State *L, int function, int language)
{
    int env = lua_iscfunction(L, function) ? 0 : number_of_env(L, function);
    if (!env)
        return;
    lua_getupvalue(L, function, env);
    int outer = lua_gettop(L);
    push_holder(L);
    lua_upvaluejoin(L, -1, 1, function, env);
    cr_set_kept(L, &outer_key);
    push_holder(L);
    push_globals(L, language, outer);
    lua_setupvalue(L, -2, 1);
    lua_upvaluejoin(L, function, env, -1, 1);
}

static void restore_globals(lua_State *L)
{
    cr_push_kept(L, &function_key);
    cr_push_kept(L, &outer_key);
    if (lua_isfunction(L, -1))
        lua_upvaluejoin(L, -2, number_of_env(L, -2), -1, 1);
}

#endif

/* Records the file and line of the function, and the file's folder: with a slash at the end, or
 * "". */
static void find_function(lua_State *L, struct cr_run *run, int function)
{
    lua_Debug about;
    lua_pushvalue(L, function);
    lua_getinfo(L, ">S", &about);
    bool file = about.source[0] == '@';
    const char *slash = strrchr(about.source, '/');
    run->folder = cr_strdup(file && slash ? about.source + 1 : "");
    if (*run->folder)
        run->folder[slash - about.source] = '\0';
    if (about.lastlinedefined > 0)
        run->function.end =
            (struct cr_line){cr_intern(run->graph, file ? about.source + 1 : about.short_src),
                             about.lastlinedefined};
}

void cr_host_begin(lua_State *L, struct cr_run *run, int function)
{
    cr_bind_run(L, run);
    find_function(L, run, function);
    lua_pushvalue(L, function);
    cr_set_kept(L, &function_key);
    cr_push_language(L);
    int language = lua_gettop(L);
    cr_set_library_globals(L, language);
    cr_add_tensor_type(L);
    cr_push_graph_language(L, language);
    lua_pushvalue(L, -1);
    cr_set_kept(L, &cr_language_key);
    replace_globals(L, function, lua_gettop(L));
    lua_settop(L, language + 1);
    lua_pushvalue(L, function);
    lua_insert(L, -2);
    cr_seal(L);
}

void cr_host_end(lua_State *L)
{
    int top = lua_gettop(L);
    restore_globals(L);
    lua_settop(L, top);
    cr_unbind_run(L);
}
