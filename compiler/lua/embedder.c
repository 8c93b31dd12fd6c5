/* embedder.c - crescent.embedder: computes vectors and labels of texts. */
#include <string.h>

#include "classes.h"
#include "open_options.h"
#include "tensor.h"

static const char class_name[] = "crescent.embedder";

struct cr_lua_embedder {
    crescent_embedder *embedder;
};

static int close_embedder(lua_State *L)
{
    struct cr_lua_embedder *e = luaL_checkudata(L, 1, class_name);
    crescent_embedder_close(e->embedder);
    e->embedder = NULL;
    return 0;
}

/* Returns the value of the option `classify`: true, or "logits". */
static crescent_classification read_classification(lua_State *L)
{
    crescent_classification classify = CRESCENT_NO_CLASSES;
    lua_getfield(L, 2, "classify");
    if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "logits") == 0)
        classify = CRESCENT_LOGITS;
    else if (lua_isboolean(L, -1))
        classify = lua_toboolean(L, -1) ? CRESCENT_PROBABILITIES : CRESCENT_NO_CLASSES;
    else if (!lua_isnil(L, -1))
        cr_lua_fail(L, "option classify: found %s, expected true, false or \"logits\"",
                    lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1));
    lua_pop(L, 1);
    return classify;
}

/* crescent.embedder(path, options): opens an encoder's folder or file. */
static int open_embedder(lua_State *L)
{
    static const char *const more[] = {"pooling", "normalize", "max_length", "role", "classify", "cache_weights", NULL};
    struct cr_lua_open_options o;
    const char *path = luaL_checkstring(L, 1);
    lua_settop(L, 2);
    struct cr_lua_embedder *e = cr_lua_new(L, sizeof *e, class_name);
    cr_lua_read_open_options(L, 2, more, &o);
    if (o.grads || o.n_taps || o.n_weights || o.keep > 0)
        cr_lua_fail(L, "embedder: found one of the options weights, grads, cotangents, taps, keep, expected "
                       "none");
    const crescent_embedder_options options = {.pooling = cr_lua_string_option(L, 2, "pooling"),
                                               .normalize = cr_lua_flag_option(L, 2, "normalize", 0),
                                               .most = cr_lua_integer_option(L, 2, "max_length", 0),
                                               .role = cr_lua_string_option(L, 2, "role"),
                                               .classify = lua_isnil(L, 2) ? CRESCENT_NO_CLASSES
                                                                           : read_classification(L)};
    crescent_context *context = cr_lua_context(L);
    crescent_cache_weights(context, cr_lua_cache_option(L, 2));
    int status = crescent_embedder_open(context, path, &o.script, &o.config, &options, &e->embedder);
    if (status == CRESCENT_OK)
        crescent_write_cache(crescent_embedder_model(e->embedder), NULL);
    crescent_cache_weights(context, 0);
    cr_lua_pass(L, status);
    lua_pushvalue(L, 3);
    return 1;
}

static crescent_embedder *self(lua_State *L)
{
    struct cr_lua_embedder *e = luaL_checkudata(L, 1, class_name);
    if (!e->embedder)
        luaL_argerror(L, 1, "found a closed embedder, expected an open one");
    return e->embedder;
}

/* e:embed(text, pair): returns the vector of a text, or of a pair of texts, as a tensor; and the
 * number of tokens. */
static int embed(lua_State *L)
{
    crescent_embedder_facts facts;
    crescent_embedded what;
    size_t length, pair_length;
    crescent_embedder *e = self(L);
    const char *text = luaL_checklstring(L, 2, &length), *pair = luaL_optlstring(L, 3, NULL, &pair_length);
    cr_lua_pass(L, crescent_embedder_get_facts(e, &facts));
    const crescent_port port = {.name = "embedding", .type = CRESCENT_F32, .rank = 1, .shape = {facts.dimensions}};
    struct cr_lua_tensor *t = cr_lua_new_tensor(L, &port);
    cr_lua_pass(L, pair ? crescent_embed_pair(e, text, length, pair, pair_length, t->data, &what)
                        : crescent_embed(e, text, length, t->data, &what));
    lua_pushinteger(L, (lua_Integer)what.tokens);
    return 2;
}

/* e:labels(): returns the names of a classifier's labels, in the order of the vector's elements. */
static int labels(lua_State *L)
{
    crescent_embedder *e = self(L);
    const char *label;
    lua_newtable(L);
    for (int i = 0; (label = crescent_embedder_label(e, i)); i++) {
        lua_pushstring(L, label);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* e:facts(): returns a table of the embedder's properties. */
static int facts_of(lua_State *L)
{
    crescent_embedder_facts facts;
    cr_lua_pass(L, crescent_embedder_get_facts(self(L), &facts));
    lua_newtable(L);
    cr_lua_set_integer(L, "dimensions", facts.dimensions);
    cr_lua_set_integer(L, "max_length", facts.most);
    cr_lua_set_string(L, "pooling", facts.pooling);
    cr_lua_set_string(L, "prompt", facts.prompt);
    lua_pushboolean(L, facts.normalized);
    lua_setfield(L, -2, "normalized");
    lua_pushboolean(L, facts.pairs);
    lua_setfield(L, -2, "pairs");
    return 1;
}

void cr_lua_add_embedders(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"embed", embed}, {"labels", labels}, {"facts", facts_of}, {"close", close_embedder}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {{"__gc", close_embedder}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"embedder", open_embedder}, {NULL, NULL}};
    static const struct cr_lua_class class = {class_name, methods, metamethods};
    cr_lua_add_class(L, &class);
    cr_lua_add_functions(L, functions);
}
