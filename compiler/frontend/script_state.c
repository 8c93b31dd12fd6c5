/* script_state.c - the state of one run, and how Lua functions find it; see script_state.h. */
#include "script_state.h"

#include <stdio.h>

const char cr_language_key;
static const char run_key; /* registry key of the run */

static void set_run(lua_State *L, struct cr_run *run)
{
    lua_pushlightuserdata(L, (void *)&run_key);
    if (run)
        lua_pushlightuserdata(L, run);
    else
        lua_pushnil(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

void cr_bind_run(lua_State *L, struct cr_run *run)
{
    cr_open_kept(L);
    set_run(L, run);
}

void cr_unbind_run(lua_State *L)
{
    set_run(L, NULL);
    cr_close_kept(L);
}

void *cr_run_allocate(void *data, void *block, size_t old, size_t size)
{
    struct cr_run *run = data;
    return run->allocate(run, block, old, size);
}

/* Returns the run of a state.  If the state belongs to the run, its allocator leads to the run,
 * which is faster than the registry. */
struct cr_run *cr_find_run(lua_State *L)
{
    void *own;
    if (lua_getallocf(L, &own) == cr_run_allocate)
        return own;
    lua_pushlightuserdata(L, (void *)&run_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct cr_run *run = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return run;
}

struct cr_run *cr_run_of(lua_State *L)
{
    struct cr_run *run = cr_find_run(L);
    if (!run)
        luaL_error(L, "crescent: found a call after the graph was finished, expected it inside "
                   "the function that builds the graph");
    if (run->hosted)
        run->L = L;
    return run;
}

void cr_note_memory(struct cr_run *run)
{
    snprintf(run->passed, sizeof run->passed, "%zu MB of memory", run->limits.memory >> 20);
}

const char *cr_limit_passed(struct cr_run *run)
{
    if (!*run->passed)
        cr_note_memory(run);
    return run->passed;
}

void cr_push_library(lua_State *L, lua_CFunction open, const char *name)
{
    if (!cr_run_of(L)->hosted) {
        lua_pushcfunction(L, open);
        lua_pushstring(L, name);
        lua_call(L, 1, 1);
        return;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_getfield(L, -1, name);
    if (!lua_istable(L, -1))
        luaL_error(L, "crescent: Lua's library %s is not open, expected luaL_openlibs before",
                   name);
    lua_replace(L, -2);
}
