/* sandbox.h - a Lua state with limits, whose globals are the language and nothing else. */
#ifndef CR_SANDBOX_H
#define CR_SANDBOX_H

#include "script_state.h"

/* Opens a state with limited memory; null if that fails. */
lua_State *cr_sandbox_open(struct cr_run *run);

/* Fills the state: safe library functions, the language, limits.  May raise. */
void cr_sandbox_fill(lua_State *L, struct cr_run *run);

#endif
