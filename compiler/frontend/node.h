/* node.h - adds nodes to the graph of a script. */
#ifndef CR_NODE_H
#define CR_NODE_H

#include "script_state.h"

/* Adds a node.  Its origin is the running line and scope; in a printed graph its kernel is the
 * stated one. */
cr_id cr_add(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr);

/* Returns a copy of a node: nodes move when others are added. */
static inline struct cr_node cr_node_copy(lua_State *L, cr_id id)
{
    return cr_run_of(L)->graph->nodes[id];
}

/* Adds a `limit` to a tensor, or returns the tensor if no axis has a length.  lengths[axis] is 1 +
 * the number of the axis' length, or 0. */
cr_id cr_limited(lua_State *L, cr_id id, const signed char *lengths);

/* Adds a node as cr_add does, and returns the tensor to Lua. */
int cr_return(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr);

#endif
