/* open_options.c - reads options of the Lua module; see open_options.h. */
#include "open_options.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "compiler/library/lua_function.h"

/* ---- single options ---- */

/* Pushes the option `key` of the table at `index`; nil if there is no table.  Returns the type of
 * the pushed value. */
static int push_option(lua_State *L, int index, const char *key)
{
    if (lua_isnoneornil(L, index))
        lua_pushnil(L);
    else
        lua_getfield(L, index, key);
    return lua_type(L, -1);
}

static void wrong_type(lua_State *L, const char *key, const char *expected)
{
    cr_lua_fail(L, "option %s: found %s, expected %s", key, luaL_typename(L, -1), expected);
}

const char *cr_lua_string_option(lua_State *L, int index, const char *key)
{
    int type = push_option(L, index, key);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        wrong_type(L, key, "a string");
    const char *value = lua_tostring(L, -1);
    lua_pop(L, 1);
    return value;
}

double cr_lua_number_option(lua_State *L, int index, const char *key, double otherwise)
{
    int type = push_option(L, index, key);
    if (type != LUA_TNIL && type != LUA_TNUMBER)
        wrong_type(L, key, "a number");
    double value = type == LUA_TNIL ? otherwise : lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

int64_t cr_lua_integer_option(lua_State *L, int index, const char *key, int64_t otherwise)
{
    double value = cr_lua_number_option(L, index, key, (double)otherwise);
    if (!(fabs(value) <= 0x1p53) || value != floor(value))
        cr_lua_fail(L, "option %s: found %.17g, expected a whole number", key, value);
    return (int64_t)value;
}

int64_t cr_lua_cache_option(lua_State *L, int index)
{
    int64_t bytes = cr_lua_integer_option(L, index, "cache_weights", 0);
    if (bytes < 0)
        cr_lua_fail(L, "option cache_weights: found %lld, expected a number of bytes", (long long)bytes);
    return bytes;
}

int cr_lua_flag_option(lua_State *L, int index, const char *key, int otherwise)
{
    int type = push_option(L, index, key);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN)
        wrong_type(L, key, "true or false");
    int value = type == LUA_TNIL ? otherwise : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

static int holds(const char *const *list, const char *key)
{
    for (; list && *list; list++)
        if (strcmp(*list, key) == 0)
            return 1;
    return 0;
}

static int unknown_option(lua_State *L, const char *key, const char *const *known,
                          const char *const *more)
{
    char names[600] = "";
    size_t at = 0;
    for (int i = 0; i < 2; i++)
        for (const char *const *name = i ? more : known; name && *name && at < sizeof names; name++)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", *name);
    return cr_lua_fail(L, "option %.100s: not known, expected one of %s", key, names);
}

void cr_lua_check_options(lua_State *L, int index, const char *const *known,
                          const char *const *more)
{
    if (lua_isnoneornil(L, index))
        return;
    luaL_checktype(L, index, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, index)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "[1]";
        if (!holds(known, key) && !holds(more, key))
            unknown_option(L, key, known, more);
        lua_pop(L, 1);
    }
}

/* ---- lists ---- */

const char **cr_lua_strings(lua_State *L, int index, const char *what, int *n)
{
    index = cr_lua_absolute(L, index);
    int table = lua_type(L, index) == LUA_TTABLE;
    *n = lua_isnoneornil(L, index) ? 0 : table ? (int)lua_rawlen(L, index) : 1;
    const char **strings = cr_lua_scratch(L, (size_t)*n, sizeof *strings);
    for (int i = 0; i < *n; i++) {
        if (table)
            lua_rawgeti(L, index, i + 1);
        else
            lua_pushvalue(L, index);
        if (lua_type(L, -1) != LUA_TSTRING)
            cr_lua_fail(L, "%s: found %s, expected a string, or a table of strings", what,
                        luaL_typename(L, -1));
        strings[i] = lua_tostring(L, -1); /* the table keeps it alive */
        lua_pop(L, 1);
    }
    return strings;
}

static const char **strings_option(lua_State *L, int index, const char *key, int *n)
{
    push_option(L, index, key);
    return cr_lua_strings(L, -1, key, n);
}

/* ---- settings ---- */

/* Converts the value on top of the stack to text, as a value of --set. */
static void to_text(lua_State *L, const char *option, const char *key)
{
    char text[40];
    int type = lua_type(L, -1);
    double value = lua_tonumber(L, -1);
    if (type == LUA_TBOOLEAN) {
        snprintf(text, sizeof text, "%s", lua_toboolean(L, -1) ? "true" : "false");
    } else if (type == LUA_TNUMBER && value == floor(value) && fabs(value) < 0x1p53) {
        snprintf(text, sizeof text, "%.0f", value);
    } else if (type == LUA_TNUMBER) {
        snprintf(text, sizeof text, "%.15g", value);
        lua_pushstring(L, text);
        if (lua_tonumber(L, -1) != value)
            snprintf(text, sizeof text, "%.17g", value);
        lua_pop(L, 1);
    } else if (type == LUA_TSTRING) {
        return;
    } else {
        cr_lua_fail(L, "option %s: found %s for %.100s, expected a number, a string, true or false",
                    option, luaL_typename(L, -1), key);
    }
    lua_pop(L, 1);
    lua_pushstring(L, text);
}

/* Reads the settings in an option such as `set`; returns their number.  Leaves a table on the
 * stack, which keeps the texts alive. */
