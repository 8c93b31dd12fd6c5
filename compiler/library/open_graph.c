/* open_graph.c - runs a script to get its graph, and adds outputs to the graph; see crescent.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/make_program.h"
#include "compiler/exec/weight_files.h"
#include "compiler/files/mapping.h"
#include "compiler/frontend/builtin_modules.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/nearest_name.h"
#include "compare_files.h"
#include "family_script.h"
#include "file_formats.h"
#include "folder_model_type.h"
#include "gguf_model.h"
#include "handles.h"
#include "imported_model.h"
#include "installed_files.h"
#include "lua_function.h"
#include "model_path.h"
#include "token_table.h"

/* ---- the script ---- */

/* Fails if the seed is too large for the script's option `seed`. */
static int check_seed(const struct cr_origin *o, const char *text, struct cr_error *error)
{
    const char *value = cr_origin_option(o, "seed");
    if (o->seed <= INT32_MAX || !value || strcmp(value, text) != 0)
        return 0;
    return cr_fail(error,
                   "%.400s: --seed %s: too large for the option seed of the script, expected at "
                   "most %d",
                   o->path, text, INT32_MAX);
}

/* Runs the script or, if L is not null, the function on top of its stack.  If the script has an
 * option `seed`, it gets the seed unless a setting overrides it; seed 0 leaves the script's
 * default. */
static int run_script(struct cr_origin *o, struct lua_State *L, struct cr_script *script,
                      struct cr_error *error)
{
    char text[32];
    int n = o->seed != 0;
    struct cr_setting *settings = cr_calloc((size_t)(o->n_settings + n), sizeof *settings);
    snprintf(text, sizeof text, "%lld", (long long)o->seed);
    if (n)
        settings[0] = (struct cr_setting){"seed", text, true};
    for (int i = 0; i < o->n_settings; i++)
        settings[n + i] = o->settings[i];
    n += o->n_settings;
    const struct cr_script_source source = {.path = o->path,
                                            .text = o->text,
                                            .length = o->length,
                                            .config = o->config,
                                            .builtin = o->folder && o->text,
                                            .quiet = o->is_again,
                                            .ignored = (const char *const *)o->ignored,
                                            .n_ignored = o->n_ignored};
    int status = L ? cr_script_run_function(L, &source, settings, n, script, error)
                   : cr_script_run(&source, settings, n, script, error);
    free(settings);
    if (status)
        return -1;
    o->options = script->options; /* from now on the origin owns the options */
    o->n_options = script->n_options;
    script->options = NULL;
    script->n_options = 0;
    if (check_seed(o, text, error) == 0)
        return 0;
    cr_script_free(script);
    return -1;
}

/* Runs the script of an origin, which is taken over; or the function on top of the stack of L if
 * that is not null. */
static int open_graph(crescent_context *context, struct cr_origin *origin, struct lua_State *L,
                      crescent_graph **graph)
{
    struct cr_error *error = cr_error_of(context);
    struct cr_script script = {0};
    int64_t start = cr_clock();
    if ((!origin->text && !L && cr_check_script_path(origin->path, error)) ||
        run_script(origin, L, &script, error)) {
        cr_origin_release(origin);
        return -1;
    }
    if (!origin->is_again)
        cr_keep_note(context, script.note);
    if (!origin->is_again && !origin->imported) /* nodes of ONNX files often share weights, so that
                                                   is no mistake */
        cr_keep_note(context, script.tied);
    free(script.note);
    free(script.tied);
    script.note = script.tied = NULL;
    bool has_formats = origin->folder && cr_is_gguf(origin->folder);
    if ((origin->entry && cr_choose_entry(script.graph, origin->entry, origin->path, error)) ||
        (has_formats && cr_take_own_formats(script.graph, origin, error))) {
        cr_script_free(&script);
        cr_origin_release(origin);
        return -1;
    }
    crescent_graph *g = cr_calloc(1, sizeof *g);
    *g = (crescent_graph){.context = cr_refer(context),
                          .origin = origin,
                          .graph = script.graph,
                          .n_script_outputs = cr_n_results(script.graph),
                          .has_formats = has_formats,
                          .script_ns = cr_clock() - start};
    cr_index_ports(g);
    *graph = g;
    return 0;
}

/* Appends a copy of a setting. */
static void add_setting(struct cr_origin *o, const struct cr_setting *s)
{
    o->settings[o->n_settings++] =
        (struct cr_setting){cr_strdup(s->key), cr_strdup(s->value), s->optional};
}

