/* emit.c - crescent emit: writes standalone C. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "model.h"
#include "report.h"
#include "verbs.h"

/* Writes the C file and the header, and prints a summary. */
static int emit(const crescent_graph *graph, const struct cr_options *o, struct cr_error *error)
{
    const crescent_config config = cr_config_of(o, CRESCENT_TCC);
    const char *path = o->out;
    int stem = (int)strlen(path) - 2;
    crescent_report r;
    if (cr_passed(o,
                  crescent_emit(graph, &config, o->train ? CRESCENT_EMIT_STEP : CRESCENT_EMIT_RUN,
                                path, &r),
                  error))
        return 2;
    cr_print(stdout, "Wrote %s and %.*s.h: %s, %d ops in %d kernel%s, %s parameters\n", path, stem,
             path, r.name, r.ops, r.n_kernels, r.n_kernels == 1 ? "" : "s",
             cr_thousands(cr_count_parameters(graph)).text);
    return 0;
}

/* ---- a model with a tokenizer ---- */

/* An option that is valid only together with --generate or --embed-text. */
struct given {
    const char *name;
    bool given, generates, embeds; /* given: the option is set; generates, embeds: it is valid
                                    * with --generate, with --embed-text */
};

/* Fails if an option is given without the --generate or --embed-text that it needs. */
static int check_beside(const struct cr_options *o, struct cr_error *error)
{
    const struct given options[] = {{"pack", o->pack != NULL, true, true},
                                    {"embed", o->embed, true, true},
                                    {"embed-array", o->embed_array, true, true},
                                    {"weights", o->weights.n > 0, true, true},
                                    {"ids", o->ids, true, false},
                                    {"tokenizer", o->tokenizer != NULL, true, false},
                                    {"context", o->context_size > 0, true, false},
                                    {"chunk", o->chunk > 0, true, false},
                                    {"max-length", o->max_length > 0, false, true},
                                    {"query", o->as_query, false, true},
                                    {"document", o->document, false, true},
                                    {"pooling", o->pooling != NULL, false, true},
                                    {"normalize", o->normalize, false, true}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const struct given *g = &options[i];
        if (g->given && !(g->generates && o->generate) && !(g->embeds && o->embed_text))
            return cr_fail(error, "--%s: expected --%s beside it", g->name, g->generates ? "generate" : "embed-text");
    }
    return 0;
}

/* Fails for options that contradict each other. */
static int check_plain(const struct cr_options *o, struct cr_error *error)
{
    const char *kind = o->generate ? "generate" : "embed-text";
    if (o->generate && o->embed_text)
        return cr_fail(error, "--embed-text: expected no --generate beside it");
    if (check_beside(o, error))
        return -1;
    if (!o->generate && !o->embed_text)
        return 0;
    if (o->train || o->grads)
        return cr_fail(error, "--%s: expected no --%s beside it", kind, o->train ? "train" : "grads");
    if (o->embed && o->embed_array)
        return cr_fail(error, "--embed-array: found --embed, too, expected one of them");
    if (o->ids && o->tokenizer)
        return cr_fail(error, "--tokenizer: found --ids, too, expected one of them");
    if (o->as_query && o->document)
        return cr_fail(error, "--query: found --document, too, expected one of them");
    if (o->weights.n && !o->pack && !o->embed && !o->embed_array)
        return cr_fail(error,
                       "--weights %.300s: found neither --pack nor --embed, expected one of them: "
                       "otherwise the emitted program reads the weights itself",
                       o->weights.items[0]);
    return 0;
}

/* Returns the path for the packed weights: the argument of --pack; with --embed, a path next to
 * the C file; null if neither is given. */
static char *packed_path(const struct cr_options *o)
{
    size_t stem = strlen(o->out) - 2;
    if (o->pack || !o->embed)
        return o->pack ? cr_strdup(o->pack) : NULL;
    char *path = cr_calloc(stem + sizeof ".weights", 1);
    snprintf(path, stem + sizeof ".weights", "%.*s.weights", (int)stem, o->out);
    return path;
}

/* Writes all files of a program with a tokenizer, and prints a summary. */
static int emit_with_text(const struct cr_options *o, const char *packed, struct cr_error *error)
{
    const crescent_config config = cr_config_of(o, CRESCENT_TCC);
    const crescent_generation generation = {.context = o->context_size, .chunk = o->chunk};
    const crescent_script script = cr_script_of(o);
    const crescent_generator_source what = {.tokenizer = o->tokenizer,
                                            .ids_only = o->ids,
                                            .pack = packed,
                                            .embed = o->embed         ? CRESCENT_EMBED_FILE
                                                     : o->embed_array ? CRESCENT_EMBED_ARRAY
                                                                      : CRESCENT_EMBED_NOT,
                                            .weights = o->weights.items,
                                            .n_weights = o->weights.n};
    const crescent_embedder_options options = {.pooling = o->pooling,
                                               .normalize = o->normalize,
                                               .most = o->max_length,
                                               .role = o->as_query ? "query" : o->document ? "document" : NULL};
    int stem = (int)strlen(o->out) - 2;
    crescent_report r;
    if (cr_passed(o,
                  o->generate ? crescent_emit_generator(o->context, o->model, &script, &config, &generation,
                                                        &what, o->out, &r)
                              : crescent_emit_embedder(o->context, o->model, &script, &config, &options,
                                                       &what, o->out, &r),
                  error))
        return 2;
    cr_print(stdout, "Wrote %s%s%s and %.*s.h: %d ops in %d kernel%s, %s bytes of weights\n",
             o->out, packed ? ", " : "", packed ? packed : "", stem, o->out, r.ops, r.n_kernels,
             r.n_kernels == 1 ? "" : "s", cr_thousands(r.weights_bytes).text);
    return 0;
}

/* ---- the verb ---- */

static int emit_graph(const struct cr_options *o, struct cr_error *error)
{
    crescent_graph *graph;
    if (cr_graph_load_entries(o, &graph, error))
        return 2;
    int status = emit(graph, o, error);
    crescent_graph_close(graph);
    return status;
}

/* Checks the options before it runs the script. */
int cr_verb_emit(const struct cr_options *o, struct cr_error *error)
{
    size_t length = o->out ? strlen(o->out) : 0;
    if (!o->out)
        return cr_fail(error, "%.400s: no -o, expected -o FILE.c", o->model), 2;
    if (length < 3 || strcmp(o->out + length - 2, ".c") != 0 || o->out[length - 3] == '/')
        return cr_fail(error, "-o %.400s: expected a name that ends in .c", o->out), 2;
    if (o->train && o->grads)
        return cr_fail(error, "--grads %.300s: found --train, too, expected one of them: a training "
                       "step has its own gradients",
                       o->grads),
               2;
    if (check_plain(o, error) || cr_grads_check_no_file(o, "emit", error))
        return 2;
    if (!o->generate && !o->embed_text)
        return emit_graph(o, error);
    char *packed = packed_path(o);
    int status = emit_with_text(o, packed, error);
    free(packed);
    return status;
}
