/* emit_generator.c - emits a model that generates text as standalone C; see crescent.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/generate.h"
#include "compiler/emit/needs.h"
#include "compiler/exec/id_limits.h"
#include "compiler/exec/weight_names.h"
#include "compiler/files/writer.h"
#include "compiler/ir/incremental.h"
#include "compiler/ir/mem.h"
#include "emission.h"
#include "generator.h"
#include "generator_ports.h"

/* The state of emitting a generator. */
struct writing {
    const crescent_generator_source *what;
    struct cr_continuation made;
    const struct cr_origin *origin; /* of the graph */
    crescent_model *model;          /* null unless weights are wanted */
    struct cr_program *own;         /* owns `program` otherwise */
    const struct cr_program *program;
    struct cr_tokenizer *tokenizer;
    struct cr_ids begin, ends;
    struct cr_generation generation;
    char **names;
    const char **buffers;
    struct cr_writer pack;
};

/* ---- the program ---- */

static bool wants_weights(const crescent_generator_source *what)
{
    return what->pack || what->embed;
}

static int check_source(const crescent_generator_source *what, struct cr_error *error)
{
    if ((unsigned)what->embed > CRESCENT_EMBED_ARRAY ||
        (what->embed == CRESCENT_EMBED_FILE && !what->pack))
        return cr_fail(error, "weights are to be embedded, expected a packed file or an array");
    if (what->n_weights < 0 || (what->n_weights && (!what->weights || !wants_weights(what))))
        return cr_fail(error, "%d files of weights, expected them only to be packed or embedded",
                       what->n_weights);
    return 0;
}

/* Loads the weights from the caller's files or the folder, or else draws them. */
static int fill_weights(struct writing *w, int64_t seed)
{
    const char *folder = w->origin->folder;
    if (w->what->n_weights)
        return crescent_load_weights(w->model, w->what->weights, w->what->n_weights,
                                     CRESCENT_ANY_TENSORS, NULL);
    return folder ? crescent_load_weights(w->model, &folder, 1, CRESCENT_ANY_TENSORS, NULL)
                  : crescent_draw_weights(w->model, seed);
}

/* Makes the program, with weights if they are wanted.  fill_weights sets the context's error
 * itself. */
static int make_program(struct writing *w, const crescent_config *config, int64_t seed,
                        struct cr_error *error)
{
    if (!wants_weights(w->what)) {
        w->own = cr_program_to_emit(w->made.graph, config, error);
        w->program = w->own;
        return w->own ? 0 : -1;
    }
    if (cr_model_to_emit(w->made.graph, config, &w->model, error) || fill_weights(w, seed))
        return -1;
    w->program = w->model->engine.program;
    return 0;
}

/* ---- ports ---- */

/* Returns the bound for ids: the rows of the table that they select from. */
static int64_t limit_of_ids(const struct cr_graph *g, int64_t vocabulary)
{
    int64_t *limits = cr_find_id_limits(g), limit = 0;
    for (int id = 0, i = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_input) {
            if (strcmp(g->nodes[id].name, CR_IDS) == 0)
                limit = limits[i];
            i++;
        }
    free(limits);
    return limit ? limit : vocabulary;
}

/* Finds the ports of the program; fails unless it takes one text. */
static int find_ports(struct writing *w, struct cr_text_ends *ends, struct cr_error *error)
{
    const struct cr_program *p = w->program;
    const struct cr_ports ports = {NULL, p->inputs, p->outputs, 0, p->n_inputs, p->n_outputs};
    struct cr_generator_ports g;
    if (cr_find_generator_ports(&g, &ports, false, w->origin->path, error) ||
        cr_read_text_ends(ends, w->origin, g.vocabulary, error))
        return -1;
    if (g.texts != 1)
        return cr_fail(error, "%.400s: %" PRId64 " texts, expected one", w->origin->path, g.texts);
    w->generation.ids = g.ids;
    w->generation.n = g.n;
    w->generation.logits = g.logits;
    w->generation.context = w->made.context;
    w->generation.chunk = w->made.chunk;
    w->generation.id_limit = limit_of_ids(w->made.graph->graph, g.vocabulary);
    return 0;
}

