/* error_hints.h - explains errors of scripts: misspelt names, missing arguments. */
#ifndef CR_ERROR_HINTS_H
#define CR_ERROR_HINTS_H

#include "script_state.h"

/* Returns a clearer message than `message`, which has no line, written to `text`; or `message`
 * itself.  `in_library`: the innermost running function belongs to a library, and the user's code
 * called it. */
const char *cr_hint(lua_State *L, const struct cr_run *run, const char *message, bool in_library,
                    char *text, size_t size);

#endif
