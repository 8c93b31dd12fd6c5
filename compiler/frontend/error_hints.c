/* error_hints.c - adds hints to error messages of scripts; see error_hints.h. */
#include "error_hints.h"

#include <stdio.h>
#include <string.h>

#include "builtin_modules.h"
#include "compiler/ir/nearest_name.h"

enum { MAX_FUNCTIONS = 200, MAX_NAME = 64 };

/* Copies the name that Lua quotes after `kind`: "attempt to call a nil value (field 'gelu')", or in
 * LuaJIT "attempt to call field 'gelu' (a nil value)".  Returns false for any other message. */
static bool name_of_nil(const char *message, const char *kind, char name[MAX_NAME])
{
    char begin[32];
    snprintf(begin, sizeof begin, "%s '", kind);
    const char *at = strstr(message, begin);
    if (strncmp(message, "attempt to ", 11) != 0 || !at || !strstr(message, "nil value"))
        return false;
    at += strlen(begin);
    snprintf(name, MAX_NAME, "%.*s", (int)strcspn(at, "'"), at);
    return true;
}

static bool is_call(const char *message)
{
    return strncmp(message, "attempt to call ", 16) == 0;
}

/* Returns a message that a library's function indexes or calls an argument which its caller left
 * out; null if `message` says something else. */
static const char *hint_at_local(const char *message, char *text, size_t size)
{
    char name[MAX_NAME];
    if (!name_of_nil(message, "local", name))
        return NULL;
    snprintf(text, size, "found no argument `%s`, expected a %s", name,
             is_call(message) ? "function" : "table");
    return text;
}

/* Returns the name of the first local variable that is nil in the innermost Lua function.  At the
 * function's beginning this is an argument that the caller left out. */
static const char *first_nil(lua_State *L)
{
    lua_Debug frame;
    const char *name = NULL;
    for (int level = 0; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "S", &frame);
        if (strcmp(frame.what, "Lua") != 0)
            continue;
        for (int i = 1; (name = lua_getlocal(L, &frame, i)); i++) {
            bool is = lua_isnil(L, -1);
            lua_pop(L, 1);
            if (is)
                break;
        }
        break;
    }
    return name;
}

/* Returns a message that a library's function passes nil to the language because its caller left
 * out an argument; null if `message` says something else. */
static const char *hint_at_nothing(lua_State *L, const char *message, char *text, size_t size)
{
    const char *name = strstr(message, "found nothing") ? first_nil(L) : NULL;
    if (!name)
        return NULL;
    snprintf(text, size, "%.400s, is the argument `%.64s` missing?", message, name);
    return text;
}

/* Returns a message that a called function exists in no module, with the most similar function of
 * graphs/lib; null if `message` says something else. */
static const char *hint_at_field(const char *message, char *text, size_t size)
{
    const char *names[MAX_FUNCTIONS];
    char name[MAX_NAME], buf[MAX_FUNCTIONS * 24];
    if (!is_call(message) || !name_of_nil(message, "field", name))
        return NULL;
    int n = cr_builtin_functions(buf, sizeof buf, names, MAX_FUNCTIONS);
    const char *hint = cr_nearest(name, names, n);
    const char *module = hint ? cr_builtin_module_with(hint) : NULL;
    snprintf(text, size, "found nothing in the field '%s', expected a function%s%s%s%s%s", name,
             hint ? ", did you mean " : "", hint ? module : "", hint ? "." : "", hint ? hint : "",
             hint ? "?" : "");
    return text;
}

static bool is_of_language(lua_State *L, const char *name)
{
    cr_push_kept(L, &cr_language_key);
    lua_pushstring(L, name);
    lua_rawget(L, -2);
    bool is = !lua_isnil(L, -1);
    lua_pop(L, 2);
    return is;
}

/* Returns a message that a nil global of a host's function is a name of the language or of a
 * module; null if it is not. */
static const char *hint_at_global(lua_State *L, const char *message, char *text, size_t size)
{
    char name[MAX_NAME];
    if (!name_of_nil(message, "global", name))
        return NULL;
    const char *module = cr_builtin_module_with(name);
    if (module)
        snprintf(text, size, "%.400s, did you mean %s.%s, of require \"%s\"?", message, module,
                 name, module);
    else if (is_of_language(L, name))
        snprintf(text, size, "%.400s, expected it as a field of the argument of the function that "
                 "builds the graph", message);
    else
        return NULL;
    return text;
}

const char *cr_hint(lua_State *L, const struct cr_run *run, const char *message, bool in_library,
                    char *text, size_t size)
{
    const char *hint = in_library ? hint_at_local(message, text, size) : NULL;
    if (!hint && in_library)
        hint = hint_at_nothing(L, message, text, size);
    if (!hint)
        hint = hint_at_field(message, text, size);
    if (!hint && run->hosted)
        hint = hint_at_global(L, message, text, size);
    return hint ? hint : message;
}
