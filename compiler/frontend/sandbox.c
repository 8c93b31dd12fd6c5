/* The sandbox: a Lua state whose memory, instructions and time are bounded, and
 * whose globals are the language and nothing else. */
#include "sandbox.h"

#include <stdlib.h>

#include "args.h"
#include "blame.h"
#include "builtin_modules.h"
#include "language.h"
#include "limits.h"
#include "luaapi.h"
#include "safelib.h"
#include "script_state.h"
#include "seal.h"
#include "source.h"

/* LuaJIT does not take an allocator on every machine; then the hook alone watches, each
 * instruction. */
lua_State *cr_sandbox_open(struct cr_run *run)
{
    cr_start_limits(run);
    lua_State *L = lua_newstate(cr_allocate, run);
    if (!L) {
        L = luaL_newstate();
        run->period = 1;
    }
    run->L = L;
    return L;
}

/* A name that a module of graphs/lib has is most likely meant to be that module's. */
static int undefined_global(lua_State *L)
{
    lua_settop(L, 2);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : cr_type_name(L, 2);
    const char *module = cr_builtin_module_with(name);
    if (module)
        cr_raise(L, "'%.100s' is not defined, did you mean %s.%.100s, of require \"%s\"?", name,
                 module, name, module);
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

static int no_new_global(lua_State *L)
{
    lua_settop(L, 2);
    cr_raise(L, "a module of a library has no globals of its own, found '%.100s'",
             lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : cr_type_name(L, 2));
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
    cr_hide_metatable(L);
    lua_setmetatable(L, -2);
}

/* Gives the table on top of the stack the fields of the language, at index `language`, and a
 * function, with the language as upvalue, for globals that are set. */
static void inherit_language(lua_State *L, int language, lua_CFunction new_field)
{
    lua_newtable(L);
    lua_pushvalue(L, language);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, language);
    lua_pushcclosure(L, new_field, 1);
    lua_setfield(L, -2, "__newindex");
    cr_hide_metatable(L);
    lua_setmetatable(L, -2);
}

/* Globals that are not there are looked for in the language.  Scripts share their globals;
 * library modules have none of their own and see none of a script's. */
static void set_globals(lua_State *L)
{
    push_language(L);
    int language = lua_gettop(L);
    lua_pushglobaltable(L);
    clear_table(L);
    inherit_language(L, language, new_global);
    lua_newtable(L);
    inherit_language(L, language, no_new_global);
    cr_keep_library_globals(L);
    lua_settop(L, language - 1);
}

/* Compiled traces would run past the hook, so LuaJIT only interprets. */
void cr_sandbox_fill(lua_State *L, struct cr_run *run)
{
#ifdef LUAJIT_MODE_ENGINE
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
#endif
    cr_bind_run(L, run);
    set_globals(L);
    cr_add_tensor_type(L);
    cr_watch(L, run);
}
