/* globals.c - the globals of scripts and of library modules; see globals.h. */
#include "globals.h"

#include "args.h"
#include "builtin_modules.h"
#include "language.h"
#include "readonly_tables.h"
#include "safelib.h"
#include "script_errors.h"
#include "script_source.h"
#include "script_state.h"

/* Raises an error for an undefined name; suggests the module of graphs/lib that defines it. */
static int undefined_global(lua_State *L)
{
    char hint[300];
    lua_settop(L, 2);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : cr_type_name(L, 2);
    const char *module = cr_builtin_module_with(name);
    if (module)
        cr_raise(L, "'%.100s' is not defined, did you mean %s.%.100s of require \"%s\"?", name,
                 module, name, module);
    cr_raise(L, "'%.100s' is not defined%s", name, cr_suggest_key(L, 1, hint, sizeof hint, name));
}

void cr_check_new_global(lua_State *L)
{
    lua_settop(L, 3);
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    if (!lua_isnil(L, -1))
        cr_raise(L, "'%.100s' is a function of the language, expected another name, or a local "
                 "variable", lua_tostring(L, 2));
    lua_settop(L, 3);
}

int cr_new_global(lua_State *L)
{
    cr_check_new_global(L);
    lua_rawset(L, 1);
    return 0;
}

static int no_new_global(lua_State *L)
{
    lua_settop(L, 2);
    cr_raise(L, "found the global '%.100s' in a library's module, expected a local variable",
             lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : cr_type_name(L, 2));
}

/* Adds to the table on top of the stack the functions of the language that build a graph. */
static void add_graph_functions(lua_State *L)
{
    static const luaL_Reg functions[] = {{"require", cr_lua_require},
                                         {"options", cr_lua_options},
                                         {"layer_options", cr_lua_layer_options},
                                         {NULL, NULL}};
    cr_add_functions(L, functions);
    cr_add_primitives(L);
    cr_add_elementwise(L);
    cr_add_scopes(L);
}

/* Sets a metatable on the table on top of the stack: reading a name that the table lacks raises
 * an error. */
static void refuse_undefined(lua_State *L)
{
    lua_newtable(L);
    lua_pushcfunction(L, undefined_global);
    lua_setfield(L, -2, "__index");
    cr_hide_metatable(L);
    lua_setmetatable(L, -2);
}

void cr_push_language(lua_State *L)
{
    lua_newtable(L);
    cr_add_safe_library(L);
    add_graph_functions(L);
    cr_add_dump_statements(L);
    refuse_undefined(L);
}

void cr_push_graph_language(lua_State *L, int language)
{
    lua_newtable(L);
    add_graph_functions(L);
    lua_getfield(L, language, "pairs");
    lua_setfield(L, -2, "pairs");
    refuse_undefined(L);
}

void cr_inherit_language(lua_State *L, int language, lua_CFunction new_field)
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

void cr_set_library_globals(lua_State *L, int language)
{
    lua_newtable(L);
    cr_inherit_language(L, language, no_new_global);
    cr_keep_library_globals(L);
}
