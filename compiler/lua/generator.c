/* generator.c - crescent.generator: continues texts with a model. */
#include <string.h>

#include "classes.h"
#include "open_options.h"
#include "ports.h"
#include "tokenizer.h"

static const char class_name[] = "crescent.generator";

/* A model for one text; its tokenizer, or null. */
struct cr_lua_generator {
    crescent_generator *generator;
    crescent_tokenizer *tokenizer;
    crescent_text_stream *stream; /* decodes the current text */
    int busy;                     /* true while a call of g:generate is running */
    unsigned texts;               /* number of texts that were begun */
};

/* ---- opening ---- */

static int close_generator(lua_State *L)
{
    struct cr_lua_generator *g = luaL_checkudata(L, 1, class_name);
    if (g->busy)
        return luaL_error(L, "the generator is in use, expected one call at a time");
    crescent_text_stream_close(g->stream);
    crescent_tokenizer_close(g->tokenizer);
    crescent_generator_close(g->generator);
    *g = (struct cr_lua_generator){0};
    return 0;
}

/* Closes a generator when it is garbage-collected, even if it is marked as busy. */
static int collect(lua_State *L)
{
    struct cr_lua_generator *g = luaL_checkudata(L, 1, class_name);
    g->busy = 0;
    return close_generator(L);
}

static struct cr_lua_generator *self(lua_State *L)
{
    struct cr_lua_generator *g = luaL_checkudata(L, 1, class_name);
    if (!g->generator)
        luaL_argerror(L, 1, "the generator is closed, expected an open one");
    return g;
}

/* Returns the options about positions: the context, the chunk and so on. */
static crescent_generation read_generation(lua_State *L)
{
    return (crescent_generation){.context = cr_lua_integer_option(L, 2, "context", 0),
                                 .chunk = cr_lua_integer_option(L, 2, "chunk", 0)};
}

/* Opens a script as the object's generator: the file at the path, or the text of the option
 * `text`. */
static void open_script(lua_State *L, struct cr_lua_generator *g, const char *path,
                        const struct cr_lua_open_options *o)
{
    size_t length = 0;
    const crescent_generation how = read_generation(L);
    crescent_context *context = cr_lua_context(L);
    const char *text = cr_lua_string_option(L, 2, "text");
    if (!text) {
        cr_lua_pass(L, crescent_generator_open(context, path, &o->script, &o->config, &how,
                                               &g->generator));
        return;
    }
    lua_getfield(L, 2, "text");
    text = lua_tolstring(L, -1, &length);
    cr_lua_pass(L, crescent_generator_open_text(context, path, text, length, &o->script, &o->config,
                                                &how, &g->generator));
    lua_pop(L, 1);
}

/* Opens the tokenizer.  With the option `cache_weights`, its tables are cached as well. */
static void open_tokenizer(lua_State *L, struct cr_lua_generator *g, const char *path)
{
    crescent_context *context = cr_lua_context(L);
    crescent_cache_weights(context, cr_lua_cache_option(L, 2));
    int status = crescent_tokenizer_open(context, path, &g->tokenizer);
    crescent_cache_weights(context, 0);
    cr_lua_pass(L, status);
}

/* Loads the weights.  With the option `cache_weights`, they are mapped from the cache, or written
 * to it if possible. */
static void fill_weights(lua_State *L, crescent_model *model, const struct cr_lua_open_options *o)
{
    crescent_context *context = cr_lua_context(L);
    crescent_cache_weights(context, cr_lua_cache_option(L, 2));
    cr_lua_fill_weights(L, model, o->weights, o->n_weights, o->seed);
    crescent_write_cache(model, NULL);
    crescent_cache_weights(context, 0);
}

/* crescent.generator(path, options): opens a folder, a GGUF file or a script.  With the option
 * `text`, which is a script's text, the path only names it. */
