/* tokenizer.h - lists of ids as tables of Lua, and the tokenizers that generators have. */
#ifndef CR_LUA_TOKENIZER_H
#define CR_LUA_TOKENIZER_H

#include "object.h"

/* Ids of tokens; `items` lives until the calling function returns. */
struct cr_lua_ids {
    int32_t *items;
    size_t n;
};

/* The ids of the table, or of the one number, at `index`. */
struct cr_lua_ids cr_lua_read_ids(lua_State *L, int index);

/* The ids of a text, with what the tokenizer puts around it or without. */
struct cr_lua_ids cr_lua_encode(lua_State *L, crescent_tokenizer *tokenizer, int index,
                                crescent_framing framing);

/* Pushes a table of ids. */
void cr_lua_push_ids(lua_State *L, const int32_t *ids, size_t n);

#endif
