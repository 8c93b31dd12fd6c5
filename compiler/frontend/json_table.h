/* json_table.h - a document of JSON as a value of Lua. */
#ifndef CR_JSON_TABLE_H
#define CR_JSON_TABLE_H

#include <stdbool.h>

#include "compiler/json/document.h"
#include "luaapi.h"

/* Pushes a value of a document: objects and arrays are tables, null is what cr_is_json_null knows. */
void cr_push_json(lua_State *L, const struct cr_document *document, int value);

bool cr_is_json_null(lua_State *L, int index);

#endif
