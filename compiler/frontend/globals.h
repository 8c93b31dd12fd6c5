/* globals.h - the language as tables: the globals of scripts, of library modules, and of a hosted
 * function. */
#ifndef CR_GLOBALS_H
#define CR_GLOBALS_H

#include "luaapi.h"

/* Pushes the table of the language: the safe part of Lua's library, and the functions that make
 * graphs. Reading a name that it lacks is an error. */
void cr_push_language(lua_State *L);

/* Pushes the part of the language that Lua's library lacks, and pairs, whose order is part of the
 * language; `language` is the index of the whole table. */
void cr_push_graph_language(lua_State *L, int language);

/* Makes the table on top of the stack inherit the language, which is at index `language`.
 * `new_field` is called for new globals, with the language as upvalue. */
void cr_inherit_language(lua_State *L, int language, lua_CFunction new_field);

/* For functions that set globals: raises an error if the name at index 2 belongs to the
 * language; keeps the three arguments on the stack. */
void cr_check_new_global(lua_State *L);

/* A `new_field`: a script may define new globals, but not change names that modules rely on. */
int cr_new_global(lua_State *L);

/* Makes the globals of library modules, which cannot define globals and do not see the script's. */
void cr_set_library_globals(lua_State *L, int language);

#endif
