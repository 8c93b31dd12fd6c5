/* script.c - runs a script and returns its graph; see script.h. */
#include "script.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "args.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"
#include "config.h"
#include "hosted.h"
#include "language.h"
#include "natural_order.h"
#include "printed_graph.h"
#include "sandbox.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_options.h"
#include "script_source.h"
#include "script_state.h"
#include "tensor.h"

/* Returns the length of a file's name without the ending .lua or .onnx. */
static size_t stem_length(const char *name)
{
    static const char *const ends[] = {".lua", ".onnx"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length > strlen(ends[i]) && strcmp(name + length - strlen(ends[i]), ends[i]) == 0)
            return length - strlen(ends[i]);
    return length;
}

/* Writes the name of the graph, an identifier: "gpt2_block" for "graphs/gpt2_block.lua". */
static void model_name(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const size_t length = stem_length(base);
    size_t at = 0;
    if (length == 0 || !isalpha((unsigned char)*base))
        at = (size_t)snprintf(name, size, "model_");
    for (size_t i = 0; i < length && at + 1 < size; i++)
        name[at++] = isalnum((unsigned char)base[i]) ? base[i] : '_';
    name[at] = '\0';
}

static char *folder_of(const char *path)
{
    char *folder = cr_strdup(path);
    char *slash = strrchr(folder, '/');
    *(slash ? slash + 1 : folder) = '\0';
    return folder;
}

/* ---- results of the script ---- */

static int by_entry_and_name(const void *a, const void *b)
{
    const struct cr_output *x = a, *y = b;
    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return cr_compare_names(x->name, y->name);
}

/* Adds the outputs in the table at index `table` to the last entry. */
static void take_outputs(lua_State *L, struct cr_graph *g, int table, const char *expected)
{
    int before = cr_n_results(g);
    lua_pushnil(L);
    while (lua_next(L, table)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            cr_raise(L, "the script returned an output without a name, expected %s", expected);
        const char *name = cr_arg_name(L, -2, "return", "output");
        if (!cr_is_tensor(L, -1))
            cr_raise(L, "the script returned output '%s' that is %s, expected a tensor", name,
                     cr_type_name(L, -1));
        cr_add_output(g, name, cr_tensor_at(L, -1));
        cr_check_memory(L);
        cr_work(L, CR_WORK_OF_NEXT);
        lua_pop(L, 1);
    }
    if (cr_n_results(g) == before)
        cr_raise(L, "the script returned no outputs, expected a table such as %s", expected);
}

/* Raises an error unless an entry's name can be part of an identifier in C; see identifiers.h. */
static void check_entry_name(lua_State *L, const char *name)
{
    size_t size = strlen(name);
    bool good = size > 0 && size <= CR_ENTRY_NAME && isalpha((unsigned char)*name);
    for (size_t i = 0; good && i < size; i++)
        good = isalnum((unsigned char)name[i]) || (name[i] == '_' && isalnum((unsigned char)name[i + 1]));
    if (!good)
        cr_raise(L, "the script returned entry '%.40s', expected a name of 1 to %d letters, "
                 "digits and single '_' between them", name, CR_ENTRY_NAME);
}

/* True if the table at index `table` contains tables, one for each entry; false if it contains
 * tensors.  Raises an error if it contains both. */
static bool holds_entries(lua_State *L, int table)
{
    int tables = 0, tensors = 0;
    lua_pushnil(L);
    while (lua_next(L, table)) {
        tables += lua_type(L, -1) == LUA_TTABLE;
        tensors += cr_is_tensor(L, -1);
        cr_work(L, CR_WORK_OF_NEXT);
        lua_pop(L, 1);
    }
    if (tables && tensors)
        cr_raise(L, "the script returned tensors beside tables, expected either outputs such as "
                 "{y = y} or entries such as {decode = {y = y}}");
    return tables > 0;
}

