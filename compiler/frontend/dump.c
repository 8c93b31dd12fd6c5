/* The statements of a printed graph (compiler/ir/print.c writes them) that say where
 * its nodes come from; the nodes themselves are made by the primitives. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "compiler/frontend/frontend.h"

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

/* graph(name): names the graph; returns a table to keep its nodes in */
static int set_graph(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "graph", 1, 1);
    const char *name = cr_arg_name(L, 1, "graph", "name");
    if (!is_identifier(name))
        cr_raise(L, "graph: name '%s', an identifier of C is expected", name);
    run->graph->name = cr_intern(run->graph, name);
    run->in_dump = true;
    run->at = (struct cr_where){cr_intern(run->graph, ""), 0, cr_intern(run->graph, ""), false};
    lua_newtable(L);
    return 1;
}

/* at(file, line, scope, backward): the origin of the nodes to come */
static int set_origin(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    cr_arg_count(L, "at", 3, 4);
    const char *file = cr_arg_string(L, 1, "at", "file");
    int64_t line = cr_arg_integer(L, 2, "at", "line");
    const char *scope = cr_arg_string(L, 3, "at", "scope");
    if (strlen(file) > CR_MAX_PATH)
        cr_raise(L, "at: a file's name of %zu bytes, at most %d are expected", strlen(file),
                 CR_MAX_PATH);
    for (const char *c = file; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            cr_raise(L, "at: the file's name holds a control character");
    if (*scope)
        cr_check_name(L, scope, "at", "scope");
    if (line < 0 || line > INT_MAX)
        cr_raise(L, "at: line %lld", (long long)line);
    if (!lua_isnoneornil(L, 4) && !lua_isboolean(L, 4))
        cr_raise(L, "at: backward is a %s, true or false is expected", luaL_typename(L, 4));
    run->in_dump = true;
    run->at = (struct cr_where){cr_intern(run->graph, file), (int)line,
                                cr_intern(run->graph, scope), lua_toboolean(L, 4)};
    cr_check_memory(L);
    return 0;
}

/* kernel(i): the kernel that computes the nodes to come; -1 for none */
static int set_kernel(lua_State *L)
{
    cr_arg_count(L, "kernel", 1, 1);
    int64_t kernel = cr_arg_integer(L, 1, "kernel", "number");
    if (kernel < CR_NONE || kernel > CR_MAX_NODES)
        cr_raise(L, "kernel: number %lld", (long long)kernel);
    cr_run_of(L)->kernel = (int)kernel;
    return 0;
}

void cr_add_dump_statements(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"graph", set_graph}, {"at", set_origin}, {"kernel", set_kernel}, {NULL, NULL}};
    cr_add_functions(L, functions);
}
