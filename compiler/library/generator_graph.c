/* generator_graph.c - makes the graph of a model that generates, from a script; see generator.h. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/weight_files.h"
#include "compiler/ir/incremental.h"
#include "compiler/json/config_file.h"
#include "generator.h"
#include "installed_files.h"

/* The most prompt tokens of one run.  Fewer if the logits of all of them are kept, to save
 * memory. */
enum { CHUNK = 512, CHUNK_OF_LOGITS = 128 };

/* Returns the node of an op with that name, or CR_NONE. */
static cr_id find_node(const struct cr_graph *g, enum cr_op op, const char *name)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == op && strcmp(g->nodes[id].name, name) == 0)
            return id;
    return CR_NONE;
}

/* True if the script's graph is incremental already: it has the state and the length of incremental
 * graphs. */
static bool goes_on(const struct cr_graph *g)
{
    return find_node(g, CR_OP_state, CR_AT) != CR_NONE && cr_find_length(g, CR_TOKENS) != CR_NONE;
}

/* Sets *tokens to the second size of the input ids: the number of tokens, or the bound of the
 * tokens' length. */
static int find_tokens(const crescent_graph *graph, int64_t *tokens, struct cr_error *error)
{
    const struct cr_graph *g = graph->graph;
    cr_id id = find_node(g, CR_OP_input, CR_IDS);
    if (id == CR_NONE || g->nodes[id].dtype != CR_I32 || g->nodes[id].rank != 2)
        return cr_fail(error, "%.400s: no input %s of whole numbers [texts, tokens], expected one of "
                              "a model that generates, as graphs/gpt2.lua and graphs/fables are",
                       graph->origin->path, CR_IDS);
    *tokens = g->nodes[id].shape[1];
    return 0;
}

/* ---- the number of positions ---- */

/* Returns the value of a script option as a positive number, or 0. */
static int64_t option_number(const struct cr_origin *o, const char *name)
{
    const char *text = cr_origin_option(o, name);
    char *end;
    int64_t value = text ? strtoll(text, &end, 10) : 0;
    return text && !*end && value > 0 ? value : 0;
}

/* True if the caller set the option `name` and did not merely give a default. */
static bool is_set(const struct cr_origin *o, const char *name)
{
    for (int i = 0; i < o->n_settings; i++)
        if (strcmp(o->settings[i].key, name) == 0 && !o->settings[i].optional)
            return true;
    return false;
}

/* The keys of a JSON file that are ignored. */
struct keys {
    const char *const *items;
    int n;
};

static bool has_key(const struct keys *keys, const char *name)
{
    for (int i = 0; i < keys->n; i++)
        if (strcmp(keys->items[i], name) == 0)
            return true;
    return false;
}

/* Reads the number of positions from a config.json; sets it to 0 if the file has none or is not
 * JSON. */
static int config_positions(const char *config, const struct keys *ignored, int64_t *positions,
                            struct cr_error *error)
{
    static const char *const names[] = {"n_positions", "max_position_embeddings", "n_ctx"};
    const char *dot = config ? strrchr(config, '.') : NULL;
    *positions = 0;
    for (int i = 0; i < 3 && !*positions && dot && strcmp(dot, ".json") == 0; i++) {
        int64_t value = 0;
        int n = 0;
        if (has_key(ignored, names[i]))
            continue;
        if (cr_config_integers(config, names[i], &value, 1, &n, error))
            return -1;
        if (n == 1 && value < 1)
            return cr_fail(error, "%.400s: %s: found %" PRId64 ", expected at least 1", config,
                           names[i], value);
        *positions = n == 1 ? value : 0;
    }
    return 0;
}

/* True if the script has an option rope_type with this value. */
static bool has_rope_type(const struct cr_origin *o, const char *type)
{
    const char *found = cr_origin_option(o, "rope_type");
    return found && strcmp(found, type) == 0;
}

/* Finds the number of positions that a model was trained for, in the script's options and in its
 * config.json; sets it to 0 if neither has it.  For LongRoPE it is the original number of
 * positions, since longer texts use other frequencies. */