static int read_settings(lua_State *L, int index, const char *option, const crescent_setting **out)
{
    int n = 0;
    lua_newtable(L);
    int kept = lua_gettop(L);
    if (push_option(L, index, option) == LUA_TNIL)
        return 0;
    int set = lua_gettop(L);
    if (lua_type(L, set) != LUA_TTABLE)
        wrong_type(L, option, "a table such as {T = 8}");
    for (lua_pushnil(L); lua_next(L, set); lua_pop(L, 1))
        n++;
    crescent_setting *settings = cr_lua_scratch(L, (size_t)n, sizeof *settings);
    n = 0;
    lua_pushnil(L);
    while (lua_next(L, set)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            cr_lua_fail(L, "option %s: found a value without a name, expected {T = 8}", option);
        settings[n].key = lua_tostring(L, -2);
        to_text(L, option, settings[n].key);
        settings[n].value = lua_tostring(L, -1);
        lua_rawseti(L, kept, ++n);
    }
    *out = settings;
    return n;
}

/* ---- options to open a model ---- */

/* Returns the number of processors that this process may use. */
static int cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > 256 ? 256 : n;
}

/* Returns the backend that the option `backend` names; TinyCC if it is not given. */
static crescent_backend read_backend(lua_State *L, int index)
{
    char names[100] = "";
    size_t at = 0;
    const char *name = cr_lua_string_option(L, index, "backend");
    for (int i = 0; i < CRESCENT_BACKENDS; i++) {
        const char *known = crescent_backend_name((crescent_backend)i);
        if (name && strcmp(name, known) == 0)
            return (crescent_backend)i;
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", known);
    }
    if (name)
        cr_lua_fail(L, "backend %.60s: not known, expected one of %s", name, names);
    return CRESCENT_TCC;
}

/* Reads the compiler's configuration; the options have the same names as on the command line. */
static void read_config(lua_State *L, int index, crescent_config *config)
{
    int64_t threads = cr_lua_integer_option(L, index, "threads", cores());
    if (threads < 1 || threads > 256)
        cr_lua_fail(L, "threads %lld: expected 1 to 256", (long long)threads);
    config->backend = read_backend(L, index);
    config->threads = (int)threads;
    config->isa = cr_lua_string_option(L, index, "isa");
    config->format = cr_lua_string_option(L, index, "format");
    config->arithmetic = cr_lua_string_option(L, index, "arithmetic");
    config->target = cr_lua_string_option(L, index, "target");
    config->max_arena = cr_lua_integer_option(L, index, "max_arena", 0);
    config->skip = strings_option(L, index, "skip", &config->n_skip);
}

void cr_lua_read_open_options(lua_State *L, int index, const char *const *more,
                         struct cr_lua_open_options *o)
{
    static const char *const known[] = {
        "set",    "length",     "seed",    "entry",  "config", "backend",   "isa",
        "format", "arithmetic", "threads", "target", "skip",   "max_arena", "weights",
        "grads",  "cotangents", "taps",    "keep",   "script", "ignore_config", NULL};
    *o = (struct cr_lua_open_options){0};
    cr_lua_check_options(L, index, known, more);
    luaL_checkstack(L, 16, "crescent");
    o->seed = cr_lua_integer_option(L, index, "seed", 0);
    o->script.seed = o->seed;
    o->script.entry = cr_lua_string_option(L, index, "entry");
    o->script.script = cr_lua_string_option(L, index, "script");
    o->script.config = cr_lua_string_option(L, index, "config");
    o->script.ignored = strings_option(L, index, "ignore_config", &o->script.n_ignored);
    o->script.n_settings = read_settings(L, index, "set", &o->script.settings);
    o->script.n_lengths = read_settings(L, index, "length", &o->script.lengths);
    read_config(L, index, &o->config);
    o->weights = strings_option(L, index, "weights", &o->n_weights);
    if (o->n_weights && !o->config.format)
        o->config.format = "f32"; /* the given weights may have other formats than the model's own
                                   * file */
    o->cotangents = strings_option(L, index, "cotangents", &o->n_cotangents);
    o->taps = strings_option(L, index, "taps", &o->n_taps);
    o->grads = cr_lua_flag_option(L, index, "grads", o->n_cotangents > 0);
    o->keep = cr_lua_flag_option(L, index, "keep", -1);
}

void cr_lua_build_graph(lua_State *L, int index, const crescent_script *how, const char *name,
                        crescent_graph **graph)
{
    size_t length;
    crescent_context *context = cr_lua_context(L);
    if (lua_type(L, index) == LUA_TSTRING) {
        const char *text = lua_tolstring(L, index, &length);
        cr_lua_pass(L, crescent_graph_open_text(context, name, text, length, how, graph));
        return;
    }
    int top = lua_gettop(L);
    lua_pushvalue(L, index);
    int status = cr_graph_of_function(context, L, name, how, graph);
    if (status && lua_gettop(L) > top)
        lua_error(L);
    cr_lua_pass(L, status);
}

void cr_lua_fill_weights(lua_State *L, crescent_model *model, const char *const *paths, int n,
                         int64_t seed)
{
    const char *own = crescent_weights_path(model);
    if (n)
        cr_lua_pass(L, crescent_load_weights(model, paths, n, CRESCENT_ANY_TENSORS, NULL));
    else if (own)
        cr_lua_pass(L, crescent_load_weights(model, &own, 1, CRESCENT_ANY_TENSORS, NULL));
    else
        cr_lua_pass(L, crescent_draw_weights(model, seed));
}
