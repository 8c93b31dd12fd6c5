/* tensor.h - a node of the graph as a Lua value. */
#ifndef CR_TENSOR_H
#define CR_TENSOR_H

#include <stdbool.h>

#include "compiler/ir/graph.h"
#include "luaapi.h"

/* Makes the empty metatable of tensors and leaves it on the stack. */
void cr_push_tensor_type(lua_State *L);

void cr_push_tensor(lua_State *L, cr_id id);
bool cr_is_tensor(lua_State *L, int index);

/* True if a value is a tensor of another graph. */
bool cr_is_other_tensor(lua_State *L, int index);
cr_id cr_tensor_at(lua_State *L, int index); /* returns the node of the tensor at an index */

#endif