static int model_positions(const struct cr_origin *o, int64_t *positions, struct cr_error *error)
{
    const struct keys ignored = {(const char *const *)o->ignored, o->n_ignored};
    *positions = has_rope_type(o, "longrope")
                     ? option_number(o, "rope_original_max_position_embeddings")
                     : 0;
    if (!*positions && config_positions(o->config, &ignored, positions, error))
        return -1;
    if (!*positions)
        *positions = option_number(o, "n_positions");
    if (!*positions)
        *positions = option_number(o, "max_position_embeddings");
    return 0;
}

/* Runs the script again with another value for an option, which the script must declare. */
static int set_option(crescent_context *context, crescent_graph **graph, const char *name,
                      int64_t value, struct cr_error *error)
{
    char text[32];
    const struct cr_origin *o = (*graph)->origin;
    crescent_graph *again;
    snprintf(text, sizeof text, "%" PRId64, value);
    if (!cr_origin_option(o, name))
        return cr_fail(error, "%.400s: found no option %s, expected one that can be %s", o->path,
                       name, text);
    if (cr_graph_again(context, o, &(struct cr_setting){name, text, false}, 1, &again))
        return -1;
    crescent_graph_close(*graph);
    *graph = again;
    return 0;
}

/* Fails because the script refused the number of positions that the caller asked for; the message
 * includes the script's reason. */
static int fail_positions(int64_t positions, struct cr_error *error)
{
    struct cr_error why = *error;
    return cr_fail(error, "context %" PRId64 ": %.900s", positions, why.text);
}

/* Runs the script again with the option `name` set to the number of positions; `asked`: the caller
 * asked for it. */
static int set_positions(crescent_context *context, crescent_graph **graph, const char *name,
                         int64_t positions, bool asked, struct cr_error *error)
{
    int status = set_option(context, graph, name, positions, error);
    return status && asked ? fail_positions(positions, error) : status;
}

/* ---- scripts that are incremental, and others ---- */

/* Uses a script that is incremental itself.  The script determines the number of positions, unless
 * it has an option `context`. */
static int take_as_it_is(crescent_context *context, const crescent_generation *generation,
                         struct cr_continuation *made, struct cr_error *error)
{
    int64_t positions = option_number(made->graph->origin, "context");
    int64_t chunk = option_number(made->graph->origin, "chunk");
    if ((generation->context && generation->context != positions &&
         set_positions(context, &made->graph, "context", generation->context, true, error)) ||
        (generation->chunk && chunk && generation->chunk != chunk &&
         set_option(context, &made->graph, "chunk", generation->chunk, error)) ||
        find_tokens(made->graph, &made->chunk, error))
        return -1;
    made->context = option_number(made->graph->origin, "context");
    if (!made->context)
        made->context = INT32_MAX;
    if (generation->chunk && generation->chunk < made->chunk)
        made->chunk = generation->chunk;
    return 0;
}

/* Fails for a context beyond max_position_embeddings if rotary frequencies are dynamic: then each
 * new token would change the frequencies of all tokens, but cached keys have the earlier
 * frequencies. */
static int check_positions(const struct cr_origin *o, int64_t context, struct cr_error *error)
{
    int64_t most = option_number(o, "max_position_embeddings");
    if (!has_rope_type(o, "dynamic") || !most || context <= most)
        return 0;
    return cr_fail(error, "context %" PRId64 ": with rope_type dynamic, the positions of all tokens change as a "
                          "text grows beyond max_position_embeddings, expected at most %" PRId64,
                   context, most);
}

/* If T is 1, runs the script again with T = 2.  The pass that makes graphs incremental finds the
 * token axis by its size, and other axes may have size 1, too. */
static int avoid_single(crescent_context *context, crescent_graph **graph, int64_t positions,
                        struct cr_error *error)
{
    if (positions > 1 || !cr_origin_option((*graph)->origin, "T"))
        return 0;
    return set_positions(context, graph, "T", 2, false, error);
}

