/* json_table.h - pushes a value of a JSON document as a Lua value. */
#ifndef CR_JSON_TABLE_H
#define CR_JSON_TABLE_H

#include <stdbool.h>

#include "compiler/json/document.h"
#include "luaapi.h"

/* Pushes a value of a document: objects and arrays become tables, null becomes a value that
 * cr_is_json_null recognises. */
void cr_push_json(lua_State *L, const struct cr_document *document, int value);

bool cr_is_json_null(lua_State *L, int index);

#endif
