/*
 * hosted.h - a hosted run: the script is a function of a program that has Lua in it, and runs in the state
 * of that program.
 *
 * Nothing of the state changes but what is kept while the function runs, and the globals of the function
 * itself: a name that they lack is looked for in the language.  There are no limits of time and memory,
 * and no hook.
 */
#ifndef CR_HOSTED_H
#define CR_HOSTED_H

#include "script_state.h"

/* Pushes the function that is at index `function`, and the language as its argument, to be called.  Its
 * globals are those of the language, and then those that it had. */
void cr_host_begin(lua_State *L, struct cr_run *run, int function);

/* Leaves the state as it was.  Allocates nothing, unless the run failed for lack of memory. */
void cr_host_end(lua_State *L);

#endif
