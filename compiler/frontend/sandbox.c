/* The sandbox: a Lua state whose memory, instructions and time are bounded, and
 * whose globals are the language and nothing else. */
#include <stdlib.h>

#include "compiler/frontend/frontend.h"

enum { HOOK_STEP = 1000 };

static const char run_key; /* its address is the registry's key */

struct cr_run *cr_run_of(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)&run_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct cr_run *run = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return run;
}

/* Notes the line that asked for too much: Lua calls no handler when memory runs out. */
static void *refuse(struct cr_run *run)
{
    struct cr_place inner;
    if (run->L && !run->out_of_memory.path)
        cr_find_places(run->L, run, &run->out_of_memory, &inner);
    return NULL;
}

/* Lua's allocator; `old` is no size when there is no block yet. */
static void *allocate(void *data, void *block, size_t old, size_t size)
{
    struct cr_run *run = data;
    size_t had = block ? old : 0;
    if (size == 0) {
        free(block);
        run->memory -= had;
        return NULL;
    }
    if (size > had && size - had > CR_MAX_MEMORY - run->memory)
        return refuse(run);
    void *moved = realloc(block, size);
    if (moved)
        run->memory += size - had;
    return moved;
}

/* Once a limit is passed no further instruction of the script may run. */
static void stop(lua_State *L, lua_Hook hook, const char *limit)
{
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
    cr_raise(L, "the script takes more than %s", limit);
}

/* Called every so many instructions.  The clock is for what costs time but few
 * instructions, such as comparing long strings. */
static void check_limits(lua_State *L, lua_Debug *frame)
{
    (void)frame;
    struct cr_run *run = cr_run_of(L);
    run->instructions += HOOK_STEP;
    if (run->instructions > CR_MAX_INSTRUCTIONS)
        stop(L, check_limits, "200 million instructions");
    if ((clock() - run->started) / CLOCKS_PER_SEC >= CR_MAX_SECONDS)
        stop(L, check_limits, "10 seconds of processor time");
    bool counted = run->memory > 0; /* by our allocator */
    if (!counted && lua_gc(L, LUA_GCCOUNT, 0) / 1024 >= CR_MAX_MEMORY >> 20)
        stop(L, check_limits, "256 MB of memory");
}

/* LuaJIT does not take an allocator on every machine; then the hook alone watches. */
lua_State *cr_sandbox_open(struct cr_run *run)
{
    lua_State *L = lua_newstate(allocate, run);
    if (!L)
        L = luaL_newstate();
    run->L = L;
    run->started = clock();
    return L;
}

static int undefined_global(lua_State *L)
{
    lua_settop(L, 2);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : cr_type_name(L, 2);
    cr_raise(L, "'%.100s' is not defined", name);
}

/* A script may make globals of its own, but not change what modules rely on. */
static int new_global(lua_State *L)
{
    lua_settop(L, 3);
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    if (!lua_isnil(L, -1))
        cr_raise(L, "'%.100s' belongs to the language, a local of that name is possible",
                 lua_tostring(L, 2));
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}

/* Removes every field of the table on top of the stack. */
static void clear_table(lua_State *L)
{
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
}

/* Gives the table below it on the stack a metatable that scripts cannot reach: the
 * one on top, which is popped. */
static void set_hidden_metatable(lua_State *L)
{
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

/* The table of the language, on top of the stack. */
static void push_language(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"require", cr_lua_require}, {"options", cr_lua_options}, {NULL, NULL}};
    lua_newtable(L);
    cr_add_safe_library(L);
    cr_add_functions(L, functions);
    cr_add_primitives(L);
    cr_add_elementwise(L);
    cr_add_scopes(L);
    cr_add_dump_statements(L);
    lua_newtable(L);
    lua_pushcfunction(L, undefined_global);
    lua_setfield(L, -2, "__index");
    set_hidden_metatable(L);
}

/* Globals that are not there are looked for in the language. */
static void set_globals(lua_State *L)
{
    push_language(L);
    lua_pushglobaltable(L);
    clear_table(L);
    lua_newtable(L);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, new_global, 1);
    lua_setfield(L, -2, "__newindex");
    set_hidden_metatable(L);
    lua_pop(L, 2);
}

void cr_add_functions(lua_State *L, const luaL_Reg *functions)
{
    for (; functions->name; functions++) {
        lua_pushcfunction(L, functions->func);
        lua_setfield(L, -2, functions->name);
    }
}

/* Compiled traces would run past the hook, so LuaJIT only interprets. */
void cr_sandbox_fill(lua_State *L, struct cr_run *run)
{
#ifdef LUAJIT_MODE_ENGINE
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
#endif
    lua_pushlightuserdata(L, (void *)&run_key);
    lua_pushlightuserdata(L, run);
    lua_rawset(L, LUA_REGISTRYINDEX);
    set_globals(L);
    cr_add_tensor_type(L);
    lua_sethook(L, check_limits, LUA_MASKCOUNT, HOOK_STEP);
}