/* Turns the graph of a whole text into one for incremental decoding, which reads tokens in chunks
 * and keeps keys and values in a cache.  The script's option T becomes the number of positions in
 * the cache. */
static int make_incremental(crescent_context *context, const crescent_generation *generation,
                            struct cr_continuation *made, struct cr_error *error)
{
    const struct cr_origin *first = made->graph->origin;
    int64_t wanted = generation->context;
    if (find_tokens(made->graph, &made->context, error) ||
        (!wanted && !is_set(first, "T") && model_positions(first, &wanted, error)))
        return -1;
    made->can_grow = !wanted && !is_set(first, "T");
    if (made->can_grow && generation->least > made->context)
        wanted = generation->least;
    if (wanted && wanted != made->context &&
        (set_positions(context, &made->graph, "T", wanted, generation->context > 0, error) ||
         find_tokens(made->graph, &made->context, error)))
        return -1;
    made->chunk = generation->chunk        ? generation->chunk
                  : generation->all_logits ? CHUNK_OF_LOGITS
                                           : CHUNK;
    if (made->chunk > made->context)
        made->chunk = made->context;
    if (check_positions(made->graph->origin, made->context, error) ||
        avoid_single(context, &made->graph, made->context, error))
        return -1;
    const crescent_incremental how = {made->chunk, !generation->all_logits};
    return crescent_graph_incremental(made->graph, &how);
}

/* True if a script that failed with the requested number of positions runs without it.  Does not
 * change the error. */
static bool runs_without(crescent_context *context, const char *path, const crescent_script *how,
                         struct cr_error *error)
{
    const struct cr_error kept = *error;
    crescent_graph *graph = NULL;
    bool runs = crescent_graph_open(context, path, how, &graph) == 0;
    crescent_graph_close(graph);
    *error = kept;
    return runs;
}

/* Runs the script of a folder with the number of positions `wanted` or, if that is 0, with the
 * number in config.json, so that the script need not run a second time. */
static int open_folder(crescent_context *context, const char *path, crescent_script *how,
                       int64_t wanted, crescent_graph **graph, struct cr_error *error)
{
    char text[32], *config = cr_path_in(path, "config.json");
    const crescent_script plain = *how;
    const struct keys ignored = {how->ignored, how->n_ignored};
    bool asked = wanted > 0;
    int status = wanted ? 0 : config_positions(config, &ignored, &wanted, error);
    free(config);
    if (status)
        return -1;
    snprintf(text, sizeof text, "%" PRId64, wanted);
    const crescent_setting T = {"T", text};
    if (wanted && !how->n_defaults) {
        how->defaults = &T;
        how->n_defaults = 1;
    }
    status = crescent_graph_open(context, path, how, graph);
    return status && asked && runs_without(context, path, &plain, error)
               ? fail_positions(wanted, error)
               : status;
}

/* Runs a script from a file, a folder or memory. */
static int open_script(crescent_context *context, const struct cr_script_text *script,
                       crescent_script *how, int64_t positions, crescent_graph **graph,
                       struct cr_error *error)
{
    if (script->text)
        return crescent_graph_open_text(context, script->path, script->text, script->length, how,
                                        graph);
    char *found = cr_find_installed(script->path);
    int status = cr_is_folder(found) ? open_folder(context, found, how, positions, graph, error)
                                     : crescent_graph_open(context, found, how, graph);
    free(found);
    return status;
}

int cr_continuation_open(crescent_context *context, const struct cr_script_text *script,
                         const crescent_script *how, const crescent_generation *generation,
                         struct cr_continuation *made, struct cr_error *error)
{
    crescent_script one = how ? *how : (crescent_script){0};
    if (!one.entry)
        one.entry = "";
    *made = (struct cr_continuation){0};
    if (open_script(context, script, &one, generation->context, &made->graph, error))
        return -1;
    int status = goes_on(made->graph->graph)
                     ? take_as_it_is(context, generation, made, error)
                     : make_incremental(context, generation, made, error);
    if (status) {
        crescent_graph_close(made->graph);
        made->graph = NULL;
    }
    return status;
}
