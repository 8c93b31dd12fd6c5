/*
 * config.c - reads the file given by --config: JSON if its name ends in .json, else a Lua text
 * that returns a table.  Values become texts like the values of --set.  The key of a value in a
 * nested table is "outer.inner"; lists of numbers and texts are joined by commas.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/sort_order.h"
#include "compiler/json/config_file.h"
#include "json_table.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_options.h"
#include "script_source.h"

enum { MAX_DEPTH = 32 };

/* Replaces the value on top of the stack, which is not a table, by its text; JSON's null becomes
 * nil. */
static void make_text(lua_State *L, const char *path, const char *key)
{
    char text[40];
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        return;
    case LUA_TBOOLEAN:
        lua_pushstring(L, lua_toboolean(L, -1) ? "true" : "false");
        break;
    case LUA_TNUMBER:
        lua_pushstring(L, cr_option_text(text, sizeof text, lua_tonumber(L, -1)));
        break;
    default:
        if (!cr_is_json_null(L, -1))
            cr_raise_in(L, path, "%s: found %s, expected a number, a string, true or false", key,
                        cr_type_name(L, -1));
        lua_pushnil(L);
    }
    lua_replace(L, -2);
}

/* Records the value on top of the stack under a key.  The value is a text, nil for null, or an
 * empty table. */
static void take_text(lua_State *L, struct cr_run *run, const char *key, size_t top)
{
    struct cr_config_value *value = CR_PUSH(run->values, run->n_values, run->cap_values);
    *value = (struct cr_config_value){
        .key = cr_strdup(key), .top = top ? top : strlen(key), .empty = lua_istable(L, -1)};
    value->text = lua_type(L, -1) == LUA_TSTRING ? cr_strdup(lua_tostring(L, -1)) : NULL;
}

/* True if the table on top of the stack is empty. */
static bool is_empty(lua_State *L)
{
    lua_pushnil(L);
    if (!lua_next(L, -2))
        return true;
    lua_pop(L, 2);
    return false;
}

/* True if the table on top of the stack is a list that contains no tables. */
static bool is_plain_list(lua_State *L)
{
    int n = (int)lua_rawlen(L, -1);
    bool plain = n > 0;
    for (int i = 1; plain && i <= n; i++) {
        lua_rawgeti(L, -1, i);
        plain = !lua_istable(L, -1);
        lua_pop(L, 1);
    }
    return plain;
}

/* Pushes the items of the list on top of the stack, joined by commas. */
static void push_joined(lua_State *L, const char *path, const char *key)
{
    int list = lua_gettop(L), n = (int)lua_rawlen(L, -1);
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            luaL_addchar(&buffer, ',');
        lua_rawgeti(L, list, i);
        if (cr_is_json_null(L, -1)) {
            lua_pop(L, 1);
            lua_pushliteral(L, "null");
        }
        make_text(L, path, key);
        luaL_addvalue(&buffer);
    }
    luaL_pushresult(&buffer);
}

/* Writes the full key of a value: for the table "rope_scaling" and the key "factor" below the top
 * of the stack, "rope_scaling.factor". */
static void join_key(lua_State *L, const char *path, const char *above, char *key, size_t size)
{
    char number[40];
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    if (!name)
        name = cr_option_text(number, sizeof number, lua_tonumber(L, -2));
    int length = snprintf(key, size, "%s%s%s", above, *above ? "." : "", name);
    if (length < 0 || (size_t)length >= size)
        cr_raise_in(L, path, 
                    "%.60s...: found a name that is too long, expected at most %d bytes", key,
                    (int)size - 1);
}

/* Records the values of the table on top of the stack, whose full key is `above`; its first `top`
 * bytes are the top-level key.  `above` is "" and `top` 0 for the table of the whole file. */
static void take_table(lua_State *L, struct cr_run *run, const char *above, size_t top, int depth)
{
    char key[CR_NAME_MAX + 1];
    luaL_checkstack(L, 8, "a table that is nested");
    if (depth > MAX_DEPTH)
        cr_raise_in(L, run->config, "%.60s: tables are nested too deep, expected fewer levels",
                    above);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        cr_work(L, CR_WORK_OF_NEXT);
        join_key(L, run->config, above, key, sizeof key);
        if (!lua_istable(L, -1)) {
            make_text(L, run->config, key);
            take_text(L, run, key, top);
        } else if (is_plain_list(L)) {
            push_joined(L, run->config, key);
            take_text(L, run, key, top);
            lua_pop(L, 1);
        } else if (is_empty(L)) {
            take_text(L, run, key, top);
        } else {
            take_table(L, run, key, top ? top : strlen(key), depth + 1);
        }
        lua_pop(L, 1);
    }
}

void cr_read_config(lua_State *L, struct cr_run *run)
{
    const char *dot = run->config ? strrchr(run->config, '.') : NULL;
    if (!run->config)
        return;
    if (dot && strcmp(dot, ".json") == 0) {
        struct cr_error error;
        run->document = cr_calloc(1, sizeof *run->document);
        if (cr_config_read(run->document, run->config, &error))
            cr_raise_error(L, &error);
        cr_push_json(L, run->document, 0);
    } else {
        cr_load_constants(L, run, run->config);
        cr_call(L, 0, 1);
    }
    if (!lua_istable(L, -1))
        cr_raise_in(L, run->config, "found %s, expected a table of values for options",
                    cr_type_name(L, -1));
    take_table(L, run, "", 0, 0);
    lua_settop(L, 1);
    if (run->n_values)
        qsort(run->values, (size_t)run->n_values, sizeof *run->values, cr_compare_strings);
}

void cr_free_config(struct cr_run *run)
{
    for (int i = 0; i < run->n_values; i++) {
        free(run->values[i].key);
        free(run->values[i].text);
    }
    free(run->values);
    if (run->document)
        cr_document_free(run->document);
    free(run->document);
}