/* ---- the tokenizer ---- */

static void add_id(struct cr_ids *ids, int64_t id)
{
    *CR_PUSH(ids->items, ids->n, ids->cap) = (int32_t)id;
}

/* Opens the caller's tokenizer, or the folder's. */
static int open_tokenizer(struct writing *w, struct cr_error *error)
{
    const struct cr_origin *origin = w->origin;
    const char *own = origin->imported ? NULL : origin->folder;
    const char *path = w->what->tokenizer ? w->what->tokenizer : own;
    if (w->what->ids_only)
        return 0;
    if (!path)
        return cr_fail(error, "%.400s: %s has no tokenizer, expected --tokenizer FILE, or --ids",
                       origin->path, origin->imported ? "an ONNX file" : "a script");
    w->tokenizer = cr_tokenizer_open(path, error);
    w->generation.tokenizer = w->tokenizer;
    w->generation.tokenizer_path = path;
    return w->tokenizer ? 0 : -1;
}

/* Sets the ids that begin and end a text: from the model's files, or else from the tokenizer. */
static int find_ends(struct writing *w, const struct cr_text_ends *ends, struct cr_error *error)
{
    struct cr_tokenizer *t = w->tokenizer;
    for (int i = 0; i < ends->n; i++)
        if (ends->items[i] >= 0 && ends->items[i] <= INT32_MAX)
            add_id(&w->ends, ends->items[i]);
    for (int i = 0; t && !ends->n && i < t->ends.n; i++)
        add_id(&w->ends, t->ends.items[i]);
    if (ends->begin != CRESCENT_NONE)
        add_id(&w->begin, ends->begin);
    else if (t && cr_encode(t, "", 0, true, &w->begin, error))
        return -1;
    w->generation.begin = w->begin.items;
    w->generation.n_begin = w->begin.n;
    w->generation.ends = w->ends.items;
    w->generation.n_ends = w->ends.n;
    return 0;
}

/* ---- weights ---- */

/* Returns all names that a parameter may have in files, each null-terminated, then an empty one. */
static char *names_of(const char *name, const char *family, const struct cr_names *params)
{
    struct cr_text names = {0};
    char other[400];
    cr_put_bytes(&names, name, strlen(name) + 1);
    for (int i = 1; i < CR_WEIGHT_NAMES; i++)
        if (cr_weight_name(other, sizeof other, name, family, params, i))
            cr_put_bytes(&names, other, strlen(other) + 1);
    cr_put_bytes(&names, "", 1);
    return names.data;
}

/* Sets the parameters' names in files, and the names of other tensors that files may contain. */
static void find_names(struct writing *w)
{
    const struct cr_program *p = w->program;
    struct cr_names params = {0};
    int n = 0, cap = 0;
    for (int i = 0; i < p->n_params; i++)
        cr_names_add(&params, p->params[i].name);
    w->names = cr_calloc((size_t)p->n_params, sizeof *w->names);
    for (int i = 0; i < p->n_params; i++)
        w->names[i] = names_of(p->params[i].name, w->origin->family, &params);
    cr_names_free(&params);
    for (int i = 0; w->origin->family && cr_weight_buffer(i); i++)
        *CR_PUSH(w->buffers, n, cap) = cr_weight_buffer(i);
    *CR_PUSH(w->buffers, n, cap) = NULL;
    w->generation.names = w->names;
    w->generation.buffers = w->buffers;
}

/* Writes the packed file; committing it later gives it its name. */
static int write_packed(struct writing *w, struct cr_error *error)
{
    unsigned char header[CR_PACKED_HEADER];
    if (!w->what->pack)
        return 0;
    if (cr_writer_open(&w->pack, w->what->pack, error->text, sizeof error->text))
        return -1;
    cr_packed_header(header, w->program);
    cr_writer_put(&w->pack, header, sizeof header);
    cr_writer_put(&w->pack, w->model->engine.weights, (size_t)w->program->weights_bytes);
    return cr_writer_finish(&w->pack, error->text, sizeof error->text);
}

/* ---- all of it ---- */

