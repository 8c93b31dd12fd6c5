/* Options: what a script declares and --set overrides. */
#include "script_options.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "blame.h"
#include "compiler/ir/mem.h"
#include "language.h"
#include "script_state.h"

enum { MAX_OPTIONS = 256, MAX_CHOICES = 256, MAX_LIST = 400, MAX_TEXT = 1024 };

static const double MAX_WHOLE = 9007199254740992.0; /* 2^53 */

/* The setting of that name that was given last, or null. */
static const char *setting_of(const struct cr_run *run, const char *key)
{
    for (int i = run->n_settings - 1; i >= 0; i--)
        if (strcmp(run->settings[i].key, key) == 0)
            return run->settings[i].value;
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct cr_script_option *)a)->name,
                  ((const struct cr_script_option *)b)->name);
}

/* The option's name, if the key on top of the stack can be one. */
static const char *check_key(lua_State *L)
{
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    bool good = isalpha((unsigned char)*key) || *key == '_';
    for (const char *c = key; *c; c++)
        good = good && (isalnum((unsigned char)*c) || *c == '_');
    if (!good || strlen(key) > CR_NAME_MAX)
        cr_raise(L, "options: found a key that is no name, {name = default, ...} is expected");
    return key;
}

/* Takes the names of the options out of the table at index 1, in order. */
static void declare(lua_State *L, struct cr_run *run)
{
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        const char *key = check_key(L);
        if (run->n_options == MAX_OPTIONS)
            cr_raise(L, "options: more than %d", MAX_OPTIONS);
        struct cr_script_option *option = CR_PUSH(run->options, run->n_options, run->cap_options);
        *option = (struct cr_script_option){cr_strdup(key), NULL};
    }
    if (run->n_options > 0)
        qsort(run->options, (size_t)run->n_options, sizeof *run->options, by_name);
}

