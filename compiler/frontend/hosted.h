/*
 * hosted.h - a hosted run: the script is a function of a program with its own Lua, and runs in the
 * state of that program.
 *
 * While it runs, the only changes to the state are an entry in the registry and the globals of the
 * function, which become the language and then the original ones.  There are no limits of time and
 * memory, and no hook.
 */
#ifndef CR_HOSTED_H
#define CR_HOSTED_H

#include "script_state.h"

/* Pushes the function at index `function`, and the language as its argument, ready to be called.
 * The function sees the globals of the language, and then its original globals. */
void cr_host_begin(lua_State *L, struct cr_run *run, int function);

/* Restores the state.  Allocates nothing, unless the run failed for lack of memory. */
void cr_host_end(lua_State *L);

#endif
