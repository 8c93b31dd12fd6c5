/* scope.c - scopes and taps: they name the parts of a model. */
#include "language.h"

#include <stdio.h>
#include <string.h>

#include "args.h"
#include "luaapi.h"
#include "node.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"
#include "tensor.h"

enum { MAX_SCOPES = 64 /* nested */ };

static const char taps_key; /* key of cr_push_kept_table: name of a tap -> number of its uses */

/* Joins a scope and a name, such as "h.0" and "attn", to the path "h.0.attn". */
static void join_path(lua_State *L, const char *scope, const char *name, char *path, size_t size,
                      const char *op)
{
    int n = snprintf(path, size, "%s%s%s", scope, *scope ? "." : "", name);
    if (n < 0 || (size_t)n >= size)
        cr_raise(L, "%s: the path '%.60s...' is too long, expected at most %d bytes", op, path,
                 CR_NAME_MAX);
}

/* Counts one more use of a tap's name; returns the number of earlier uses. */
static int count_tap(lua_State *L, const char *path)
{
    cr_push_kept_table(L, &taps_key);
    lua_getfield(L, -1, path);
    int before = (int)lua_tonumber(L, -1);
    lua_pop(L, 1);
    lua_pushnumber(L, before + 1);
    cr_set_own_field(L, -2, path);
    cr_work(L, 1);
    lua_pop(L, 1);
    return before;
}

/* Makes the name of a tap unique by a number: the second "a" becomes "a_2". */
static void make_unique(lua_State *L, char *path, size_t size)
{
    char base[CR_NAME_MAX + 1];
    snprintf(base, sizeof base, "%s", path);
    int before = count_tap(L, base);
    while (before > 0) {
        int n = snprintf(path, size, "%s_%d", base, before + 1);
        if (n < 0 || (size_t)n >= size)
            cr_raise(L, "tap: the path '%.60s...' is too long, expected at most %d bytes", path,
                     CR_NAME_MAX);
        if (count_tap(L, path) == 0)
            return;
        before = count_tap(L, base);
    }
}

/* Taps a node under a name.  A node has only one tap; for a second one, a reshape of the node to
 * the same shape is added, which is computed only if it is requested as an output. */
static void name_value(lua_State *L, cr_id id, char *path, size_t size)
{
    struct cr_graph *g = cr_run_of(L)->graph;
    if (g->nodes[id].tap && strcmp(g->nodes[id].tap, path) == 0)
        return;
    make_unique(L, path, size);
    if (g->nodes[id].tap) {
        struct cr_attr same = cr_attr_of(&g->nodes[id]);
        id = cr_add(L, CR_OP_reshape, 1, &id, &same);
    }
    g->nodes[id].tap = cr_intern(g, path);
    cr_check_memory(L);
}

/* Taps the tensors among a function's results, which are the stack's values from index `first`
 * on: under the scope's path, or path.1, path.2, ... if there are several. */
static void name_results(lua_State *L, int first, const char *scope)
{
    int last = lua_gettop(L), tensors = 0, number = 0;
    for (int i = first; i <= last; i++)
        tensors += cr_is_tensor(L, i);
    for (int i = first; i <= last; i++) {
        if (!cr_is_tensor(L, i))
            continue;
        char path[CR_NAME_MAX + 1], item[16];
        snprintf(item, sizeof item, "%d", ++number);
        if (tensors == 1)
            snprintf(path, sizeof path, "%s", scope);
        else
            join_path(L, scope, item, path, sizeof path, "scope");
        name_value(L, cr_tensor_at(L, i), path, sizeof path);
    }
}

/* Calls the function at index 2 with the arguments after it.  In a hosted run, where the host may
 * catch an error and continue, returns false with the error value on the stack. */
static bool call_within(lua_State *L, const struct cr_run *run)
{
    if (!run->hosted) {
        cr_call(L, lua_gettop(L) - 2, LUA_MULTRET);
        return true;
    }
    lua_pushcfunction(L, cr_report);
    lua_insert(L, 2);
    int status = lua_pcall(L, lua_gettop(L) - 3, LUA_MULTRET, 2);
    lua_remove(L, 2);
    return status == 0;
}

/* scope(name, f, ...): calls f(...) inside a scope; its results are tapped under the scope's
 * path */
static int run_in_scope(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    const char *name = cr_arg_name(L, 1, "scope", "name");
    if (!lua_isfunction(L, 2))
        cr_raise(L, "scope: found %s, expected a function", cr_type_name(L, 2));
    if (run->n_scopes == MAX_SCOPES)
        cr_raise(L, "scope: scopes are nested too deep, expected at most %d levels", MAX_SCOPES);
    size_t outer = strlen(run->scope);
    char path[CR_NAME_MAX + 1];
    join_path(L, run->scope, name, path, sizeof path, "scope");
    memcpy(run->scope, path, sizeof path);
    run->n_scopes++;
    int64_t outer_call = run->scope_call;
    run->scope_call = ++run->n_scope_calls;
    bool good = call_within(L, run);
    if (good)
        name_results(L, 2, path);
    run->n_scopes--;
    run->scope_call = outer_call;
    run->scope[outer] = '\0';
    return good ? lua_gettop(L) - 1 : lua_error(L);
}

/* tap(name, x): taps x under the scope's path and name, and returns x */
static int tap_value(lua_State *L)
{
    cr_arg_count(L, "tap", 2, 2);
    const char *name = cr_arg_name(L, 1, "tap", "name");
    cr_id id = cr_arg_tensor(L, 2, "tap");
    char path[CR_NAME_MAX + 1];
    join_path(L, cr_run_of(L)->scope, name, path, sizeof path, "tap");
    name_value(L, id, path, sizeof path);
    lua_settop(L, 2);
    return 1;
}

/* prefix(text): sets a text that is put before the names of all parameters declared later */
static int set_prefix(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "prefix", 1, 1);
    const char *text = cr_arg_string(L, 1, "prefix", "text");
    if (*text)
        cr_check_name(L, text, "prefix", "text");
    snprintf(run->prefix, sizeof run->prefix, "%s", text);
    return 0;
}

void cr_add_scopes(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"scope", run_in_scope}, {"tap", tap_value}, {"prefix", set_prefix}, {NULL, NULL}};
    cr_add_functions(L, functions);
}