static int open_generator(lua_State *L)
{
    static const char *const more[] = {"context", "chunk", "tokenizer", "text", "cache_weights", NULL};
    struct cr_lua_open_options o;
    crescent_generator_status status;
    const char *path = luaL_checkstring(L, 1);
    lua_settop(L, 2);
    struct cr_lua_generator *g = cr_lua_new(L, sizeof *g, class_name);
    cr_lua_read_open_options(L, 2, more, &o);
    if (o.grads || o.n_taps || o.keep > 0)
        cr_lua_fail(L, "generator: expected none of the options grads, cotangents, taps, keep");
    const char *tokenizer = cr_lua_string_option(L, 2, "tokenizer");
    open_script(L, g, path, &o);
    cr_lua_pass(L, crescent_generator_get_status(g->generator, &status));
    if (status.texts != 1)
        cr_lua_fail(L, "%.400s: %lld texts, expected one", path, (long long)status.texts);
    if (!tokenizer && crescent_weights_path(crescent_generator_model(g->generator)))
        tokenizer = path;
    if (tokenizer)
        open_tokenizer(L, g, tokenizer);
    fill_weights(L, crescent_generator_model(g->generator), &o);
    lua_pushvalue(L, 3);
    return 1;
}

/* ---- C ---- */

/* Returns the value of the option `embed`, true or "array", which decides how weights become part
 * of the program. */
static crescent_embedding read_embedding(lua_State *L)
{
    crescent_embedding embedding = CRESCENT_EMBED_NOT;
    lua_getfield(L, 2, "embed");
    if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "array") == 0)
        embedding = CRESCENT_EMBED_ARRAY;
    else if (lua_isboolean(L, -1))
        embedding = lua_toboolean(L, -1) ? CRESCENT_EMBED_FILE : CRESCENT_EMBED_NOT;
    else if (!lua_isnil(L, -1))
        cr_lua_fail(L, "option embed: found %s, expected true, false or \"array\"",
                    luaL_typename(L, -1));
    lua_pop(L, 1);
    return embedding;
}

/* Pushes the path of the file of weights: "model.weights" for "model.c". */
static const char *beside(lua_State *L, const char *out)
{
    size_t length = strlen(out);
    lua_pushlstring(L, out, length > 2 ? length - 2 : length);
    lua_pushliteral(L, ".weights");
    lua_concat(L, 2);
    return lua_tostring(L, -1);
}

/* crescent.emit_generator(path, options): emits a C program that generates text.  The option
 * `out` is the program's path, with the header beside it; without the option both are returned as
 * strings. */
static int emit_generator(lua_State *L)
{
    static const char *const more[] = {"context", "chunk", "tokenizer", "ids", "pack", "embed", "out", NULL};
    struct cr_lua_open_options o;
    char *source, *header;
    const char *path = luaL_checkstring(L, 1);
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_newtable(L);
        lua_replace(L, 2);
    }
    cr_lua_read_open_options(L, 2, more, &o);
    if (o.grads || o.n_taps || o.keep > 0)
        cr_lua_fail(L, "emit_generator: expected none of the options grads, cotangents, taps, keep");
    const crescent_generation how = read_generation(L);
    crescent_generator_source what = {.tokenizer = cr_lua_string_option(L, 2, "tokenizer"),
                                            .ids_only = cr_lua_flag_option(L, 2, "ids", 0),
                                            .pack = cr_lua_string_option(L, 2, "pack"),
                                            .embed = read_embedding(L),
                                            .weights = o.n_weights ? o.weights : NULL,
                                            .n_weights = o.n_weights};
    const char *out = cr_lua_string_option(L, 2, "out");
    if (out && what.embed == CRESCENT_EMBED_FILE && !what.pack)
        what.pack = beside(L, out);
    if (out) {
        cr_lua_pass(L, crescent_emit_generator(cr_lua_context(L), path, &o.script, &o.config, &how,
                                               &what, out, NULL));
        return 0;
    }
    cr_lua_pass(L, crescent_emit_generator_text(cr_lua_context(L), path, &o.script, &o.config, &how,
                                                &what, "generator.h", &source, &header));
    cr_lua_push_text(L, source);
    cr_lua_push_text(L, header);
    return 2;
}

/* ---- generating ---- */

/* The state of one call of g:generate. */
struct generation {
    struct cr_lua_generator *g;
    crescent_generator_status about;
    crescent_sampling sampling;
    struct cr_lua_ids prompt;
    int64_t limit; /* maximum number of tokens to generate */
    int ignore_eos;
    int callback;   /* stack index of the callback, or 0 */
    int pieces;     /* stack index of a table of the pieces of text */
    int n_pieces;
    int32_t *ids;   /* ids of the generated tokens */
    int64_t n;
};

/* Reads the prompt: a text, a table of ids, or nil.  An empty prompt becomes the token with which
 * texts begin by the model's or its tokenizer's settings. */
