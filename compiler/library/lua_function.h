/*
 * lua_function.h - builds a graph by a function of a running Lua state.  Used by the module for
 * Lua, which, like the front end, is compiled with the headers of that Lua version.
 */
#ifndef CR_LUA_FUNCTION_H
#define CR_LUA_FUNCTION_H

#include "compiler/crescent.h"

struct lua_State;

/* Builds a graph as crescent_graph_open_text does, from the function on top of the stack, which is
 * popped.  Messages show `name` in place of a path.  During the call the function has the globals
 * and the argument of a script.  If it raises an error that is not a text, the error value is on
 * top of the stack after the failure.  For such a graph, functions that have to run the script
 * again fail. */
int cr_graph_of_function(crescent_context *context, struct lua_State *L, const char *name,
                         const crescent_script *how, crescent_graph **graph);

#endif