static void free_settings(struct cr_origin *o)
{
    for (; o->n_settings > 0; o->n_settings--) {
        free((char *)o->settings[o->n_settings - 1].key);
        free((char *)o->settings[o->n_settings - 1].value);
    }
}

/* Appends settings.  If several have the same key, the last one counts. */
static void add_settings(struct cr_origin *o, const crescent_setting *settings, int n,
                         bool optional)
{
    for (int i = 0; i < n; i++)
        add_setting(o, &(struct cr_setting){settings[i].key, settings[i].value, optional});
}

static struct cr_origin *new_origin(const char *path, int64_t seed, int n_settings)
{
    struct cr_origin *o = cr_calloc(1, sizeof *o);
    o->references = 1;
    o->path = cr_strdup(path);
    o->seed = seed;
    o->settings = cr_calloc((size_t)n_settings, sizeof *o->settings);
    return o;
}

static int check_settings(const crescent_setting *settings, int n, const char *path,
                          struct cr_error *error)
{
    if (n < 0 || (n && !settings))
        return cr_fail(error, "%.400s: %d settings, expected an array of some, or none", path, n);
    for (int i = 0; i < n; i++)
        if (!settings[i].key || !settings[i].value)
            return cr_fail(error, "%.400s: setting %d is null, expected a key and a value", path,
                           i);
    return 0;
}

/* Checks the caller's seed, ignored keys and settings. */
static int check_script(const crescent_script *how, const char *path, struct cr_error *error)
{
    if (how->seed < 0)
        return cr_fail(error, "%.400s: the seed %lld, expected one from 0 on", path,
                       (long long)how->seed);
    for (int i = 0; i < how->n_ignored; i++)
        if (!how->ignored || !how->ignored[i] || !*how->ignored[i])
            return cr_fail(error, "%.400s: ignored key %d is null, expected a name", path, i);
    return check_settings(how->settings, how->n_settings, path, error) ||
                   check_settings(how->defaults, how->n_defaults, path, error) ||
                   check_settings(how->lengths, how->n_lengths, path, error)
               ? -1
               : 0;
}

/* Inserts settings before the caller's settings, which override them. */
static void put_settings_first(struct cr_origin *o, const crescent_setting *settings, int n)
{
    struct cr_setting *own = o->settings;
    int n_own = o->n_settings;
    o->settings = cr_calloc((size_t)(n + n_own), sizeof *own);
    o->n_settings = 0;
    add_settings(o, settings, n, false);
    memcpy(o->settings + o->n_settings, own, (size_t)n_own * sizeof *own);
    o->n_settings += n_own;
    free(own);
}

/* Opens a folder with a table of token vectors, without a network. */
static int take_table(struct cr_origin *o, const char *folder, const struct cr_token_table *table,
                      struct cr_error *error)
{
    char tokens[24], numbers[24];
    snprintf(tokens, sizeof tokens, "%lld", (long long)table->tokens);
    snprintf(numbers, sizeof numbers, "%lld", (long long)table->numbers);
    const crescent_setting settings[] = {{"table", table->name}, {"vocab_size", tokens}, {"hidden_size", numbers}};
    put_settings_first(o, settings, 3);
    o->family = cr_strdup(CR_TABLE_FAMILY);
    return cr_take_family(o, folder, NULL, error);
}

/* Opens a folder.  Its config.json determines the options and, unless the caller gives a script,
 * the script. */
static int take_folder(struct cr_origin *o, const char *folder, const char *script,
                       struct cr_error *error)
{
    struct cr_error none = {0};
    struct cr_token_table table;
    int found = script ? 0 : cr_find_token_table(&table, folder, error);
    if (found)
        return found < 0 ? -1 : take_table(o, folder, &table, error);
    o->family = cr_folder_model_type(folder, script ? &none : error);
    if ((!o->family && !script) || cr_take_family(o, folder, script, error))
        return -1;
    if (!o->config)
        o->config = cr_path_in(folder, "config.json");
    return 0;
}

/* Opens a GGUF file.  Its metadata determine the script and its options; the caller's settings
 * follow and override them. */
static int take_gguf(struct cr_origin *o, const char *path, const char *script,
                     struct cr_error *error)
{
    struct cr_gguf_model model;
    if (cr_gguf_model_read(&model, path, error))
        return -1;
    put_settings_first(o, model.settings, model.n_settings);
    o->family = cr_strdup(model.family);
    cr_gguf_model_free(&model);
    return cr_take_family(o, path, script, error);
}

