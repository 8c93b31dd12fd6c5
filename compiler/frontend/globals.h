/* globals.h - the language as tables: the globals of scripts, of library modules, and of a function of a
 * program that hosts the run. */
#ifndef CR_GLOBALS_H
#define CR_GLOBALS_H

#include "luaapi.h"

/* Pushes the table of the language: the safe part of Lua's library, and what makes graphs.  A name
 * that it lacks is an error. */
void cr_push_language(lua_State *L);

/* Pushes the part of it that Lua's library does not have, with pairs, whose order is part of the
 * language; `language` is where the whole is. */
void cr_push_graph_language(lua_State *L, int language);

/* Gives the table on top of the stack the fields of the language, at index `language`, and a
 * function, with the language as upvalue, for globals that are set. */
void cr_inherit_language(lua_State *L, int language, lua_CFunction new_field);

/* In such a function: raises an error if the name at index 2 is one of the language, and leaves the three
 * arguments on the stack. */
void cr_check_new_global(lua_State *L);

/* Such a function: a script may make globals of its own, but not change what modules rely on. */
int cr_new_global(lua_State *L);

/* Makes the globals of library modules, which have none of their own and see none of a script's. */
void cr_set_library_globals(lua_State *L, int language);

#endif