static void read_prompt(lua_State *L, struct generation *r)
{
    struct cr_lua_generator *g = r->g;
    int type = lua_type(L, 2);
    size_t length = 0;
    if (type == LUA_TSTRING)
        lua_tolstring(L, 2, &length);
    if (type == LUA_TSTRING && !g->tokenizer)
        cr_lua_fail(L, "generate: found a text, expected ids, or a generator with the option tokenizer");
    if (type == LUA_TTABLE)
        r->prompt = cr_lua_read_ids(L, 2);
    else if (type == LUA_TSTRING)
        r->prompt = cr_lua_encode(L, g->tokenizer, 2);
    else if (type != LUA_TNIL)
        cr_lua_fail(L, "generate: found %s, expected a text, or a table of ids",
                    luaL_typename(L, 2));
    if (!r->prompt.n && r->about.begin != CRESCENT_NONE) {
        r->prompt.items = cr_lua_scratch(L, 1, sizeof *r->prompt.items);
        r->prompt.items[0] = (int32_t)r->about.begin;
        r->prompt.n = 1;
    } else if (!r->prompt.n && g->tokenizer) {
        lua_pushliteral(L, "");
        r->prompt = cr_lua_encode(L, g->tokenizer, lua_gettop(L));
    }
    if (!r->prompt.n)
        cr_lua_fail(L,
                    "generate: no prompt, and no bos_token_id to begin with, expected one of them");
    if ((int64_t)r->prompt.n > r->about.context)
        cr_lua_fail(L, "generate: a prompt of %lld tokens, expected at most the %lld of the context",
                    (long long)r->prompt.n, (long long)r->about.context);
}

/* Reads the options in the table at index 3. */
static void read_options(lua_State *L, struct generation *r)
{
    static const char *const known[] = {"tokens", "temperature", "top_k",      "top_p",
                                        "seed",   "on_token",    "ignore_eos", NULL};
    cr_lua_check_options(L, 3, known, NULL);
    r->limit = cr_lua_integer_option(L, 3, "tokens", -1);
    r->sampling = (crescent_sampling){.temperature = cr_lua_number_option(L, 3, "temperature", 0),
                                      .top_k = cr_lua_integer_option(L, 3, "top_k", 0),
                                      .top_p = cr_lua_number_option(L, 3, "top_p", 0),
                                      .seed = cr_lua_integer_option(L, 3, "seed", 0)};
    r->ignore_eos = cr_lua_flag_option(L, 3, "ignore_eos", 0);
    if (r->sampling.top_p > 1)
        cr_lua_fail(L, "top_p %g: expected a number from 0 to 1", r->sampling.top_p);
    if (lua_isnoneornil(L, 3))
        return;
    lua_getfield(L, 3, "on_token");
    if (!lua_isnil(L, -1))
        r->callback = lua_gettop(L);
}

/* Keeps a piece of text and passes it to the callback; returns 0 if the callback returned false. */
static int take_piece(lua_State *L, struct generation *r, const char *text, size_t length,
                      int32_t id)
{
    int more = 1;
    lua_pushlstring(L, text, length);
    lua_pushvalue(L, -1);
    lua_rawseti(L, r->pieces, ++r->n_pieces);
    if (r->callback) {
        lua_pushvalue(L, r->callback);
        lua_insert(L, -2);
        if (id == CRESCENT_NONE)
            lua_pushnil(L);
        else
            lua_pushinteger(L, id);
        lua_call(L, 2, 1);
        more = lua_type(L, -1) != LUA_TBOOLEAN || lua_toboolean(L, -1);
    }
    lua_pop(L, 1);
    return more;
}

/* Takes the text that becomes complete with a token; "" if there is no tokenizer. */
static int take_token_text(lua_State *L, struct generation *r, int32_t id)
{
    const char *text = "";
    size_t length = 0;
    if (r->g->stream)
        cr_lua_pass(L, crescent_text_stream_add(r->g->stream, id, &text, &length));
    return take_piece(L, r, text, length, id);
}

/* Takes the rest of the text after the last token. */
static void take_rest(lua_State *L, struct generation *r)
{
    const char *text;
    size_t length = 0;
    if (r->g->stream && r->n)
        cr_lua_pass(L, crescent_text_stream_end(r->g->stream, &text, &length));
    if (length)
        take_piece(L, r, text, length, CRESCENT_NONE);
}

