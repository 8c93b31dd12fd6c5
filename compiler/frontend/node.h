/* node.h - adding nodes to the graph of a script. */
#ifndef CR_NODE_H
#define CR_NODE_H

#include "script_state.h"

/* Adds a node with the running line and scope as its origin, and the kernel that a printed graph
 * says. */
cr_id cr_add(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr);

/* The same, and returns the tensor to Lua. */
int cr_return(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr);

#endif