/* The destination of the C: a file, or texts. */
struct output {
    const char *path;     /* of the file; null: texts */
    const char *header;   /* name of the header that the source includes */
    struct cr_text *texts; /* two: source and header */
    unsigned isas;
};

/* Writes the C to files or texts.  The packed file is committed last. */
static int write_files(struct writing *w, const struct output *out, struct cr_error *error)
{
    w->generation.embedding = (enum cr_embedding)w->what->embed;
    w->generation.packed = w->what->pack;
    w->generation.weights = w->model ? w->model->engine.weights : NULL;
    if (write_packed(w, error) ||
        (out->path
             ? cr_write_standalone_generator(w->program, out->isas, &w->generation, out->path, error)
             : cr_standalone_generator_texts(w->program, out->isas, &w->generation, out->header,
                                             out->texts, error)))
        return -1;
    return w->what->pack ? cr_writer_commit(&w->pack, error->text, sizeof error->text) : 0;
}

/* Frees everything, even after a failure. */
static void free_writing(struct writing *w)
{
    cr_writer_discard(&w->pack);
    for (int i = 0; w->names && i < w->program->n_params; i++)
        free(w->names[i]);
    free(w->names);
    free(w->buffers);
    free(w->begin.items);
    free(w->ends.items);
    cr_tokenizer_free(w->tokenizer);
    cr_program_free(w->own);
    crescent_close(w->model);
    crescent_graph_close(w->made.graph);
}

/* Emits a generator.  Paths are checked before the script runs. */
static int emit(struct writing *w, crescent_context *context, const char *path,
                const crescent_script *how, const crescent_config *config,
                const crescent_generation *generation, struct output *out, struct cr_error *error)
{
    static const crescent_generation plain;
    const struct cr_script_text script = {.path = path};
    struct cr_text_ends ends;
    if ((out->path && cr_check_emit_path(out->path, error)) ||
        cr_read_isas(config ? config->isa : NULL, &out->isas, error) || check_source(w->what, error) ||
        cr_continuation_open(context, &script, how, generation ? generation : &plain, &w->made,
                             error))
        return -1;
    w->origin = w->made.graph->origin;
    if (open_tokenizer(w, error) || make_program(w, config, how ? how->seed : 0, error) ||
        find_ports(w, &ends, error) || find_ends(w, &ends, error))
        return -1;
    find_names(w);
    return write_files(w, out, error);
}

/* Emits to files.  The report has no name: the graph that owns it is closed. */
int crescent_emit_generator(crescent_context *context, const char *path, const crescent_script *how,
                            const crescent_config *config, const crescent_generation *generation,
                            const crescent_generator_source *what, const char *out,
                            crescent_report *report)
{
    static const crescent_generator_source nothing;
    CR_REQUIRE_CONTEXT(context, path && out);
    CR_ENTER(context);
    struct writing w = {.what = what ? what : &nothing};
    struct output file = {.path = out};
    int status = emit(&w, context, path, how, config, generation, &file, guard.error);
    if (!status && report) {
        *report = cr_report_of(w.program);
        report->name = NULL;
    }
    free_writing(&w);
    return cr_done(&guard, status);
}

/* Emits as texts.  The caller gets them only if both exist. */
int crescent_emit_generator_text(crescent_context *context, const char *path,
                                 const crescent_script *how, const crescent_config *config,
                                 const crescent_generation *generation,
                                 const crescent_generator_source *what, const char *header_name,
                                 char **source, char **header)
{
    static const crescent_generator_source nothing;
    CR_REQUIRE_CONTEXT(context, path && header_name && source && header);
    CR_ENTER(context);
    struct cr_text texts[2] = {{0}, {0}};
    struct writing w = {.what = what ? what : &nothing};
    struct output output = {.header = header_name, .texts = texts};
    int status = emit(&w, context, path, how, config, generation, &output, guard.error);
    free_writing(&w);
    if (!status) {
        *source = texts[0].data;
        *header = texts[1].data;
    } else {
        free(texts[0].data);
        free(texts[1].data);
    }
    return cr_done(&guard, status);
}