static int is_end(const struct generation *r, int32_t id)
{
    const struct cr_lua_generator *g = r->g;
    int n = g->tokenizer && !r->about.ends ? crescent_end_count(g->tokenizer) : 0;
    for (int i = 0; i < n; i++)
        if (crescent_end_at(g->tokenizer, i) == id)
            return 1;
    return crescent_generator_is_end(g->generator, id);
}

/* Begins a new text: feeds the prompt to the model, and to the text stream, since decoding
 * depends on earlier tokens. */
static void begin(lua_State *L, struct generation *r)
{
    struct cr_lua_generator *g = r->g;
    const char *text;
    size_t length;
    crescent_text_stream_close(g->stream);
    g->stream = NULL;
    g->texts++;
    cr_lua_pass(L, crescent_generator_reset(g->generator));
    if (g->tokenizer)
        cr_lua_pass(L, crescent_text_stream_open(g->tokenizer, CRESCENT_SPECIALS_NONE, &g->stream));
    for (size_t i = 0; g->stream && i < r->prompt.n; i++)
        cr_lua_pass(L, crescent_text_stream_add(g->stream, r->prompt.items[i], &text, &length));
    cr_lua_pass(L, crescent_generator_feed(g->generator, r->prompt.items, (int64_t)r->prompt.n, NULL));
}

/* Generates until a token ends the text, the limit is reached, or the callback returns false. */
static void generate_tokens(lua_State *L, struct generation *r)
{
    int ended = r->limit == 0;
    while (!ended) {
        int32_t *id = &r->ids[r->n];
        cr_lua_pass(L, crescent_generator_choose(r->g->generator, &r->sampling, id));
        r->n++;
        ended =
            !take_token_text(L, r, *id) || r->n == r->limit || (!r->ignore_eos && is_end(r, *id));
        if (!ended)
            cr_lua_pass(L, crescent_generator_feed(r->g->generator, id, 1, NULL));
    }
}

/* Reads the prompt at index 2 and the options at index 3; limits the number of tokens to the room
 * in the context. */
static void read_arguments(lua_State *L, struct generation *r)
{
    cr_lua_pass(L, crescent_generator_get_status(r->g->generator, &r->about));
    read_options(L, r);
    read_prompt(L, r);
    int64_t room = r->about.context - (int64_t)r->prompt.n + 1;
    if (r->limit < 0 || r->limit > room)
        r->limit = room;
}

/* The part of g:generate that runs in protected mode, so that an error does not leave the
 * generator busy. */