/* "B, T, n_embd" */
static void list_options(const struct cr_run *run, char *text, size_t size)
{
    size_t at = 0;
    *text = '\0';
    for (int i = 0; i < run->n_options && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", run->options[i].name);
}

/* Refuses a setting that is no option: it may be a typing error. */
static void check_known(lua_State *L, const struct cr_run *run)
{
    for (int i = 0; i < run->n_settings; i++) {
        struct cr_script_option key = {(char *)run->settings[i].key, NULL};
        if (run->settings[i].optional)
            continue;
        if (run->n_options &&
            bsearch(&key, run->options, (size_t)run->n_options, sizeof key, by_name))
            continue;
        char known[MAX_LIST];
        list_options(run, known, sizeof known);
        if (run->n_options)
            cr_raise(L, "unknown option '%.100s', the options are %s", key.name, known);
        cr_raise(L, "unknown option '%.100s', the script declares none", key.name);
    }
}

void cr_check_settings(lua_State *L, struct cr_run *run)
{
    if (!run->options_declared)
        check_known(L, run);
}

/* A finite number from all of a text. */
static bool parse_number(const char *text, double *value)
{
    char *end;
    if (isspace((unsigned char)*text) || *text == '\0')
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

static bool is_whole(double value)
{
    return fabs(value) <= MAX_WHOLE && value == floor(value);
}

static _Noreturn void misfit(lua_State *L, const char *name, const char *found,
                             const char *expected)
{
    cr_raise(L, "option %s: found '%.100s', expected %s", name, found, expected);
}

/* A number.  A whole default asks for a whole value, so that a width cannot be 2.5; a
 * whole value is an integer to any Lua, so that ".." makes the same text of it. */
static void push_number_option(lua_State *L, const char *name, double initial, bool whole,
                               const char *setting)
{
    double value = initial;
    if (setting && (!parse_number(setting, &value) || (whole && !is_whole(value))))
        misfit(L, name, setting, whole ? "a whole number" : "a number");
    if (is_whole(value))
        lua_pushinteger(L, (lua_Integer)value);
    else
        lua_pushnumber(L, value);
}

static void push_boolean_option(lua_State *L, const char *name, bool initial, const char *setting)
{
    if (setting && strcmp(setting, "true") != 0 && strcmp(setting, "false") != 0)
        misfit(L, name, setting, "true or false");
    lua_pushboolean(L, setting ? strcmp(setting, "true") == 0 : initial);
}

/* One of the strings of the list on top of the stack; the first is the default. */
static void push_choice_option(lua_State *L, const char *name, const char *setting)
{
    char list[MAX_LIST] = "";
    size_t at = 0;
    int choices = lua_gettop(L);
    size_t n = lua_rawlen(L, choices);
    if (n > MAX_CHOICES)
        cr_raise(L, "options: %s: %zu choices, at most %d are expected", name, n, MAX_CHOICES);
    for (int i = 1; i <= (int)n; i++) {
        lua_rawgeti(L, choices, i);
        char what[32];
        snprintf(what, sizeof what, "choice %d", i);
        const char *choice = cr_arg_string(L, -1, "options", what);
        if (strlen(choice) >= MAX_TEXT)
            cr_raise(L, "options: %s: a choice of %zu bytes", name, strlen(choice));
        if (setting ? strcmp(choice, setting) == 0 : i == 1)
            return;
        if (at < sizeof list)
            at +=
                (size_t)snprintf(list + at, sizeof list - at, "%s%s", i > 1 ? " or " : "", choice);
        lua_pop(L, 1);
    }
    if (n == 0)
        cr_raise(L, "options: %s: a default of an empty table", name);
    misfit(L, name, setting, list);
}

/* {number = 1}, a number that need not be whole, or a list of choices. */
static void push_table_option(lua_State *L, const char *name, const char *setting)
{
    lua_pushliteral(L, "number");
    lua_rawget(L, -2);
    bool number = lua_type(L, -1) == LUA_TNUMBER;
    double initial = lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (number)
        push_number_option(L, name, initial, false, setting);
    else
        push_choice_option(L, name, setting);
}

/* Pushes the option's value; its default is on top of the stack. */
static void push_value(lua_State *L, const char *name, const char *setting)
{
    int top = lua_gettop(L);
    if (setting && strlen(setting) >= MAX_TEXT)
        cr_raise(L, "option %s: a value of %zu bytes", name, strlen(setting));
    switch (lua_type(L, top)) {
    case LUA_TNUMBER:
        push_number_option(L, name, lua_tonumber(L, top), is_whole(lua_tonumber(L, top)), setting);
        break;
    case LUA_TBOOLEAN:
        push_boolean_option(L, name, lua_toboolean(L, top), setting);
        break;
    case LUA_TSTRING:
        if (lua_rawlen(L, top) >= MAX_TEXT)
            cr_raise(L, "options: %s: a default of %zu bytes", name, (size_t)lua_rawlen(L, top));
        lua_pushstring(L, setting ? setting : cr_arg_string(L, top, "options", name));
        break;
    case LUA_TTABLE:
        push_table_option(L, name, setting);
        break;
    default:
        cr_raise(L,
                 "options: %s: found %s as the default, a number, boolean or string is "
                 "expected",
                 name, cr_type_name(L, top));
    }
}

/* The value on top of the stack as text, the shortest that reads back. */
static char *value_text(lua_State *L)
{
    char text[40];
    if (lua_type(L, -1) == LUA_TSTRING)
        return cr_strdup(lua_tostring(L, -1));
    if (lua_isboolean(L, -1))
        return cr_strdup(lua_toboolean(L, -1) ? "true" : "false");
    double value = lua_tonumber(L, -1);
    int digits = 15;
    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17);
    return cr_strdup(text);
}

static int undeclared(lua_State *L)
{
    lua_settop(L, 2);
    cr_raise(L, "option '%.100s' is not declared",
             lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : cr_type_name(L, 2));
}

/* options{name = default, ...}: a table of their values */
int cr_lua_options(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "options", 1, 1);
    if (lua_type(L, 1) != LUA_TTABLE)
        cr_raise(L, "options: found %s, {name = default, ...} is expected", cr_type_name(L, 1));
    if (run->options_declared)
        cr_raise(L, "options: called twice, one table declares all");
    run->options_declared = true;
    declare(L, run);
    check_known(L, run);
    lua_newtable(L);
    for (int i = 0; i < run->n_options; i++) {
        struct cr_script_option *option = &run->options[i];
        lua_pushstring(L, option->name);
        lua_rawget(L, 1);
        push_value(L, option->name, setting_of(run, option->name));
        option->value = value_text(L);
        lua_setfield(L, 2, option->name);
        lua_settop(L, 2);
    }
    lua_newtable(L);
    lua_pushcfunction(L, undeclared);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, 2);
    return 1;
}
