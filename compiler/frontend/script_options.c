/* script_options.c - the options that a script declares, with values from --set and from the file
 * of --config; see script_options.h. */
#include "script_options.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/nearest_name.h"
#include "compiler/ir/sort_order.h"
#include "language.h"
#include "readonly_tables.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"

enum { MAX_OPTIONS = 256, MAX_CHOICES = 256, MAX_LIST = 400, MAX_TEXT = 4096, MAX_NOTE = 1000 };

/* Special values of cr_config_value.option, which otherwise is the index of an option. */
enum { UNKNOWN = -1, IGNORED = -2 };

static const double MAX_WHOLE = 9007199254740992.0; /* 2^53 */

/* The value given for an option, and where it comes from. */
struct given {
    const char *text; /* null: no value is given, so the default applies */
    bool null;        /* the file has null, which stands for 0, false or "" */
    bool empty;       /* the file has an empty table, which stands for "" */
    const char *file; /* the file with the value; null: the value is a setting */
};

/* Returns the last setting of that name, or null. */
static const struct cr_setting *setting_of(const struct cr_run *run, const char *key)
{
    for (int i = run->n_settings - 1; i >= 0; i--)
        if (strcmp(run->settings[i].key, key) == 0)
            return &run->settings[i];
    return NULL;
}

/* Returns the value in the file of --config for an option, or null.  If several keys stand for
 * the option, the last one that is not null counts. */
static const struct cr_config_value *config_value_of(const struct cr_run *run, int option)
{
    const struct cr_config_value *none = NULL;
    for (int i = run->n_values - 1; i >= 0; i--)
        if (run->values[i].option == option && run->values[i].text)
            return &run->values[i];
        else if (run->values[i].option == option)
            none = &run->values[i];
    return none;
}

/* Returns the value given for an option.  Settings override the file of --config, which overrides
 * optional settings. */
static struct given given_for(const struct cr_run *run, int option)
{
    const struct cr_setting *setting = setting_of(run, run->options[option].name);
    const struct cr_config_value *value = config_value_of(run, option);
    if (value && (!setting || setting->optional))
        return (struct given){value->text ? value->text : "", !value->text && !value->empty,
                              value->empty, run->config};
    return (struct given){.text = setting ? setting->value : NULL};
}

/* Returns the option's name, which is the key on top of the stack; raises an error if the key is
 * not a valid name. */
static const char *check_key(lua_State *L)
{
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    bool good = isalpha((unsigned char)*key) || *key == '_';
    for (const char *c = key; *c; c++)
        good = good && (isalnum((unsigned char)*c) || *c == '_');
    if (!good || strlen(key) > CR_NAME_MAX)
        cr_raise(L, "options: found a key that is not a name, expected {name = default, ...}");
    return key;
}

/* Declares the options in the table at index 1, sorted by name. */
static void declare(lua_State *L, struct cr_run *run)
{
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        const char *key = check_key(L);
        if (run->n_options == MAX_OPTIONS)
            cr_raise(L, "options: too many options, expected at most %d", MAX_OPTIONS);
        struct cr_script_option *option = CR_PUSH(run->options, run->n_options, run->cap_options);
        *option = (struct cr_script_option){cr_strdup(key), NULL};
    }
    if (run->n_options > 0)
        qsort(run->options, (size_t)run->n_options, sizeof *run->options, cr_compare_strings);
}

