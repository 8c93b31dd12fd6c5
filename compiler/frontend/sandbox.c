/* sandbox.c - opens a Lua state with limits on memory, instructions and time, whose globals are
 * the language; see sandbox.h. */
#include "sandbox.h"

#include <stdlib.h>

#include "globals.h"
#include "language.h"
#include "luaapi.h"
#include "script_limits.h"
#include "script_state.h"

/* Opens a state.  On some machines LuaJIT accepts no allocator of the caller's; then only the
 * hook checks the limits, at every instruction. */
lua_State *cr_sandbox_open(struct cr_run *run)
{
    cr_start_limits(run);
    run->allocate = cr_allocate;
    lua_State *L = lua_newstate(cr_run_allocate, run);
    if (!L) {
        cr_heap_free(&run->heap);
        L = luaL_newstate();
        run->period = 1;
    }
    run->L = L;
    return L;
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

/* Makes the globals inherit from the language.  A script can define globals; library modules
 * cannot, and do not see the script's. */
static void set_globals(lua_State *L)
{
    cr_push_language(L);
    int language = lua_gettop(L);
    lua_pushglobaltable(L);
    clear_table(L);
    cr_inherit_language(L, language, cr_new_global);
    cr_set_library_globals(L, language);
    lua_settop(L, language - 1);
}

/* Gives a new Lua state the run, the globals of the graph language, the type of tensors and the hook
 * of the limits.  Turns LuaJIT's compiler off, since compiled traces do not call the hook. */
void cr_sandbox_fill(lua_State *L, struct cr_run *run)
{
#ifdef LUAJIT_MODE_ENGINE
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
#endif
    lua_gc(L, LUA_GCSTOP, 0); /* only the hook starts it: see script_limits.c */
    cr_bind_run(L, run);
    set_globals(L);
    cr_add_tensor_type(L);
    cr_watch(L, run);
}
