/* tokenizer.h - converts between texts, lists of ids and Lua tables. */
#ifndef CR_LUA_TOKENIZER_H
#define CR_LUA_TOKENIZER_H

#include "object.h"

/* Ids of tokens; `items` is valid until the calling function returns. */
struct cr_lua_ids {
    int32_t *items;
    size_t n;
};

/* Reads ids from a table, or from a single number, at `index`. */
struct cr_lua_ids cr_lua_read_ids(lua_State *L, int index);

/* Returns the ids of the text at `index`, with the tokens that begin and end a text. */
struct cr_lua_ids cr_lua_encode(lua_State *L, crescent_tokenizer *tokenizer, int index);

/* Pushes a table of ids. */
void cr_lua_push_ids(lua_State *L, const int32_t *ids, size_t n);

#endif