/* Imports an ONNX file as a script.  The settings are the sizes of the file's symbols. */
static int take_onnx(struct cr_origin *o, const char *path, const crescent_script *how,
                     struct cr_error *error)
{
    if (cr_check_readable(path, error) ||
        !(o->imported = cr_imported_open(path, o->settings, o->n_settings, how, error)))
        return -1;
    cr_keep_text(o, o->imported->import.text, o->imported->import.length);
    o->folder = cr_strdup(path);
    free_settings(o); /* import has used the settings; the script has no options */
    return 0;
}

/* Sets up an origin whose path is a folder or a file with a whole model.  For a script does
 * nothing: it is read later. */
static int take_model(struct cr_origin *o, const char *path, const crescent_script *how,
                      struct cr_error *error)
{
    if (cr_is_onnx(path) && !how->script)
        return take_onnx(o, path, how, error);
    if (how->n_lengths)
        return cr_fail(error, "%.300s: --length %s: expected an ONNX file, as a script declares "
                       "its lengths itself", path,
                       cr_show(how->lengths[0].key, strlen(how->lengths[0].key)).text);
    if (cr_is_folder(path))
        return take_folder(o, path, how->script, error);
    if (cr_is_gguf(path))
        return take_gguf(o, path, how->script, error);
    if (how->script)
        return cr_fail(error, "%.300s: --script %.300s: expected a folder or a GGUF file before it, which "
                       "have no script of their own", path, how->script);
    return 0;
}

/* Returns the path of the file with values for options: config.json if `path` is a folder, else
 * `path`, which is taken over. */
static char *config_file(char *path)
{
    if (!cr_is_folder(path))
        return path;
    char *file = cr_path_in(path, "config.json");
    free(path);
    return file;
}

/* Copies the keys that are ignored in the file with values for options. */
static void ignore_keys(struct cr_origin *o, const char *const *keys, int n)
{
    o->ignored = cr_calloc((size_t)n, sizeof *o->ignored);
    for (; o->n_ignored < n; o->n_ignored++)
        o->ignored[o->n_ignored] = cr_strdup(keys[o->n_ignored]);
}

/* Makes an origin with copies of the caller's strings, as a validation runs the script again
 * later. */
static struct cr_origin *origin_of(const char *path, const crescent_script *how)
{
    struct cr_origin *o = new_origin(path, how->seed, how->n_defaults + how->n_settings);
    add_settings(o, how->defaults, how->n_defaults, true);
    add_settings(o, how->settings, how->n_settings, false);
    o->entry = how->entry ? cr_strdup(how->entry) : NULL;
    o->config = how->config ? config_file(cr_find_installed(how->config)) : NULL;
    ignore_keys(o, how->ignored, how->n_ignored);
    return o;
}

/* Fails if another rank has another model, or other values for the script's options. */
static int compare_ranks(const crescent_context *context, const struct cr_origin *o, struct cr_error *error)
{
    if (o->config && cr_compare_files(context, o->config, "settings", error))
        return -1;
    return o->folder && !context->is_compared ? cr_compare_files(context, o->folder, "contents", error) : 0;
}

/* Opens a graph from a script `text` or, if that is null, from `path`. */
static int open_origin(crescent_context *context, const char *path, const char *text, size_t length,
                       const crescent_script *script, crescent_graph **graph)
{
    static const crescent_script plain;
    const crescent_script *how = script ? script : &plain;
    if (check_script(how, path, cr_error_of(context)))
        return -1;
    struct cr_origin *o = origin_of(path, how);
    if (text)
        cr_keep_text(o, text, length);
    else if (take_model(o, path, how, cr_error_of(context)) || compare_ranks(context, o, cr_error_of(context))) {
        cr_origin_release(o);
        return -1;
    }
    return open_graph(context, o, NULL, graph);
}

int cr_graph_of_function(crescent_context *context, struct lua_State *L, const char *name,
                         const crescent_script *how, crescent_graph **graph)
{
    *graph = NULL;
    CR_ENTER(context);
    if (check_script(how, name, guard.error))
        return cr_done(&guard, -1);
    struct cr_origin *o = origin_of(name, how);
    o->is_function = true;
    return cr_done(&guard, open_graph(context, o, L, graph));
}

