/* node.h - adds nodes to the graph of a script. */
#ifndef CR_NODE_H
#define CR_NODE_H

#include "script_state.h"

/* Adds a node.  Its origin is the running line and the current scope; in a printed graph, the
 * origin and the kernel that the graph states. */
cr_id cr_add(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr);

/* Returns a copy of a node, since pointers to nodes become invalid when nodes are added. */
static inline struct cr_node cr_node_copy(lua_State *L, cr_id id)
{
    return cr_run_of(L)->graph->nodes[id];
}

/* Adds a `limit` node that gives axes of a tensor lengths; returns the tensor itself if all of
 * `lengths` are 0. lengths[axis] is 1 + the index of the axis's length, or 0. */
cr_id cr_limited(lua_State *L, cr_id id, const signed char *lengths);

/* Adds a node as cr_add does, and pushes its tensor; returns 1, the number of Lua results. */
int cr_return(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr);

#endif
