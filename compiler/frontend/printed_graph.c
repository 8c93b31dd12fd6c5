/* printed_graph.c - the statements of a printed graph (compiler/ir/print_graph.c) that set the
 * origins and kernels of nodes; the nodes themselves are added by the functions that scripts
 * call. */
#include "printed_graph.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "language.h"
#include "luaapi.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"

enum { MAX_PATH = 4096 /* maximum length of a file's name */ };

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

/* graph(name): sets the graph's name; returns a table to keep nodes in */
static int set_graph(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "graph", 1, 1);
    const char *name = cr_arg_name(L, 1, "graph", "name");
    if (!is_identifier(name))
        cr_raise(L, "graph: found the name '%s', expected an identifier of C", name);
    run->graph->name = cr_intern(run->graph, name);
    run->in_dump = true;
    run->at = (struct cr_where){.file = cr_intern(run->graph, ""),
                                .scope = cr_intern(run->graph, "")};
    lua_newtable(L);
    return 1;
}

/* at(file, line, scope, backward): sets the origin of all later nodes */
static int set_origin(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "at", 3, 4);
    const char *file = cr_arg_string(L, 1, "at", "file");
    int64_t line = cr_arg_integer(L, 2, "at", "line");
    const char *scope = cr_arg_string(L, 3, "at", "scope");
    if (strlen(file) > MAX_PATH)
        cr_raise(L, "at: found a file name of %zu bytes, expected at most %d", strlen(file),
                 MAX_PATH);
    for (const char *c = file; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            cr_raise(L, "at: found a control character in the name of a file, expected none");
    if (*scope)
        cr_check_name(L, scope, "at", "scope");
    if (line < 0 || line > INT_MAX)
        cr_raise(L, "at: found line %lld, expected 0 or more", (long long)line);
    if (!lua_isnoneornil(L, 4) && !lua_isboolean(L, 4))
        cr_raise(L, "at: found %s for `backward`, expected true or false", luaL_typename(L, 4));
    run->in_dump = true;
    run->at = (struct cr_where){.file = cr_intern(run->graph, file),
                                .scope = cr_intern(run->graph, scope),
                                .line = (int)line,
                                .entry = run->at.entry,
                                .backward = lua_toboolean(L, 4)};
    cr_check_memory(L);
    return 0;
}

/* entry(i): sets the entry, by its index, of all later nodes */
static int set_entry(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "entry", 1, 1);
    int64_t entry = cr_arg_integer(L, 1, "entry", "number");
    if (!run->in_dump)
        cr_raise(L, "entry: found outside of a printed graph, expected graph(name) before it");
    if (entry < 0 || entry >= CR_MAX_ENTRIES)
        cr_raise(L, "entry: found number %lld, expected 0 to %d", (long long)entry,
                 CR_MAX_ENTRIES - 1);
    run->at.entry = (int)entry;
    return 0;
}

/* ---- kernels ---- */

static const char kernels_key; /* key of cr_push_kept_table: number of a kernel that has a node ->
                                * true */

/* Records that a kernel has a node; records its line if its number is the largest so far. */
static void note_kernel(lua_State *L, int kernel)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_line inner;
    cr_push_kept_table(L, &kernels_key);
    lua_rawgeti(L, -1, kernel + 1);
    if (!lua_isnil(L, -1))
        cr_raise(L, "kernel: found number %d a second time, expected one node for each kernel",
                 kernel);
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
    lua_rawseti(L, -2, kernel + 1);
    lua_pop(L, 1);
    if (kernel < run->last_kernel)
        return;
    run->last_kernel = kernel;
    cr_find_lines(L, run, &run->last_kernel_line, &inner);
}

/* kernel(i): kernel number i computes the next node; kernel(-1): no kernel computes the later
 * nodes */
static int set_kernel(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "kernel", 1, 1);
    int64_t kernel = cr_arg_integer(L, 1, "kernel", "number");
    if (!run->in_dump)
        cr_raise(L, "kernel: found outside of a printed graph, expected graph(name) before it");
    if (kernel < CR_NONE || kernel > CR_MAX_NODES)
        cr_raise(L, "kernel: found number %lld, expected -1 to %d", (long long)kernel,
                 CR_MAX_NODES);
    if (kernel != CR_NONE)
        note_kernel(L, (int)kernel);
    run->kernel = (int)kernel;
    return 0;
}

/* Raises an error if the largest kernel number exceeds the number of possible kernels: each
 * computes a node, or one operand of a concat. */
void cr_check_kernels(lua_State *L, struct cr_run *run)
{
    char text[128];
    int most = run->graph->n_nodes + run->graph->n_operands;
    if (run->last_kernel < most)
        return;
    snprintf(text, sizeof text, "kernel: number %d, a graph of %d nodes has fewer kernels",
             run->last_kernel, run->graph->n_nodes);
    cr_raise_at(L, run->last_kernel_line, text);
}

void cr_add_dump_statements(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"graph", set_graph}, {"at", set_origin}, {"entry", set_entry}, {"kernel", set_kernel}, {NULL, NULL}};
    cr_add_functions(L, functions);
}
