/*
 * function.h - graphs that a function of a running Lua builds: for the module for Lua, which is built with
 * the headers of that Lua, as the front end is.
 */
#ifndef CR_FUNCTION_H
#define CR_FUNCTION_H

#include "compiler/crescent.h"

struct lua_State;

/* As crescent_graph_open_text, of the function on top of the stack, which is popped; `name` stands for the
 * path.  Its globals and its argument are the language while it runs.  If it raises what is no text, that
 * value is on top of the stack after the failure.  What needs the script again refuses such a graph. */
int cr_graph_of_function(crescent_context *context, struct lua_State *L, const char *name,
                         const crescent_script *how, crescent_graph **graph);

#endif
