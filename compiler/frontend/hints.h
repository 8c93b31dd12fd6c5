/* hints.h - what may have led to a mistake of a script: a name that is near, an argument left out. */
#ifndef CR_HINTS_H
#define CR_HINTS_H

#include "script_state.h"

/* A message of a handler of errors, without its line, in better words if there are any: they are then
 * written to `text`.  `in_library`: the innermost running function is one of a library's, which the user's
 * called. */
const char *cr_hint(lua_State *L, const struct cr_run *run, const char *message, bool in_library,
                    char *text, size_t size);

#endif
