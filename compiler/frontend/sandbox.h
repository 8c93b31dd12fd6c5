/* sandbox.h - a Lua state with bounds, whose globals are the language and nothing else. */
#ifndef CR_SANDBOX_H
#define CR_SANDBOX_H

#include "script_state.h"

/* A state with bounded memory; null if there is none to be had. */
lua_State *cr_sandbox_open(struct cr_run *run);

/* Fills the state: safe library functions, the language, limits.  May raise. */
void cr_sandbox_fill(lua_State *L, struct cr_run *run);

#endif