/* Lists the names of the entries, sorted; returns their number. */
static int take_names(lua_State *L, int table, const char *names[CR_MAX_ENTRIES])
{
    int n = 0;
    lua_pushnil(L);
    while (lua_next(L, table)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            cr_raise(L, "the script returned an entry without a name, {decode = {y = y}} is "
                        "expected");
        const char *name = cr_arg_string(L, -2, "return", "entry");
        check_entry_name(L, name);
        if (lua_type(L, -1) != LUA_TTABLE)
            cr_raise(L, "the script returned entry '%s' that is %s, expected a table of outputs",
                     name, cr_type_name(L, -1));
        if (n == CR_MAX_ENTRIES)
            cr_raise(L, "the script returned too many entries, expected at most %d",
                     CR_MAX_ENTRIES);
        int at = n++;
        for (; at > 0 && cr_compare_names(names[at - 1], name) > 0; at--)
            names[at] = names[at - 1];
        names[at] = name;
        for (int i = 0; i < n; i++)
            if (i != at && strcasecmp(names[i], name) == 0)
                cr_raise(L, "the script returned entries '%s' and '%s', expected names that "
                         "differ in more than upper and lower case", names[i], name);
        lua_pop(L, 1);
    }
    return n;
}

/* Adds the entries and outputs in the value that the script returned, at index `result`. */
static void take_result(lua_State *L, struct cr_run *run, int result)
{
    struct cr_graph *g = run->graph;
    const char *names[CR_MAX_ENTRIES];
    if (lua_type(L, result) != LUA_TTABLE)
        cr_raise(L, "the script returned %s, expected a table of outputs such as {y = y}",
                 cr_type_name(L, result));
    if (!holds_entries(L, result)) {
        take_outputs(L, g, result, "{y = y}");
    } else {
        int n = take_names(L, result, names);
        for (int i = 0; i < n; i++) {
            cr_add_entry(g, names[i]);
            lua_pushstring(L, names[i]);
            lua_rawget(L, result);
            take_outputs(L, g, lua_gettop(L), "{decode = {y = y}}");
            lua_pop(L, 1);
        }
    }
    qsort(g->outputs, (size_t)cr_n_results(g), sizeof *g->outputs, by_entry_and_name);
    for (cr_id id = 0; run->in_dump && id < g->n_nodes; id++)
        if (g->nodes[id].where.entry >= g->n_entries)
            cr_raise(L, "entry: number %d, expected one of the %d that the script returned",
                     g->nodes[id].where.entry, g->n_entries);
}

/* The part of a run that may raise a Lua error; it is called in protected mode. */
static int run_script(lua_State *L)
{
    struct cr_run *run = lua_touserdata(L, 1);
    if (run->hosted)
        cr_host_begin(L, run, 2);
    else if (run->filled)
        cr_forget_declared(L);
    else
        cr_sandbox_fill(L, run);
    run->filled = true;
    cr_read_config(L, run);
    if (!run->hosted)
        cr_load_script(L, run);
    cr_call(L, run->hosted, 1);
    cr_check_settings(L, run);
    cr_check_kernels(L, run);
    take_result(L, run, lua_gettop(L));
    cr_settle_replacements(L, run);
    cr_check_states(L, run);
    return 0;
}

/* Calls run_script in protected mode.  Before cr_sandbox_fill has bound the run to the state, the
 * only possible error is a lack of memory, for which Lua calls no message handler. */
static bool run_protected(lua_State *L, struct cr_run *run)
{
    lua_pushcfunction(L, cr_report);
    lua_pushcfunction(L, run_script);
    lua_pushlightuserdata(L, run);
    int status = lua_pcall(L, 1, 0, 1);
    if (status == 0)
        return true;
    if (status == LUA_ERRMEM) {
        char limit[128];
        snprintf(limit, sizeof limit, "the script takes more than %s, expected less", cr_limit_passed(run));
        cr_report_text(run, run->refused_at, limit);
    }
    const char *text = lua_tostring(L, -1);
    cr_report_text(run, (struct cr_line){NULL, 0},
                   text ? text : "the script failed without a message, expected error(\"TEXT\")");
    return false;
}

static void free_options(struct cr_script_option *options, int n)
{
    for (int i = 0; i < n; i++) {
        free(options[i].name);
        free(options[i].value);
    }
    free(options);
}

/* Frees everything except the results of a run.  A state whose memory is in run->heap is not
 * closed: no object of it has a finalizer. */
