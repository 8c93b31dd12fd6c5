/* tokenizer.c - crescent.tokenizer: converts texts to ids and back. */
#include "tokenizer.h"

#include <string.h>

#include "classes.h"
#include "open_options.h"

static const char class_name[] = "crescent.tokenizer";

/* ---- ids ---- */

struct cr_lua_ids cr_lua_read_ids(lua_State *L, int index)
{
    index = cr_lua_absolute(L, index);
    int table = lua_type(L, index) == LUA_TTABLE;
    struct cr_lua_ids ids = {NULL, table ? (size_t)lua_rawlen(L, index) : 1};
    ids.items = cr_lua_scratch(L, ids.n, sizeof *ids.items);
    for (size_t i = 0; i < ids.n; i++) {
        if (table)
            lua_rawgeti(L, index, (int)i + 1);
        else
            lua_pushvalue(L, index);
        double id = lua_tonumber(L, -1);
        if (lua_type(L, -1) != LUA_TNUMBER || !(id >= 0 && id <= INT32_MAX) ||
            id != (double)(int32_t)id)
            cr_lua_fail(L, "ids: found %s, expected the number of a token",
                        lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1) : luaL_typename(L, -1));
        ids.items[i] = (int32_t)id;
        lua_pop(L, 1);
    }
    return ids;
}

struct cr_lua_ids cr_lua_encode(lua_State *L, crescent_tokenizer *tokenizer, int index)
{
    size_t length;
    struct cr_lua_ids ids = {0};
    int32_t *encoded;
    const char *text = luaL_checklstring(L, index, &length);
    cr_lua_pass(L, crescent_encode(tokenizer, text, length, CRESCENT_FRAMED, &encoded, &ids.n));
    ids.items = cr_lua_scratch(L, ids.n, sizeof *ids.items);
    memcpy(ids.items, encoded, ids.n * sizeof *encoded);
    crescent_free(encoded);
    return ids;
}

void cr_lua_push_ids(lua_State *L, const int32_t *ids, size_t n)
{
    luaL_checkstack(L, 2, "crescent");
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushinteger(L, ids[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

/* ---- methods ---- */

struct cr_lua_tokenizer {
    crescent_tokenizer *tokenizer;
};

static int close_tokenizer(lua_State *L)
{
    struct cr_lua_tokenizer *t = luaL_checkudata(L, 1, class_name);
    crescent_tokenizer_close(t->tokenizer);
    t->tokenizer = NULL;
    return 0;
}

/* crescent.tokenizer(path) */
static int open_tokenizer(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct cr_lua_tokenizer *t = cr_lua_new(L, sizeof *t, class_name);
    cr_lua_pass(L, crescent_tokenizer_open(cr_lua_context(L), path, &t->tokenizer));
    return 1;
}

static crescent_tokenizer *self(lua_State *L)
{
    struct cr_lua_tokenizer *t = luaL_checkudata(L, 1, class_name);
    if (!t->tokenizer)
        luaL_argerror(L, 1, "the tokenizer is closed, expected an open one");
    return t->tokenizer;
}

/* Reads the option `pair`, a text that may contain zero bytes. */
static void read_pair(lua_State *L, int index, crescent_text *text)
{
    if (lua_type(L, index) != LUA_TTABLE)
        return;
    lua_getfield(L, index, "pair");
    if (lua_type(L, -1) == LUA_TSTRING)
        text->pair = lua_tolstring(L, -1, &text->pair_length);
    else if (!lua_isnil(L, -1))
        cr_lua_fail(L, "option pair: found %s, expected a string", luaL_typename(L, -1));
}

/* t:encode(text, {framed = false, pair = text, max_length = n, pads = true}): returns a table of
 * ids, by default with the tokens that begin and end a text; and a table of the tokens' segment
 * numbers. */
static int encode(lua_State *L)
{
    static const char *const known[] = {"framed", "pair", "max_length", "pads", NULL};
    crescent_tokenizer *t = self(L);
    crescent_text text = {0};
    crescent_encoding encoding;
    lua_settop(L, 3);
    cr_lua_check_options(L, 3, known, NULL);
    text.text = luaL_checklstring(L, 2, &text.length);
    text.framing = cr_lua_flag_option(L, 3, "framed", 1) ? CRESCENT_FRAMED : CRESCENT_PLAIN;
    text.most = cr_lua_integer_option(L, 3, "max_length", 0);
    text.pads = cr_lua_flag_option(L, 3, "pads", 0);
    read_pair(L, 3, &text);
    cr_lua_pass(L, crescent_encode_text(t, &text, &encoding));
    cr_lua_push_ids(L, encoding.ids, encoding.n);
    cr_lua_push_ids(L, encoding.types, encoding.n);
    crescent_free(encoding.ids);
    return 2;
}

/* A text and its length, to be pushed by a function in protected mode. */
struct text {
    char *bytes;
    size_t length;
};

static int to_string(lua_State *L)
{
    const struct text *text = lua_touserdata(L, 1);
    lua_pushlstring(L, text->bytes, text->length);
    return 1;
}

/* t:decode(ids, {specials = true}): returns the text of ids; by default special tokens appear
 * only if they are inside the text, with the option all of them. */
static int decode(lua_State *L)
{
    static const char *const known[] = {"specials", NULL};
    crescent_tokenizer *t = self(L);
    struct text text;
    lua_settop(L, 3);
    cr_lua_check_options(L, 3, known, NULL);
    int all = cr_lua_flag_option(L, 3, "specials", 0);
    struct cr_lua_ids ids = cr_lua_read_ids(L, 2);
    cr_lua_pass(L, crescent_decode(t, ids.items, ids.n,
                                   all ? CRESCENT_SPECIALS_ALL : CRESCENT_SPECIALS_WITHIN,
                                   &text.bytes, &text.length));
    lua_pushcfunction(L, to_string);
    lua_pushlightuserdata(L, &text);
    int status = lua_pcall(L, 1, 1, 0);
    crescent_free(text.bytes);
    return status ? lua_error(L) : 1;
}

/* t:id("<|endoftext|>"): returns a token's id, or nil; t:token(id): returns a token's text, or
 * nil. */
static int id_of(lua_State *L)
{
    int id = crescent_token_id(self(L), luaL_checkstring(L, 2));
    if (id == CRESCENT_NONE)
        lua_pushnil(L);
    else
        lua_pushinteger(L, id);
    return 1;
}

static int token(lua_State *L)
{
    lua_pushstring(L, crescent_token_text(self(L), (int)luaL_checkinteger(L, 2)));
    return 1;
}

static int size(lua_State *L)
{
    lua_pushinteger(L, crescent_tokenizer_size(self(L)));
    return 1;
}

void cr_lua_add_tokenizers(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"encode", encode}, {"decode", decode},         {"id", id_of}, {"token", token},
        {"size", size},     {"close", close_tokenizer}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {
        {"__gc", close_tokenizer}, {"__len", size}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"tokenizer", open_tokenizer}, {NULL, NULL}};
    static const struct cr_lua_class class = {class_name, methods, metamethods};
    cr_lua_add_class(L, &class);
    cr_lua_add_functions(L, functions);
}
