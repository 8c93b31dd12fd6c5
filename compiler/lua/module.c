/* module.c - makes the table that `require "crescent"` returns; docs/lua.md describes it. */
#include "classes.h"
#include "object.h"
#include "tensor.h"

/* crescent.build(): returns a table with the versions of the library and its parts, and the
 * instruction set of this machine's runtime. */
static int build(lua_State *L)
{
    crescent_build b;
    cr_lua_pass(L, crescent_get_build(cr_lua_context(L), &b));
    lua_newtable(L);
    cr_lua_set_string(L, "version", b.version);
    cr_lua_set_string(L, "lua", b.lua);
    cr_lua_set_string(L, "isa", b.isa);
    cr_lua_set_integer(L, "tinycc", b.tinycc);
    return 1;
}

__attribute__((visibility("default"))) int luaopen_crescent(lua_State *L);

/* Pushes the table of the module for `require`.  The module may be loaded twice. */
int luaopen_crescent(lua_State *L)
{
    static const luaL_Reg functions[] = {{"build", build}, {NULL, NULL}};
    cr_lua_add_context(L);
    lua_newtable(L);
    cr_lua_add_functions(L, functions);
    cr_lua_add_tensors(L);
    cr_lua_add_models(L);
    cr_lua_add_trainers(L);
    cr_lua_add_tokenizers(L);
    cr_lua_add_generators(L);
    cr_lua_add_embedders(L);
    cr_lua_add_explanations(L);
    cr_lua_set_string(L, "version", crescent_version());
    return 1;
}
