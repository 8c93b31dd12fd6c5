/* emit_embedder.c - emits an encoder of texts as standalone C; see crescent.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/required_runtime.h"
#include "compiler/ir/mem.h"
#include "compiler/tokenizer/prompt_tokens.h"
#include "compiler/tokenizer/segments.h"
#include "emission.h"
#include "emit_writing.h"
#include "installed_files.h"
#include "model_path.h"
#include "sentence_transformers.h"

/* The state of emitting an encoder: the state of emitting any program, and its own additions. */
struct embedder_writing {
    struct cr_writing w;
    struct cr_sentence sentence;
    struct cr_encoder_ports ports;
    char *inner; /* the folder in which the model and the tokenizer are */
};

/* Sets up a reranking decoder whose config.json names its class, but whose folder has no
 * modules.json that describes a ranking.  If the tokenizer lacks tokens for "yes" and "no", the
 * program computes vectors, unless the caller asks for scores. */
static int read_yes_no_reranker(struct embedder_writing *e, const char *folder, bool *classifies,
                                struct cr_error *error)
{
    bool is_reranker = false;
    if (e->sentence.score || e->sentence.pools ||
        cr_is_yes_no_reranker(folder, &is_reranker, error))
        return e->sentence.score || e->sentence.pools ? 0 : -1;
    int yes = cr_token_id(e->w.tokenizer, "yes", 3), no = cr_token_id(e->w.tokenizer, "no", 2);
    if (!is_reranker || ((yes < 0 || no < 0) && !*classifies))
        return 0;
    *classifies = true;
    return cr_set_yes_no_reranker(&e->sentence, folder, yes, no, error);
}

/* Reads the labels if the program computes scores.  It does if the caller asks for scores, or if
 * the folder is that of a classifier or a reranking decoder and the caller does not ask for
 * vectors. */
static int read_classes(struct embedder_writing *e, const char *folder, const crescent_embedder_options *o,
                        struct cr_error *error)
{
    const bool vectors = o->pooling || o->normalize;
    bool classifies = o->classify != CRESCENT_NO_CLASSES;
    if (vectors && !classifies)
        return cr_check_vectors(&e->sentence, folder, error);
    if ((!classifies && cr_has_classes(&e->sentence, folder, &classifies, error)) ||
        read_yes_no_reranker(e, folder, &classifies, error) ||
        ((classifies || e->sentence.score) && cr_read_labels(&e->sentence, folder, error)))
        return -1;
    e->sentence.plain |= o->classify == CRESCENT_LOGITS;
    return 0;
}

/* Leaves the tokens of the prompt out of the pooling if the model's files ask for that. */
static int leave_out_prompt(struct embedder_writing *e, struct cr_error *error)
{
    struct cr_sentence *s = &e->sentence;
    int64_t tokens = 0;
    if (s->excludes_prompt && cr_count_prompt_tokens(e->w.tokenizer, s->prompt, s->max_length, &tokens, error))
        return -1;
    cr_leave_out_prompt(s, tokens);
    return 0;
}

/* Reads the settings in the files of the folder, and opens the tokenizer. */
static int read_folder(struct embedder_writing *e, const char *folder, const crescent_embedder_options *o,
                       struct cr_error *error)
{
    struct cr_sentence *s = &e->sentence;
    if (cr_read_sentence(s, folder, o->role, error))
        return -1;
    e->inner = cr_sentence_folder(s, folder);
    if (!(e->w.tokenizer = cr_tokenizer_open(e->inner, error)) || read_classes(e, folder, o, error))
        return -1;
    if (s->table)
        cr_add_no_special_ids(e->w.tokenizer);
    if (s->lower_case)
        cr_put_lowercase_first(&e->w.tokenizer->normalizers);
    if (!s->segments)
        cr_leave_out_segments(e->w.tokenizer);
    if (s->pad)
        s->pad_id = cr_token_id(e->w.tokenizer, s->pad, strlen(s->pad));
    if (o->pooling)
        cr_set_pooling(s, o->pooling);
    s->normalize |= o->normalize;
    e->w.generation.tokenizer = e->w.tokenizer;
    e->w.generation.tokenizer_path = e->inner;
    return cr_check_pooling(s, folder, error) ||
                   cr_limit_sentence(s, o->most, e->w.tokenizer->truncation.most, error) ||
                   leave_out_prompt(e, error)
               ? -1
               : 0;
}

/* Runs the script with the settings of the files, followed by the caller's settings. */
static int open_graph(struct embedder_writing *e, crescent_context *context, const char *folder,
                      const crescent_script *how)
{
    struct cr_sentence_settings of_files;
    const crescent_script script = cr_sentence_script(&of_files, &e->sentence, how);
    int status = crescent_graph_open(context, folder, &script, &e->w.made.graph);
    free((void *)script.settings);
    return status;
}