static void close_run(struct cr_run *run)
{
    if (run->L && !run->hosted && !run->heap.chunks)
        lua_close(run->L);
    cr_heap_free(&run->heap);
    for (int i = 0; i < run->n_chunks; i++)
        free(run->chunks[i].path);
    free(run->chunks);
    free(run->folder);
    cr_free_config(run);
}

/* Frees the graph, options and notes of a run that failed. */
static void discard_result(struct cr_run *run)
{
    free(run->note);
    free(run->tied);
    cr_graph_free(run->graph);
    free_options(run->options, run->n_options);
}

/* Raises the error of cr_throw as a Lua error, since a longjmp must not skip functions of the
 * host's Lua. */
static void raise_in_host(void *data)
{
    struct cr_run *run = data;
    run->reported = true;
    lua_pushstring(run->L, run->error->text);
    lua_error(run->L);
}

/* Calls the function on top of the host's stack and pops it.  If the call raises an error value
 * that is not a string, leaves that value on the stack. */
static bool run_in_host(struct cr_run *run)
{
    lua_State *L = run->L;
    int top = lua_gettop(L) - 1;
    struct cr_guard guard;
    if (!lua_checkstack(L, 8))
        return cr_fail(run->error, "%s: out of memory for the stack of Lua", run->path) == 0;
    lua_pushcfunction(L, cr_report);
    lua_insert(L, top + 1);
    lua_pushcfunction(L, run_script);
    lua_insert(L, top + 2);
    lua_pushlightuserdata(L, run);
    lua_insert(L, top + 3);
    cr_guard_enter(&guard, run->error);
    guard.raise = raise_in_host;
    guard.raised_with = run;
    int status = lua_pcall(L, 2, 0, top + 1);
    cr_guard_leave(&guard);
    run->L = L;
    cr_host_end(L);
    if (status == 0 || lua_type(L, -1) == LUA_TSTRING) {
        if (status && !run->reported)
            cr_fail(run->error, "%s: %s", run->path, lua_tostring(L, -1));
        lua_settop(L, top);
    } else {
        lua_replace(L, top + 1);
        lua_settop(L, top + 1);
        cr_fail(run->error,
                "%s: the script raised an error that is not a string, expected error(\"TEXT\")",
                run->path);
    }
    return status == 0;
}

/* Runs a script in the sandbox and fills run->graph and run->options.  Returns false and sets the
 * error on failure. */
static bool run_in_sandbox(struct cr_run *run)
{
    if (run->L)
        cr_start_limits(run);
    else if (!cr_sandbox_open(run)) {
        cr_fail(run->error, "%s: out of memory for Lua", run->path);
        return false;
    }
    if (!run->folder)
        run->folder = folder_of(run->path);
    return run_protected(run->L, run);
}

/* Returns an empty graph with a name made from the path. */
static struct cr_graph *new_graph(const char *path)
{
    char name[CR_NAME_MAX + 1];
    model_name(path, name, sizeof name);
    struct cr_graph *graph = cr_graph_new(name);
    graph->most_nodes = CR_MAX_NODES;
    return graph;
}

/* Sets the error and returns false if a value that replaces a state has an axis with a length:
 * the whole state must be known after each run. */
static bool replaced_whole(const struct cr_run *run)
{
    const struct cr_graph *g = run->graph;
    for (int i = cr_n_results(g); i < g->n_outputs; i++) {
        const struct cr_node *value = &g->nodes[g->outputs[i].id];
        for (int a = 0; a < value->rank; a++)
            if (value->lengths[a])
                return !cr_fail(run->error, "%.400s:%d: replace: axis %d of the value for state "
                                "%.100s is the length %s, expected a fixed size",
                                *value->where.file ? value->where.file : run->path,
                                value->where.line, a + 1, g->outputs[i].name,
                                g->lengths[value->lengths[a] - 1].name);
    }
    return true;
}

/* Runs the script, or the host's function, in the locale "C": Lua compares strings and prints
 * numbers by the rules of the locale. */
static bool run_in_plain_locale(struct cr_run *run)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    run->graph = new_graph(run->path);
    bool good = (run->hosted ? run_in_host(run) : run_in_sandbox(run)) && replaced_whole(run);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return good;
}

