/* error_hints.h - adds hints to error messages of scripts: about misspelt names and missing
 * arguments. */
#ifndef CR_ERROR_HINTS_H
#define CR_ERROR_HINTS_H

#include "script_state.h"

/* Returns a clearer message, written to `text`, if there is a hint, else `message`, which has no
 * line number.  `in_library`: the innermost running function belongs to a library that the user's
 * code called. */
const char *cr_hint(lua_State *L, const struct cr_run *run, const char *message, bool in_library,
                    char *text, size_t size);

#endif