/* Copies the parts of a reranking decoder's prompt to the description of the ports. */
static void set_prompt_parts(struct cr_encoder_ports *ports, const struct cr_ranking_prompt *asked)
{
    ports->prompt_parts =
        asked->n ? cr_calloc((size_t)asked->n, sizeof *ports->prompt_parts) : NULL;
    ports->n_prompt_parts = asked->n;
    for (int i = 0; i < asked->n; i++)
        ports->prompt_parts[i] = (struct cr_emitted_prompt_part){
            asked->parts[i].text, asked->parts[i].kind == CR_PROMPT_DOCUMENT};
}

/* Finds the inputs, and lowers the limit to the tokens that they have room for.  Fails unless the
 * program computes one vector from ids. */
static int find_ports(struct embedder_writing *e, int64_t asked, struct cr_error *error)
{
    const struct cr_program *p = e->w.program;
    struct cr_encoder_ports *ports = &e->ports;
    *ports = (struct cr_encoder_ports){.ids = -1, .types = -1, .n = -1,
                                       .prompt = e->sentence.prompt ? e->sentence.prompt : "",
                                       .labels = e->sentence.labels, .n_labels = e->sentence.n_labels,
                                       .sigmoid = e->sentence.sigmoid, .plain = e->sentence.plain};
    set_prompt_parts(ports, &e->sentence.template);
    int found = 0;
    for (int i = 0; i < p->n_inputs; i++) {
        int *port = strcmp(p->inputs[i].name, "ids") == 0              ? &ports->ids
                    : strcmp(p->inputs[i].name, "token_type_ids") == 0 ? &ports->types
                    : strcmp(p->inputs[i].name, "T") == 0              ? &ports->n
                                                                       : NULL;
        if (!port)
            return cr_fail(error, "found the input %s, expected a model of ids and token_type_ids",
                           p->inputs[i].name);
        *port = i;
        found++;
    }
    if (ports->ids < 0 || ports->n < 0 || p->n_outputs != 1 || p->outputs[0].rank != 1)
        return cr_fail(error, "found %d inputs and %d outputs, expected a model of ids and T with the option pooling",
                       found, p->n_outputs);
    const struct cr_port *ids = &p->inputs[ports->ids];
    if (cr_lower_sentence_limit(&e->sentence, asked, ids->shape[ids->rank - 1], error))
        return -1;
    ports->most = e->sentence.max_length;
    e->w.generation.encoder = ports;
    return 0;
}

/* Emits an encoder to a file.  Checks paths before the script runs. */
static int emit(struct embedder_writing *e, crescent_context *context, const char *folder,
                const crescent_script *how, const crescent_config *config,
                const crescent_embedder_options *options, const char *path, struct cr_error *error)
{
    struct cr_emit_output out = {.path = path};
    if (cr_check_emit_path(path, error) || cr_read_isas(config ? config->isa : NULL, &out.isas, error) ||
        cr_writing_check(e->w.what, error) || cr_check_folder_path(folder, error) || read_folder(e, folder, options, error) ||
        open_graph(e, context, e->inner, how))
        return -1;
    if (e->sentence.has_layers && !e->w.what->pack && !e->w.what->embed)
        return cr_fail(error, "%.400s: found modules whose weights are in files of their own, expected --pack "
                              "or --embed", folder);
    e->w.origin = e->w.made.graph->origin;
    if (cr_writing_program(&e->w, config, how ? how->seed : 0, error) || find_ports(e, options->most, error) ||
        cr_check_token_size(&e->sentence, how, e->w.program->outputs[0].shape[0], error))
        return -1;
    cr_writing_names(&e->w);
    return cr_writing_files(&e->w, &out, error);
}

/* Emits an encoder to files.  The report's name is null, as the graph that owns it is closed. */
int crescent_emit_embedder(crescent_context *context, const char *path, const crescent_script *how,
                           const crescent_config *config, const crescent_embedder_options *options,
                           const crescent_generator_source *what, const char *out,
                           crescent_report *report)
{
    static const crescent_generator_source nothing;
    static const crescent_embedder_options none;
    CR_REQUIRE_CONTEXT(context, path && out);
    CR_ENTER(context);
    struct embedder_writing e = {.w = {.what = what ? what : &nothing}};
    char *folder = cr_find_installed(path);
    int status = emit(&e, context, folder, how, config, options ? options : &none, out, guard.error);
    if (!status && report) {
        *report = cr_report_of(e.w.program);
        report->name = NULL;
    }
    cr_writing_free(&e.w);
    free(e.ports.prompt_parts);
    cr_free_sentence(&e.sentence);
    free(e.inner);
    free(folder);
    return cr_done(&guard, status);
}