int cr_graph_again(crescent_context *context, const struct cr_origin *origin,
                   const struct cr_setting *more, int n, crescent_graph **graph)
{
    if (origin->is_function)
        return cr_fail(cr_error_of(context), "%.400s: the graph is made by a function, which is "
                       "called once, expected the graph of a script", origin->path);
    struct cr_origin *o = new_origin(origin->path, origin->seed, origin->n_settings + n);
    o->is_again = true;
    o->folder = origin->folder ? cr_strdup(origin->folder) : NULL;
    o->family = origin->family ? cr_strdup(origin->family) : NULL;
    for (int i = 0; i < origin->n_settings; i++)
        add_setting(o, &origin->settings[i]);
    for (int i = 0; i < n; i++)
        add_setting(o, &more[i]);
    o->imported = cr_imported_refer(origin->imported);
    o->entry = origin->entry ? cr_strdup(origin->entry) : NULL;
    o->config = origin->config ? cr_strdup(origin->config) : NULL;
    ignore_keys(o, (const char *const *)origin->ignored, origin->n_ignored);
    if (origin->text)
        cr_keep_text(o, origin->text, origin->length);
    return open_graph(context, o, NULL, graph);
}

int crescent_graph_open(crescent_context *context, const char *path, const crescent_script *how,
                        crescent_graph **graph)
{
    if (graph)
        *graph = NULL;
    CR_REQUIRE_CONTEXT(context, path && graph);
    CR_ENTER(context);
    char *found = cr_find_installed(path);
    int status = open_origin(context, found, NULL, 0, how, graph);
    free(found);
    return cr_done(&guard, status);
}

int crescent_graph_open_text(crescent_context *context, const char *name, const char *text,
                             size_t length, const crescent_script *how, crescent_graph **graph)
{
    if (graph)
        *graph = NULL;
    CR_REQUIRE_CONTEXT(context, name && text && graph);
    CR_ENTER(context);
    return cr_done(&guard, open_origin(context, name, text, length, how, graph));
}

/* Copies a graph.  The copy shares the origin, which never changes. */
int crescent_graph_copy(const crescent_graph *graph, crescent_graph **copy)
{
    if (copy)
        *copy = NULL;
    CR_REQUIRE(graph, copy);
    CR_ENTER(graph->context);
    crescent_graph *g = cr_calloc(1, sizeof *g);
    *g = *graph;
    g->graph = cr_graph_copy(graph->graph);
    g->params = g->inputs = g->states = NULL;
    cr_index_ports(g);
    cr_refer(g->context);
    cr_origin_refer(g->origin);
    *copy = g;
    return cr_done(&guard, 0);
}

void crescent_graph_close(crescent_graph *graph)
{
    if (!graph)
        return;
    cr_graph_free(graph->graph);
    free(graph->params);
    free(graph->inputs);
    free(graph->states);
    cr_origin_release(graph->origin);
    cr_release(graph->context);
    free(graph);
}

/* ---- properties ---- */

const char *crescent_graph_name(const crescent_graph *graph)
{
    return graph ? graph->graph->name : NULL;
}

crescent_context *crescent_graph_context(const crescent_graph *graph)
{
    return graph ? graph->context : NULL;
}

const char *crescent_graph_script(const crescent_graph *graph)
{
    return graph ? graph->origin->path : NULL;
}

const char *crescent_graph_folder(const crescent_graph *graph)
{
    return graph ? graph->origin->folder : NULL;
}

int64_t crescent_graph_time(const crescent_graph *graph)
{
    return graph ? graph->script_ns : 0;
}

int crescent_graph_option_count(const crescent_graph *graph)
{
    return graph ? graph->origin->n_options : 0;
}

int crescent_graph_option_at(const crescent_graph *graph, int index, crescent_setting *option)
{
    CR_REQUIRE(graph, option);
    const struct cr_origin *o = graph->origin;
    if (cr_check_index(o->path, "option", index, o->n_options, &graph->context->error))
        return CRESCENT_FAILED;
    *option = (crescent_setting){o->options[index].name, o->options[index].value};
    return CRESCENT_OK;
}

/* ---- the sources ---- */

/* Returns the contents of a file as a string, or null; the caller frees it. */
static char *read_text(const char *path)
{
    char error[200];
    struct cr_mapping mapping;
    if (cr_map_file(&mapping, path, error, sizeof error))
        return NULL;
    char *text = cr_calloc(mapping.size + 1, 1);
    memcpy(text, mapping.bytes, mapping.size);
    cr_unmap_file(&mapping);
    return text;
}

