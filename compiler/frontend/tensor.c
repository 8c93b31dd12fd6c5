/* tensor.c - a node of the graph as a Lua value; see tensor.h. */
#include "tensor.h"

#define TYPE "tensor"

static const char type_key; /* key of cr_push_kept: the metatable of tensors */

/* The userdata of a tensor.  A script has one graph, so the node's id identifies the tensor;
 * tensors of other graphs have another metatable. */
struct tensor {
    cr_id id;
};

void cr_push_tensor_type(lua_State *L)
{
    lua_newtable(L);
    lua_pushliteral(L, TYPE);
    lua_setfield(L, -2, "__name");
    lua_pushliteral(L, TYPE);
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, -1);
    cr_set_kept(L, &type_key);
}

void cr_push_tensor(lua_State *L, cr_id id)
{
    struct tensor *tensor = lua_newuserdata(L, sizeof *tensor);
    tensor->id = id;
    cr_push_kept(L, &type_key);
    lua_setmetatable(L, -2);
}

bool cr_is_tensor(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index))
        return false;
    cr_push_kept(L, &type_key);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

bool cr_is_other_tensor(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TUSERDATA || !luaL_getmetafield(L, index, "__metatable"))
        return false;
    lua_pushliteral(L, TYPE);
    bool other = lua_rawequal(L, -1, -2) && !cr_is_tensor(L, index);
    lua_pop(L, 2);
    return other;
}

cr_id cr_tensor_at(lua_State *L, int index)
{
    return ((struct tensor *)lua_touserdata(L, index))->id;
}
