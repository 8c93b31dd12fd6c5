/*
 * hosted.h - runs a Lua function of another program, the host, in the host's Lua state instead of
 * a script in a sandbox.
 *
 * During the run the state has one more entry in the registry, and the function's globals are
 * replaced by the language; both changes are undone afterwards.  There are no limits of time and
 * memory, and no hook.
 */
#ifndef CR_HOSTED_H
#define CR_HOSTED_H

#include "script_state.h"

/* Pushes the function at index `function`, then the language as its argument, ready for lua_call.
 * The function reads globals from the language, then from its own globals. */
void cr_host_begin(lua_State *L, struct cr_run *run, int function);

/* Undoes the changes to the state.  Allocates no memory unless the run failed for lack of
 * memory. */
void cr_host_end(lua_State *L);

#endif
