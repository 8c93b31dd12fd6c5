/*
 * layer_options(name, given, declared [, declared ...]): returns the options of a layer: those
 * given, checked against the options that the layer declares, with defaults filled in.
 *
 * A declaration is a type, or {type, default}.  A type is one or more words separated by "|", as
 * in annotations of LuaLS: number, whole, size (a whole number from 1 on), boolean, string,
 * function, table, tensor, or a text in quotes.  A trailing "?" makes the option optional.
 */
#include "language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "compiler/ir/nearest_name.h"
#include "compiler/ir/sort_order.h"
#include "readonly_tables.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_options.h"
#include "script_state.h"
#include "tensor.h"

enum { NAME = 1, GIVEN, DECLARED, RESULT, MAX_OPTIONS = 64, MAX_TABLES = 16, MAX_TEXT = 400 };

/* A reader of a declared type's words, positioned at the word `at`. */
struct type {
    const char *at;
    size_t length; /* length of the word at `at` */
};

/* Moves to the next word; false at the end. */
static bool next_word(struct type *type)
{
    type->at += type->length;
    type->at += *type->at == '|';
    type->length = strcspn(type->at, "|?");
    return type->length > 0;
}

static bool is_word(const struct type *type, const char *word)
{
    return strlen(word) == type->length && strncmp(type->at, word, type->length) == 0;
}

static bool is_optional(const char *type)
{
    return type[strlen(type) - 1] == '?';
}

/* True if the value on top of the stack has the type that the current word names. */
static bool fits_word(lua_State *L, const struct type *type)
{
    double number = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0.5;
    size_t size = 0;
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
    if (*type->at == '\'')
        return text && size + 2 == type->length && memcmp(text, type->at + 1, size) == 0;
    if (is_word(type, "whole"))
        return cr_is_whole(number);
    if (is_word(type, "size"))
        return cr_is_whole(number) && number >= 1;
    if (is_word(type, "tensor"))
        return cr_is_tensor(L, -1);
    return is_word(type, luaL_typename(L, -1));
}

static bool fits(lua_State *L, const char *text)
{
    struct type type = {text, 0};
    while (next_word(&type))
        if (fits_word(L, &type))
            return true;
    return false;
}

/* Returns a description of the current word for messages; a quoted text describes itself.
 * Returns null if the word names no type. */
