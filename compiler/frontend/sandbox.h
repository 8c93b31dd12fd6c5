/* sandbox.h - opens a Lua state with limits, whose only globals are the language. */
#ifndef CR_SANDBOX_H
#define CR_SANDBOX_H

#include "script_state.h"

/* Opens a state with limited memory.  Returns null if memory is insufficient. */
lua_State *cr_sandbox_open(struct cr_run *run);

/* Fills the state with the safe library functions, the language and the limits.  May raise a Lua
 * error. */
void cr_sandbox_fill(lua_State *L, struct cr_run *run);

#endif
