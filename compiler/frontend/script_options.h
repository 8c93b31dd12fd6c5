/* script_options.h - the options that a script declares and settings override. */
#ifndef CR_SCRIPT_OPTIONS_H
#define CR_SCRIPT_OPTIONS_H

#include "script_state.h"

/* Writes a number as the shortest text that reads back as the same number; returns `text`. */
const char *cr_option_text(char *text, size_t size, double value);

/* True if a number is whole and at most 2^53 in magnitude. */
bool cr_is_whole(double value);

/* True if the table at `index` was returned by `options`. */
bool cr_is_options(lua_State *L, int index);

/* Raises an error if there are settings but the script declares no options. */
void cr_check_settings(lua_State *L, struct cr_run *run);

#endif
