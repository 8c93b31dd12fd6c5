/* script_source.h - finds, reads and loads the texts of scripts and modules. */
#ifndef CR_SCRIPT_SOURCE_H
#define CR_SCRIPT_SOURCE_H

#include "script_state.h"

/* Loads the script and leaves it as a function on the stack. */
void cr_load_script(lua_State *L, struct cr_run *run);

/* Loads a text that may contain only constants: it has no globals.  Leaves it as a function on
 * the stack. */
void cr_load_constants(lua_State *L, struct cr_run *run, const char *path);

/* Makes the table on top of the stack the globals of library modules. */
void cr_keep_library_globals(lua_State *L);

#endif