static int generate_protected(lua_State *L)
{
    struct generation *r = lua_touserdata(L, 4);
    read_arguments(L, r);
    r->ids = cr_lua_scratch(L, (size_t)r->limit, sizeof *r->ids);
    lua_newtable(L);
    r->pieces = lua_gettop(L);
    luaL_checkstack(L, 12, "crescent");
    begin(L, r);
    generate_tokens(L, r);
    take_rest(L, r);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= r->n_pieces; i++) {
        lua_rawgeti(L, r->pieces, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    cr_lua_push_ids(L, r->ids, (size_t)r->n);
    return 2;
}

/* g:generate(prompt, options): returns the generated text, and a table of its ids.  The prompt is
 * a text or a table of ids.  The option on_token(text, id) is called for each token with the text
 * that has become complete; if it returns false, the text ends. */
static int generate(lua_State *L)
{
    struct generation r = {.g = self(L)};
    if (r.g->busy)
        return luaL_error(L, "the generator is in use, expected one call at a time");
    lua_settop(L, 3);
    lua_pushcfunction(L, generate_protected);
    lua_insert(L, 1);
    lua_pushvalue(L, 2); /* keeps the generator alive during the call */
    lua_insert(L, 1);
    lua_pushlightuserdata(L, &r);
    r.g->busy = 1;
    int status = lua_pcall(L, 4, 2, 0);
    r.g->busy = 0;
    return status ? lua_error(L) : 2;
}

/* ---- an iterator ---- */

/* The state of an iterator over a generated text. */
struct walk {
    struct generation r;
    unsigned text; /* number of the iterator's text: cr_lua_generator.texts when it began */
    int32_t id;    /* the last token */
    int ended, over;
};

/* Returns the rest of the text, without an id, as the iterator's last piece; nothing if no text
 * is left. */
static int walk_end(lua_State *L, struct walk *w)
{
    const char *text;
    size_t length = 0;
    w->over = 1;
    if (w->r.g->stream && w->r.n)
        cr_lua_pass(L, crescent_text_stream_end(w->r.g->stream, &text, &length));
    if (!length)
        return 0;
    lua_pushlstring(L, text, length);
    return 1;
}

/* The iterator of g:each: returns the next piece of text and the id of its token.  Between calls
 * no function of this module is on the C stack, so the loop's body may yield.  A token is fed to
 * the model when the next one is requested. */
static int walk_on(lua_State *L)
{
    struct walk *w = lua_touserdata(L, lua_upvalueindex(1));
    struct cr_lua_generator *g = w->r.g;
    const char *text = "";
    size_t length = 0;
    if (w->over)
        return 0;
    if (!g->generator)
        return cr_lua_fail(L, "each: the generator is closed, expected an open one");
    if (g->busy || w->text != g->texts)
        return cr_lua_fail(L, "each: the generator has begun another text, expected one at a time");
    if (w->ended)
        return walk_end(L, w);
    w->over = 1; /* ends the iterator if a function below raises an error */
    if (w->r.n)
        cr_lua_pass(L, crescent_generator_feed(g->generator, &w->id, 1, NULL));
    cr_lua_pass(L, crescent_generator_choose(g->generator, &w->r.sampling, &w->id));
    w->r.n++;
    if (g->stream)
        cr_lua_pass(L, crescent_text_stream_add(g->stream, w->id, &text, &length));
    w->over = 0;
    w->ended = w->r.n == w->r.limit || (!w->r.ignore_eos && is_end(&w->r, w->id));
    lua_pushlstring(L, text, length);
    lua_pushinteger(L, w->id);
    return 2;
}

/* g:each(prompt, options): returns an iterator over the pieces of the generated text and the ids
 * of their tokens: for piece, id in g:each(prompt) do ... end. */
static int each(lua_State *L)
{
    struct cr_lua_generator *g = self(L);
    if (g->busy)
        return luaL_error(L, "the generator is in use, expected one call at a time");
    lua_settop(L, 3);
    struct walk *w = lua_newuserdata(L, sizeof *w); /* at index 4 */
    *w = (struct walk){.r = {.g = g}};
    read_arguments(L, &w->r);
    if (w->r.callback)
        return cr_lua_fail(L, "each: found the option on_token of generate, expected a loop over the pieces");
    begin(L, &w->r);
    w->text = g->texts;
    w->ended = w->r.limit == 0;
    w->r.prompt = (struct cr_lua_ids){0};
    lua_pushvalue(L, 4);
    lua_pushvalue(L, 1); /* keeps the generator alive */
    lua_pushcclosure(L, walk_on, 2);
    return 1;
}

/* ---- properties ---- */

static int report(lua_State *L)
{
    crescent_generator_status status;
    struct cr_lua_generator *g = self(L);
    cr_lua_pass(L, crescent_generator_get_status(g->generator, &status));
    cr_lua_push_report(L, crescent_generator_model(g->generator));
    cr_lua_set_integer(L, "context", status.context);
    cr_lua_set_integer(L, "used", status.used);
    cr_lua_set_integer(L, "vocabulary", status.vocabulary);
    return 1;
}

/* g:logits(): returns the logits after the last token, a tensor [vocabulary]; nil before the
 * first token. */
static int logits(lua_State *L)
{
    crescent_generator_status status;
    struct cr_lua_generator *g = self(L);
    const float *numbers = crescent_generator_logits(g->generator);
    cr_lua_pass(L, crescent_generator_get_status(g->generator, &status));
    crescent_port port = {.type = CRESCENT_F32, .rank = 1, .shape = {status.vocabulary}};
    if (!numbers) {
        lua_pushnil(L);
        return 1;
    }
    struct cr_lua_tensor *t = cr_lua_new_tensor(L, &port);
    memcpy(t->data, numbers, (size_t)status.vocabulary * sizeof *numbers);
    return 1;
}

void cr_lua_add_generators(lua_State *L)
{
    static const luaL_Reg methods[] = {{"generate", generate}, {"each", each},
                                       {"logits", logits},     {"report", report},
                                       {"close", close_generator}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {{"__gc", collect}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"generator", open_generator}, {"emit_generator", emit_generator}, {NULL, NULL}};
    static const struct cr_lua_class class = {class_name, methods, metamethods};
    cr_lua_add_class(L, &class);
    cr_lua_add_functions(L, functions);
}
