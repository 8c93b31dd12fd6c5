/* json_table.h - a JSON text as a value of Lua. */
#ifndef CR_JSON_TABLE_H
#define CR_JSON_TABLE_H

#include <stdbool.h>

#include "luaapi.h"

/* Pushes what the JSON text at `index`, a string of Lua, says: objects and arrays are tables, null is
 * what cr_is_json_null knows.  A mistake is raised with `path` and its line. */
void cr_push_json(lua_State *L, int index, const char *path);

bool cr_is_json_null(lua_State *L, int index);

#endif