static const char *word_text(const struct type *type, int *length)
{
    static const char *const words[][2] = {
        {"number", "a number"},     {"whole", "a whole number"}, {"size", "a whole number from 1 on"},
        {"boolean", "true or false"}, {"string", "a string"},    {"function", "a function"},
        {"table", "a table"},       {"tensor", "a tensor"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (is_word(type, words[i][0])) {
            *length = (int)strlen(words[i][1]);
            return words[i][1];
        }
    }
    *length = (int)type->length;
    return *type->at == '\'' ? type->at : NULL;
}

/* Writes a declared type for messages: "a number or a tensor". */
static void type_text(const char *text, char *buf, size_t size)
{
    struct type type = {text, 0};
    size_t at = 0;
    int length;
    buf[0] = '\0';
    while (next_word(&type) && at < size) {
        const char *word = word_text(&type, &length);
        at += (size_t)snprintf(buf + at, size - at, "%s%.*s", at ? " or " : "", length, word);
    }
}

/* Raises an error at the script line that called the layer: "nn.layer_norm: ", then the text. */
static _Noreturn void fail_at_caller(lua_State *L, const char *text)
{
    char whole[2 * MAX_TEXT];
    snprintf(whole, sizeof whole, "%.100s: %s", lua_tostring(L, NAME), text);
    cr_raise_at(L, cr_caller_line(L, cr_run_of(L)), whole);
}

/* Pushes the type, then the default (or nil), of the declaration on top of the stack; returns the
 * type. */
static const char *push_declaration(lua_State *L, const char *name)
{
    if (lua_istable(L, -1)) {
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
    } else {
        lua_pushvalue(L, -1);
        lua_pushnil(L);
    }
    const char *type = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (!*type)
        cr_raise(L, "layer_options: %.100s: found %s, a type such as \"number\", or {\"number\", 1}, is "
                    "expected", name, cr_type_name(L, -2));
    struct type word = {type, 0};
    for (int length; next_word(&word);)
        if (!word_text(&word, &length))
            cr_raise(L, "layer_options: %.100s: found the type '%.*s', expected number, whole, "
                     "size, boolean, string, function, table, tensor or a text in quotes", name,
                     length, word.at);
    return type;
}

/* Raises an error because the value on top of the stack does not have the option's type. */
static _Noreturn void refuse_value(lua_State *L, const char *name, const char *type)
{
    char expected[MAX_TEXT / 2], text[MAX_TEXT], found[64];
    type_text(type, expected, sizeof expected);
    if (lua_type(L, -1) == LUA_TNUMBER)
        cr_option_text(found, sizeof found, lua_tonumber(L, -1));
    else if (lua_type(L, -1) == LUA_TSTRING)
        snprintf(found, sizeof found, "'%.60s'", lua_tostring(L, -1));
    else
        snprintf(found, sizeof found, "%s", cr_type_name(L, -1));
    if (lua_isnil(L, -1))
        snprintf(text, sizeof text, "%.100s is missing, expected %s", name, expected);
    else
        snprintf(text, sizeof text, "%.100s: found %s, expected %s", name, found, expected);
    fail_at_caller(L, text);
}

/* Puts the value of an option into the result.  For an optional option, false means that it is
 * left out, as in `mask = o.causal and mask`. */
static void take_option(lua_State *L, const char *name)
{
    int top = lua_gettop(L);
    lua_pushstring(L, name);
    lua_rawget(L, DECLARED);
    const char *type = push_declaration(L, name);
    bool can_be_none = is_optional(type) || !lua_isnil(L, -1);
    lua_pushstring(L, name);
    lua_rawget(L, GIVEN);
    if (!fits(L, type)) {
        if (lua_toboolean(L, -1) || !can_be_none)
            refuse_value(L, name, type);
        lua_pop(L, 1); /* pops the value: the default is below it */
    }
    lua_pushstring(L, name);
    lua_insert(L, -2);
    lua_rawset(L, RESULT);
    lua_settop(L, top);
}

/* Lists the names of the declared options, in sorted order; returns their number. */
static int declared_names(lua_State *L, const char *names[MAX_OPTIONS])
{
    int n = 0;
    lua_pushnil(L);
    while (lua_next(L, DECLARED)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            cr_raise(L,
                     "layer_options: found a key that is not a name, expected {name = type, ...}");
        if (n == MAX_OPTIONS)
            cr_raise(L, "layer_options: too many options, expected at most %d", MAX_OPTIONS);
        names[n++] = lua_tostring(L, -1);
    }
    if (n)
        qsort(names, (size_t)n, sizeof *names, cr_compare_strings);
    return n;
}

/* Returns the key on top of the stack as text if no option has that name, else null.  Returns ""
 * for a key that is not a string. */
static const char *unknown_key(lua_State *L)
{
    if (lua_type(L, -1) != LUA_TSTRING)
        return "";
    lua_pushvalue(L, -1);
    lua_rawget(L, DECLARED);
    bool known = !lua_isnil(L, -1);
    lua_pop(L, 1);
    return known ? NULL : lua_tostring(L, -1);
}

/* Writes ", the options are bias, eps", or "" if that is too long for `text`. */
static void list_names(char *text, size_t size, const char *const *names, int n)
{
    size_t at = (size_t)snprintf(text, size, ", expected one of ");
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", names[i]);
    if (at >= size)
        text[0] = '\0';
}

/* Raises an error for the first key of `given` that names no option; suggests a similar option. */
static void check_keys(lua_State *L, const char *const *names, int n)
{
    char text[MAX_TEXT], hint[300];
    const char *first = NULL;
    lua_pushnil(L);
    while (lua_next(L, GIVEN)) {
        lua_pop(L, 1);
        cr_work(L, CR_WORK_OF_NEXT);
        const char *key = unknown_key(L);
        if (key && (!first || strcmp(key, first) < 0))
            first = key;
    }
    if (first && !*first)
        fail_at_caller(L, "found an item without a name, expected {name = value, ...}");
    if (!first)
        return;
    cr_did_you_mean(hint, sizeof hint, first, names, n);
    if (!*hint)
        list_names(hint, sizeof hint, names, n);
    snprintf(text, sizeof text, "unknown option '%.60s'%s", first, hint);
    fail_at_caller(L, text);
}

/* Merges all declarations into one table at stack index DECLARED; later declarations override
 * earlier ones. */
static void merge_declared(lua_State *L)
{
    int top = lua_gettop(L);
    lua_newtable(L);
    for (int i = DECLARED; i <= top; i++) {
        if (!lua_istable(L, i))
            cr_raise(L, "layer_options: found %s, expected {name = type, ...}", cr_type_name(L, i));
        cr_unseal(L, i);
        lua_pushnil(L);
        while (lua_next(L, i)) {
            cr_work(L, CR_WORK_OF_NEXT);
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, top + 1);
        }
    }
    lua_replace(L, DECLARED);
    lua_settop(L, DECLARED);
}

static int no_value(lua_State *L)
{
    lua_pushnil(L);
    return 1;
}

/* Pushes an empty table for the result.  Its metatable lets is_whole_models recognise results. */
static void push_result(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushcfunction(L, no_value);
    lua_setfield(L, -2, "__index");
    cr_hide_metatable(L);
    lua_setmetatable(L, -2);
}

/* True if the table at an index may have more options than the layer declares: it was returned by
 * `options`, or by layer_options of an enclosing layer, and has the options of a whole model. */
static bool is_whole_models(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return false;
    lua_pushliteral(L, "__index");
    lua_rawget(L, -2);
    bool is = lua_tocfunction(L, -1) == no_value;
    lua_pop(L, 2);
    return is || cr_is_options(L, index);
}

/* The Lua function: checks the keys of `given`, then takes each declared option in sorted order. */
int cr_lua_layer_options(lua_State *L)
{
    char text[MAX_TEXT];
    const char *names[MAX_OPTIONS];
    cr_arg_count(L, "layer_options", 3, MAX_TABLES);
    cr_arg_string(L, NAME, "layer_options", "name");
    merge_declared(L);
    if (!lua_istable(L, GIVEN)) {
        snprintf(text, sizeof text, "found %s, expected a table of options",
                 cr_type_name(L, GIVEN));
        fail_at_caller(L, text);
    }
    cr_unseal(L, GIVEN);
    int n = declared_names(L, names);
    if (!is_whole_models(L, GIVEN))
        check_keys(L, names, n);
    push_result(L);
    for (int i = 0; i < n; i++)
        take_option(L, names[i]);
    return 1;
}