/* Runs a script, moves its results to *script or sets the error, and frees everything else. */
static int run_whole(struct cr_run *run, struct cr_script *script)
{
    bool good = run_in_plain_locale(run);
    close_run(run);
    if (good) {
        run->graph->most_nodes = 0;
        *script = (struct cr_script){run->graph, run->options, run->n_options, run->note, run->tied};
        return 0;
    }
    discard_result(run);
    return -1;
}

int cr_script_run(const struct cr_script_source *source, const struct cr_setting *settings,
                  int n_settings, struct cr_script *script, struct cr_error *error)
{
    struct cr_run run = {.path = source->path,
                         .text = source->text,
                         .length = source->length,
                         .config = source->config,
                         .builtin = source->builtin,
                         .quiet = source->quiet,
                         .ignored = source->ignored,
                         .n_ignored = source->n_ignored,
                         .error = error,
                         .settings = settings,
                         .n_settings = n_settings,
                         .limits = source->limits ? *source->limits : cr_default_limits,
                         .kernel = CR_NONE,
                         .last_kernel = CR_NONE};
    return run_whole(&run, script);
}

int cr_script_run_function(struct lua_State *L, const struct cr_script_source *source,
                           const struct cr_setting *settings, int n_settings,
                           struct cr_script *script, struct cr_error *error)
{
    struct cr_error own = {{0}}; /* separate from `error`: the function may call the library,
                                  * which sets that error */
    struct cr_run run = {.L = L,
                         .hosted = true,
                         .function = {.caller = run_script},
                         .path = source->path,
                         .config = source->config,
                         .ignored = source->ignored,
                         .n_ignored = source->n_ignored,
                         .error = &own,
                         .settings = settings,
                         .n_settings = n_settings,
                         .limits = {.memory = cr_default_limits.memory, .seconds = INFINITY},
                         .kernel = CR_NONE,
                         .last_kernel = CR_NONE};
    if (cr_find_run(L)) {
        lua_pop(L, 1);
        return cr_fail(error, "%s: found a graph that is built inside the function of another "
                       "one, expected one after the other", source->path);
    }
    int status = run_whole(&run, script);
    if (status)
        *error = own;
    return status;
}

/* ---- texts one after another ---- */

struct cr_script_session {
    const char *path;
    struct cr_run run;
};

/* Resets a session, so that its next text runs in a new Lua state. */
static void start_session(struct cr_script_session *session)
{
    session->run = (struct cr_run){.path = session->path,
                                   .builtin = true,
                                   .no_lines = true,
                                   .limits = cr_default_limits,
                                   .kernel = CR_NONE,
                                   .last_kernel = CR_NONE};
}

struct cr_script_session *cr_script_session_new(const char *path)
{
    struct cr_script_session *session = cr_calloc(1, sizeof *session);
    session->path = path;
    start_session(session);
    return session;
}

/* Runs a text.  The caller owns *script.  After a failure the next text runs in a new Lua state. */
int cr_script_session_run(struct cr_script_session *session, const char *text, size_t length,
                          struct cr_script *script, struct cr_error *error)
{
    struct cr_run *run = &session->run;
    run->text = text;
    run->length = length;
    run->error = error;
    run->instructions = 0;
    run->n_random = 0;
    if (!run_in_plain_locale(run)) {
        close_run(run);
        discard_result(run);
        start_session(session);
        return -1;
    }
    lua_settop(run->L, 0);
    *script = (struct cr_script){run->graph, run->options, run->n_options, run->note, run->tied};
    run->graph = NULL;
    run->options = NULL;
    run->n_options = run->cap_options = 0;
    run->note = run->tied = NULL;
    run->options_declared = false;
    return 0;
}

void cr_script_session_free(struct cr_script_session *session)
{
    if (session)
        close_run(&session->run);
    free(session);
}

void cr_script_free(struct cr_script *script)
{
    cr_graph_free(script->graph);
    free_options(script->options, script->n_options);
    free(script->note);
    free(script->tied);
    *script = (struct cr_script){0};
}