/* Returns the source of the built-in module with a path, or null; the caller frees it. */
static char *builtin_text(const char *path)
{
    const char *slash = strrchr(path, '/'), *found;
    char name[128];
    size_t size;
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    name[strcspn(name, ".")] = '\0';
    const char *text = cr_builtin_module(name, &found, &size);
    return text && strcmp(found, path) == 0 ? cr_strdup(text) : NULL;
}

/* Returns the source of a file that the script consists of.  Searches in memory, then on disk, then
 * among built-in modules. */
static char *source_of(const struct cr_origin *o, const char *file)
{
    if (o->text && strcmp(file, o->path) == 0)
        return cr_strdup(o->text);
    bool is_builtin = o->folder && o->text;
    char *text = is_builtin ? NULL : read_text(file);
    return text ? text : builtin_text(file);
}

int crescent_graph_source(const crescent_graph *graph, const char *file, char **text)
{
    if (text)
        *text = NULL;
    CR_REQUIRE(graph, file && text);
    CR_ENTER(graph->context);
    *text = source_of(graph->origin, file);
    return cr_done(&guard, 0);
}

/* ---- tapped values as outputs ---- */

/* Returns the node that the script tapped under a name, or CR_NONE. */
static cr_id find_tap(const struct cr_graph *g, const char *name)
{
    for (int i = g->n_nodes - 1; i >= 0; i--)
        if (g->nodes[i].tap && strcmp(g->nodes[i].tap, name) == 0)
            return i;
    return CR_NONE;
}

/* Lists the names of all values that can become outputs: by node the name of its tap or null, then
 * the outputs' names. */
static const char **output_names(const crescent_graph *graph)
{
    const struct cr_graph *g = graph->graph;
    const char **names = cr_calloc((size_t)(g->n_nodes + cr_n_results(g)), sizeof *names);
    for (int i = 0; i < g->n_nodes; i++)
        names[i] = g->nodes[i].tap;
    for (int i = 0; i < cr_n_results(g); i++)
        names[g->n_nodes + i] = cr_public_output(graph, i);
    return names;
}

/* Fails because there is no value `name`; suggests the value with the most similar name, or else
 * the first output. */
static int no_such_value(const crescent_graph *graph, const char *asked, const char *name,
                         struct cr_error *error)
{
    const struct cr_graph *g = graph->graph;
    const char **names = output_names(graph);
    char hint[256];
    cr_did_you_mean(hint, sizeof hint, name, names, g->n_nodes + cr_n_results(g));
    if (!hint[0])
        snprintf(hint, sizeof hint, ", the first output is %.100s",
                 cr_n_results(g) ? cr_public_output(graph, 0) : "none");
    free(names);
    return cr_fail(error, "%.400s: %s%s%.100s: no output or tapped value of that name%s",
                   graph->origin->path, asked ? asked : "", asked ? " " : "", name, hint);
}

static cr_id find_output(const crescent_graph *graph, const char *name)
{
    for (int i = 0; i < cr_n_results(graph->graph); i++)
        if (strcmp(cr_public_output(graph, i), name) == 0)
            return graph->graph->outputs[i].id;
    return CR_NONE;
}

cr_id cr_find_value(const crescent_graph *graph, const char *asked, const char *name,
                    struct cr_error *error)
{
    cr_id id = find_output(graph, name);
    if (id == CR_NONE)
        id = find_tap(graph->graph, name);
    if (id == CR_NONE)
        no_such_value(graph, asked, name, error);
    return id;
}

/* Adds a tapped value as the last output.  The graph must have a single, unnamed entry. */
static int tap(crescent_graph *graph, const char *name, const char *asked, struct cr_error *error)
{
    cr_id id = cr_find_value(graph, asked, name, error);
    if (id == CR_NONE)
        return -1;
    if (find_output(graph, name) != CR_NONE)
        return 0;
    if (*graph->graph->entries[0])
        return cr_fail(error, "%.400s: %s%s%.100s: a tapped value, expected --entry, too",
                       graph->origin->path, asked ? asked : "", asked ? " " : "", name);
    cr_add_output(graph->graph, name, id);
    return 0;
}

int crescent_graph_tap(crescent_graph *graph, const char *name, const char *asked)
{
    CR_REQUIRE(graph, name);
    CR_ENTER(graph->context);
    return cr_done(&guard, tap(graph, name, asked, guard.error));
}

const char *crescent_graph_tap_at(const crescent_graph *graph, int index)
{
    for (cr_id id = 0; graph && index >= 0 && id < graph->graph->n_nodes; id++)
        if (graph->graph->nodes[id].tap && index-- == 0)
            return graph->graph->nodes[id].tap;
    return NULL;
}
