/* The tensor: a node of the graph as a value of Lua. */
#include "tensor.h"

#define TYPE "tensor"

/* The userdata.  A script has one graph, so the number of the node suffices. */
struct tensor {
    cr_id id;
};

void cr_push_tensor_type(lua_State *L)
{
    luaL_newmetatable(L, TYPE);
    lua_pushliteral(L, TYPE);
    lua_setfield(L, -2, "__metatable");
}

void cr_push_tensor(lua_State *L, cr_id id)
{
    struct tensor *tensor = lua_newuserdata(L, sizeof *tensor);
    tensor->id = id;
    luaL_getmetatable(L, TYPE);
    lua_setmetatable(L, -2);
}

bool cr_is_tensor(lua_State *L, int index)
{
    return lua_type(L, index) == LUA_TUSERDATA && luaL_testudata(L, index, TYPE);
}

cr_id cr_tensor_at(lua_State *L, int index)
{
    return ((struct tensor *)lua_touserdata(L, index))->id;
}