/* Writes the names of all options: "B, T, n_embd". */
static void list_options(const struct cr_run *run, char *text, size_t size)
{
    size_t at = 0;
    *text = '\0';
    for (int i = 0; i < run->n_options && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", run->options[i].name);
}

/* Returns the index of the option with that name, or UNKNOWN. */
static int option_of(const struct cr_run *run, const char *name)
{
    struct cr_script_option key = {(char *)name, NULL}, *found = NULL;
    if (run->n_options)
        found = bsearch(&key, run->options, (size_t)run->n_options, sizeof key, cr_compare_strings);
    return found ? (int)(found - run->options) : UNKNOWN;
}

/* Looks up a key of the file of --config in the table at index `meanings`; if it is not there,
 * looks up the tables that contain the key: "a.b.c", then "a.b", then "a".  Returns the index of
 * an option, IGNORED or UNKNOWN. */
static int meaning_of(lua_State *L, const struct cr_run *run, int meanings, const char *key)
{
    int option = UNKNOWN;
    for (size_t size = strlen(key); option == UNKNOWN && size > 0; size--) {
        bool whole = key[size] == '\0';
        if (!whole && key[size] != '.')
            continue;
        cr_work(L, 1);
        lua_pushlstring(L, key, size);
        lua_rawget(L, meanings);
        if (whole && lua_type(L, -1) == LUA_TSTRING)
            option = option_of(run, lua_tostring(L, -1));
        else if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
            option = IGNORED;
        lua_pop(L, 1);
    }
    return option;
}

/* True if `ignored` is the key of a value or of a table that contains the value. */
static bool is_within(const struct cr_config_value *value, const char *ignored)
{
    size_t size = strlen(ignored);
    if (strncmp(value->key, ignored, size) != 0)
        return false;
    return value->key[size] == '\0' || size == value->top ||
           (size > value->top && value->key[size] == '.');
}

/* Marks the values whose keys the user wants to ignore; raises an error for a key that the file
 * does not contain. */
static void ignore_values(lua_State *L, struct cr_run *run)
{
    for (int i = 0; i < run->n_ignored; i++) {
        bool found = false;
        for (int j = 0; j < run->n_values; j++)
            if (is_within(&run->values[j], run->ignored[i])) {
                run->values[j].option = IGNORED;
                found = true;
            }
        cr_work(L, (size_t)run->n_values);
        if (!found && run->config)
            cr_raise_in(L, run->config, "--ignore-config %.100s: the file has no such key, "
                        "expected one of its keys", run->ignored[i]);
        if (!found)
            cr_raise(L, "--ignore-config %.100s: found no file of values, expected --config FILE "
                     "beside it", run->ignored[i]);
    }
}

/* Raises an error if two keys of the file stand for the same option but have different values. */
static void check_agreement(lua_State *L, const struct cr_run *run)
{
    for (int i = 0; i < run->n_values; i++) {
        const struct cr_config_value *value = &run->values[i], *last;
        if (value->option < 0 || !value->text)
            continue;
        last = config_value_of(run, value->option);
        if (strcmp(last->text, value->text) != 0)
            cr_raise_in(L, run->config, "%.100s %.100s: expected %.100s, as %.100s says",
                        value->key, value->text, last->text, last->key);
    }
}

/* Sets, for each value in the file of --config, the option that it sets; `meanings` is the stack
 * index of a table, or 0. */
static void resolve_config(lua_State *L, struct cr_run *run, int meanings)
{
    ignore_values(L, run);
    for (int i = 0; i < run->n_values; i++) {
        struct cr_config_value *value = &run->values[i];
        if (value->option == IGNORED)
            continue;
        value->option = option_of(run, value->key);
        if (value->option == UNKNOWN && meanings)
            value->option = meaning_of(L, run, meanings, value->key);
    }
    check_agreement(L, run);
}

/* Raises an error for a setting that names no option, since the name may be misspelt. */
static void check_known(lua_State *L, const struct cr_run *run)
{
    for (int i = 0; i < run->n_settings; i++) {
        const char *name = run->settings[i].key;
        if (run->settings[i].optional || option_of(run, name) != UNKNOWN)
            continue;
        char known[MAX_LIST];
        list_options(run, known, sizeof known);
        if (run->n_options)
            cr_raise(L, "unknown option '%.100s', expected one of %s", name, known);
        cr_raise(L, "unknown option '%.100s', expected none, as the script declares none", name);
    }
}

/* Writes ", did you mean NAME?" with the most similar name of an option, or "". */
static void suggest_option(const struct cr_run *run, const char *name, char *text, size_t size)
{
    const char *names[MAX_OPTIONS];
    for (int i = 0; i < run->n_options; i++)
        names[i] = run->options[i].name;
    cr_did_you_mean(text, size, name, names, run->n_options);
}

static _Noreturn void refuse_value(lua_State *L, const struct cr_run *run,
                                   const struct cr_config_value *value)
{
    char hint[300];
    suggest_option(run, value->key, hint, sizeof hint);
    if (!*hint)
        snprintf(hint, sizeof hint, ", expected --ignore-config %.*s if it may be ignored",
                 (int)(value->top < 100 ? value->top : 100), value->key);
    cr_raise_in(L, run->config, "%.100s %.100s: %.200s has no such option%s", value->key,
                value->text, run->path, hint);
}

/* Pushes a table of all values in the file of --config, as texts by their keys. */
static void push_values(lua_State *L, const struct cr_run *run)
{
    lua_newtable(L);
    for (int i = 0; i < run->n_values; i++) {
        cr_work(L, CR_WORK_OF_NEXT);
        lua_pushstring(L, run->values[i].text);
        cr_set_own_field(L, -2, run->values[i].key);
    }
}

/* Calls the function "*" of `meanings`, on top of the stack, for a value whose key stands for no
 * option; below it is the table of all values.  Returns true if the user should get a note about
 * the value. Raises an error if the function rejects the value. */
static bool is_accepted(lua_State *L, const struct cr_run *run, const struct cr_config_value *value)
{
    lua_pushvalue(L, -1);
    lua_pushstring(L, value->key);
    lua_pushstring(L, value->text);
    lua_pushvalue(L, -5);
    cr_call(L, 3, 1);
    if (!lua_isboolean(L, -1))
        refuse_value(L, run, value);
    bool note = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return note;
}

/* Adds the top-level key of a value to the list of keys in run->note, which contains *count
 * keys. */
static void add_to_note(struct cr_run *run, const struct cr_config_value *value, int *count)
{
    if (!run->note)
        run->note = cr_calloc(MAX_NOTE, 1);
    size_t at = strlen(run->note);
    int top = (int)value->top;
    if (*count == 0)
        at += (size_t)snprintf(run->note, MAX_NOTE / 2, "%.300s: passed over keys that %.150s does not "
                                                        "know: ", run->config, run->path);
    if (at + value->top + 20 > MAX_NOTE)
        snprintf(run->note + at, MAX_NOTE - at, at + 4 < MAX_NOTE ? ", ..." : "");
    else
        snprintf(run->note + at, MAX_NOTE - at, "%s%.*s", *count ? ", " : "", top, value->key);
    ++*count;
}

/* True if two values have the same top-level key. */
static bool share_top(const struct cr_config_value *a, const struct cr_config_value *b)
{
    return a->top == b->top && memcmp(a->key, b->key, a->top) == 0;
}

/* Raises an error for a value of the file that stands for no option, since the script may not be
 * the model that the file describes.  Exceptions are null, and values that the function "*" of
 * `meanings` accepts, perhaps with a note for the user.  `meanings` is the stack index of a
 * table, or 0. */
static void check_config(lua_State *L, struct cr_run *run, int meanings)
{
    const struct cr_config_value *noted = NULL;
    int count = 0;
    bool asks = false;
    if (meanings) {
        push_values(L, run);
        lua_pushliteral(L, "*");
        lua_rawget(L, meanings);
        asks = lua_isfunction(L, -1);
    }
    for (int i = 0; i < run->n_values; i++) {
        const struct cr_config_value *value = &run->values[i];
        if (!value->text || value->option != UNKNOWN)
            continue;
        if (!asks)
            refuse_value(L, run, value);
        if (is_accepted(L, run, value) && !(noted && share_top(noted, value))) {
            add_to_note(run, value, &count);
            noted = value;
        }
    }
    if (meanings)
        lua_pop(L, 2);
}

void cr_check_settings(lua_State *L, struct cr_run *run)
{
    if (run->options_declared)
        return;
    check_known(L, run);
    resolve_config(L, run, 0);
    check_config(L, run, 0);
}

/* Parses a text as a finite number; returns false unless the whole text is one. */
static bool parse_number(const char *text, double *value)
{
    char *end;
    if (isspace((unsigned char)*text) || *text == '\0')
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

bool cr_is_whole(double value)
{
    return fabs(value) <= MAX_WHOLE && value == floor(value);
}

static _Noreturn void misfit(lua_State *L, const char *name, struct given found,
                             const char *expected)
{
    if (found.file && (found.null || found.empty))
        cr_raise_in(L, found.file, "option %s: found %s, expected %s", name,
                    found.null ? "null" : "an empty table", expected);
    if (found.file)
        cr_raise_in(L, found.file, "option %s: found '%.100s', expected %s", name, found.text,
                    expected);
    cr_raise(L, "option %s: found '%.100s', expected %s", name, found.text, expected);
}

/* Pushes the number given for an option, or its default.  If `whole`, it must be whole: a width
 * cannot be 2.5.  A whole number is pushed as an integer, so that ".." gives the same text in
 * every release of Lua. */
static void push_number_option(lua_State *L, const char *name, double initial, bool whole,
                               struct given given)
{
    double value = given.null ? 0 : initial;
    if (given.text && !given.null &&
        (!parse_number(given.text, &value) || (whole && !cr_is_whole(value))))
        misfit(L, name, given, whole ? "a whole number" : "a number");
    if (cr_is_whole(value))
        lua_pushinteger(L, (lua_Integer)value);
    else
        lua_pushnumber(L, value);
}

/* The least and the largest value of an option. */
struct bounds {
    double least, most;
    bool null; /* true if the option may be null */
};

/* Returns the bounds of option `name` in the table at index `table`: {least, most, null = false},
 * or only the least value. */
static struct bounds bounds_of(lua_State *L, int table, const char *name)
{
    struct bounds bounds = {-INFINITY, INFINITY, true};
    lua_pushstring(L, name);
    lua_rawget(L, table);
    if (lua_istable(L, -1)) {
        cr_unseal(L, lua_gettop(L));
        for (int i = 1; i <= 2; i++) {
            lua_rawgeti(L, -1, i);
            if (lua_type(L, -1) == LUA_TNUMBER)
                *(i == 1 ? &bounds.least : &bounds.most) = lua_tonumber(L, -1);
            lua_pop(L, 1);
        }
        lua_pushliteral(L, "null");
        lua_rawget(L, -2);
        bounds.null = !lua_isboolean(L, -1) || lua_toboolean(L, -1);
        lua_pop(L, 1);
    } else if (lua_type(L, -1) == LUA_TNUMBER) {
        bounds.least = lua_tonumber(L, -1);
    }
    lua_pop(L, 1);
    return bounds;
}

/* Raises an error if the given number, on top of the stack, is outside the bounds in the table at
 * index `table`. Allows null, and a setting that equals the default: both mean that no value is
 * given. */
static void check_bounds(lua_State *L, int table, const char *name, double initial,
                         struct given given)
{
    char expected[60], number[40];
    double value = lua_tonumber(L, -1);
    struct bounds bounds = bounds_of(L, table, name);
    bool least = value < bounds.least || given.null;
    if (!given.text || (given.null && bounds.null) || (!given.file && value == initial))
        return;
    snprintf(expected, sizeof expected, "%s %s", least ? "at least" : "at most",
             cr_option_text(number, sizeof number, least ? bounds.least : bounds.most));
    if (given.null || value < bounds.least || value > bounds.most)
        misfit(L, name, given, expected);
}

static void push_boolean_option(lua_State *L, const char *name, bool initial, struct given given)
{
    if (given.text && !given.null && strcmp(given.text, "true") != 0 &&
        strcmp(given.text, "false") != 0)
        misfit(L, name, given, "true or false");
    lua_pushboolean(L, given.text ? strcmp(given.text, "true") == 0 : initial);
}

/* Converts the only choice of an option, on top of the stack, to a boolean if it is "true" or
 * "false": the script supports just this value. */
static void push_only_boolean(lua_State *L)
{
    const char *text = lua_tostring(L, -1);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        lua_pushboolean(L, strcmp(text, "true") == 0);
}

/* Pushes the value of an option that must be one of the strings in the list on top of the stack;
 * the first string is the default. */
static void push_choice_option(lua_State *L, const char *name, struct given given)
{
    char list[MAX_LIST] = "";
    size_t at = 0;
    int choices = lua_gettop(L);
    size_t n = lua_rawlen(L, choices);
    if (n > MAX_CHOICES)
        cr_raise(L, "options: %s: found %zu choices, expected at most %d", name, n, MAX_CHOICES);
    for (int i = 1; i <= (int)n; i++) {
        lua_rawgeti(L, choices, i);
        char what[32];
        snprintf(what, sizeof what, "choice %d", i);
        const char *choice = cr_arg_string(L, -1, "options", what);
        if (strlen(choice) >= MAX_TEXT)
            cr_raise(L, "options: %s: found a choice of %zu bytes, expected a shorter one", name,
                     strlen(choice));
        if (given.text && !given.null ? strcmp(choice, given.text) == 0 : i == 1) {
            if (n == 1)
                push_only_boolean(L);
            return;
        }
        if (at < sizeof list)
            at +=
                (size_t)snprintf(list + at, sizeof list - at, "%s%s", i > 1 ? " or " : "", choice);
        lua_pop(L, 1);
    }
    if (n == 0)
        cr_raise(L, "options: %s: found an empty table as the default, expected a list of choices "
                 "or {number = 1}", name);
    misfit(L, name, given, list);
}

/* Pushes the value of an option whose default is a table: {number = 1}, which need not be whole,
 * or a list of choices. */
static void push_table_option(lua_State *L, const char *name, struct given given)
{
    lua_pushliteral(L, "number");
    lua_rawget(L, -2);
    bool number = lua_type(L, -1) == LUA_TNUMBER;
    double initial = lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (number)
        push_number_option(L, name, initial, false, given);
    else
        push_choice_option(L, name, given);
}

/* True if the default at an index is a list with "" among its choices. */
static bool may_be_empty(lua_State *L, int index)
{
    bool may = false;
    int n = lua_type(L, index) == LUA_TTABLE ? (int)lua_rawlen(L, index) : 0;
    for (int i = 1; i <= n && !may; i++) {
        lua_rawgeti(L, index, i);
        may = lua_type(L, -1) == LUA_TSTRING && *lua_tostring(L, -1) == '\0';
        lua_pop(L, 1);
    }
    return may;
}

/* Pushes the value of an option; its default is on top of the stack. */
static void push_value(lua_State *L, const char *name, struct given given)
{
    int top = lua_gettop(L);
    if (given.empty && lua_type(L, top) != LUA_TSTRING && !may_be_empty(L, top))
        misfit(L, name, given, "one value");
    if (given.text && strlen(given.text) >= MAX_TEXT)
        cr_raise(L, "option %s: found a value of %zu bytes, expected a shorter one", name,
                 strlen(given.text));
    switch (lua_type(L, top)) {
    case LUA_TNUMBER:
        push_number_option(L, name, lua_tonumber(L, top), cr_is_whole(lua_tonumber(L, top)), given);
        break;
    case LUA_TBOOLEAN:
        push_boolean_option(L, name, lua_toboolean(L, top), given);
        break;
    case LUA_TSTRING:
        if (lua_rawlen(L, top) >= MAX_TEXT)
            cr_raise(L, "options: %s: found a default of %zu bytes, expected a shorter one", name,
                     (size_t)lua_rawlen(L, top));
        lua_pushstring(L, given.text ? given.text : cr_arg_string(L, top, "options", name));
        break;
    case LUA_TTABLE:
        push_table_option(L, name, given);
        break;
    default:
        cr_raise(L, "options: %s: found %s as the default, expected a number, boolean or string",
                 name, cr_type_name(L, top));
    }
}

const char *cr_option_text(char *text, size_t size, double value)
{
    int digits = 15;
    do
        snprintf(text, size, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17);
    return text;
}

/* Returns the value on top of the stack as text. */
static char *value_text(lua_State *L)
{
    char text[40];
    if (lua_type(L, -1) == LUA_TSTRING)
        return cr_strdup(lua_tostring(L, -1));
    if (lua_isboolean(L, -1))
        return cr_strdup(lua_toboolean(L, -1) ? "true" : "false");
    return cr_strdup(cr_option_text(text, sizeof text, lua_tonumber(L, -1)));
}

static int undeclared(lua_State *L)
{
    lua_settop(L, 2);
    cr_raise(L, "option '%.100s' is not declared, expected a name in the table of options()",
             lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : cr_type_name(L, 2));
}

bool cr_is_options(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return false;
    lua_pushliteral(L, "__index");
    lua_rawget(L, -2);
    bool is = lua_tocfunction(L, -1) == undeclared;
    lua_pop(L, 2);
    return is;
}

/* Raises an error unless an argument of `options` is nil or a table. */
static void check_table(lua_State *L, int argument, const char *expected)
{
    if (!lua_isnil(L, argument) && !lua_istable(L, argument))
        cr_raise(L, "options: found %s, expected a table %s", cr_type_name(L, argument),
                 expected);
}

/* options({name = default, ...} [, meanings [, bounds]]): returns a table of the options' values.
 * `meanings` maps keys of the file of --config: {key = "option"}, or {key = false} to ignore the
 * key; the function ["*"] is called for all other keys.  `bounds` limits numbers, also of keys
 * that are not options: {name = least}, or {name = {least, most, null = false}}. */
int cr_lua_options(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "options", 1, 3);
    lua_settop(L, 3);
    if (lua_type(L, 1) != LUA_TTABLE)
        cr_raise(L, "options: found %s, expected {name = default, ...}", cr_type_name(L, 1));
    check_table(L, 2, "{name = \"option\"}");
    check_table(L, 3, "{name = number}");
    if (run->options_declared)
        cr_raise(L, "options: found a second call, expected one table that declares all options");
    run->options_declared = true;
    declare(L, run);
    check_known(L, run);
    cr_unseal(L, 2);
    cr_unseal(L, 3);
    resolve_config(L, run, lua_istable(L, 2) ? 2 : 0);
    lua_newtable(L);
    for (int i = 0; i < run->n_options; i++) {
        struct cr_script_option *option = &run->options[i];
        lua_pushstring(L, option->name);
        lua_rawget(L, 1);
        double initial = lua_tonumber(L, -1);
        push_value(L, option->name, given_for(run, i));
        if (lua_istable(L, 3) && lua_type(L, -1) == LUA_TNUMBER)
            check_bounds(L, 3, option->name, initial, given_for(run, i));
        option->value = value_text(L);
        lua_setfield(L, 4, option->name);
        lua_settop(L, 4);
    }
    check_config(L, run, lua_istable(L, 2) ? 2 : 0);
    lua_newtable(L);
    lua_pushcfunction(L, undeclared);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, 4);
    return 1;
}
