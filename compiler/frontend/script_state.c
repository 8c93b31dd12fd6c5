/* The state of one run, and how it is found from Lua's. */
#include "script_state.h"

#include <stdio.h>

static const char run_key; /* registry: the run; the key is the address */

void cr_bind_run(lua_State *L, struct cr_run *run)
{
    lua_pushlightuserdata(L, (void *)&run_key);
    lua_pushlightuserdata(L, run);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

struct cr_run *cr_run_of(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)&run_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct cr_run *run = lua_touserdata(L, -1);
    lua_pop(L, 1);
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
