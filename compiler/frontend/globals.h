/* globals.h - the tables of globals: for scripts, for library modules, and for a hosted
 * function. */
#ifndef CR_GLOBALS_H
#define CR_GLOBALS_H

#include "luaapi.h"

/* Pushes the table of the language: the safe part of Lua's library, and the functions that build
 * graphs. Reading a name that the table lacks raises an error. */
void cr_push_language(lua_State *L);

/* Pushes a table with the part of the language that is not in Lua's library, and with `pairs`,
 * whose order differs from Lua's; `language` is the stack index of the whole language. */
void cr_push_graph_language(lua_State *L, int language);

/* Makes the table on top of the stack inherit from the language, at stack index `language`.  Lua
 * calls `new_field`, whose upvalue is the language, when a new global is assigned. */
void cr_inherit_language(lua_State *L, int language, lua_CFunction new_field);

/* For functions that assign a global: raises an error if the name at index 2 belongs to the
 * language; else leaves the three arguments on the stack. */
void cr_check_new_global(lua_State *L);

/* A `new_field` for scripts: assigns the new global, but raises an error for a name of the
 * language, since modules rely on it. */
int cr_new_global(lua_State *L);

/* Makes the table of globals of library modules: they cannot define globals and do not see the
 * script's. */
void cr_set_library_globals(lua_State *L, int language);

#endif
