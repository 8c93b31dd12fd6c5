/*
 * lua_function.h - graphs that a function of a running Lua builds.  It serves the module for Lua,
 * which is compiled with the headers of that Lua, as the front end is.
 */
#ifndef CR_LUA_FUNCTION_H
#define CR_LUA_FUNCTION_H

#include "compiler/crescent.h"

struct lua_State;

/* Builds a graph as crescent_graph_open_text does, from the function on top of the stack, which
 * is popped; messages show `name` in place of a path.  During the call the function has the
 * globals and the argument of a script.  If it raises an error that is not a text, the error
 * value is on top of the stack after the failure.  Functions that need to run the script again
 * fail for such a graph. */
int cr_graph_of_function(crescent_context *context, struct lua_State *L, const char *name,
                         const crescent_script *how, crescent_graph **graph);

#endif
