/* emit_writing.c - emits a model with its tokenizer and weights; see emit_writing.h. */
#include "emit_writing.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/exec/weight_names.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"
#include "emission.h"

/* ---- the program ---- */

static bool wants_weights(const crescent_generator_source *what)
{
    return what->pack || what->embed;
}

int cr_writing_check(const crescent_generator_source *what, struct cr_error *error)
{
    if ((unsigned)what->embed > CRESCENT_EMBED_ARRAY ||
        (what->embed == CRESCENT_EMBED_FILE && !what->pack))
        return cr_fail(error, "embed: found no packed file (pack) and no array, expected one of them");
    if (what->n_weights < 0 || (what->n_weights && (!what->weights || !wants_weights(what))))
        return cr_fail(error, "%d files of weights, expected them only to be packed or embedded",
                       what->n_weights);
    return 0;
}

/* Loads the weights from the caller's files, else from the model's folder; without either, draws
 * random weights. */
static int fill_weights(struct cr_writing *w, int64_t seed)
{
    const char *folder = w->origin->folder;
    if (w->what->n_weights)
        return crescent_load_weights(w->model, w->what->weights, w->what->n_weights,
                                     CRESCENT_ANY_TENSORS, NULL);
    return folder ? crescent_load_weights(w->model, &folder, 1, CRESCENT_ANY_TENSORS, NULL)
                  : crescent_draw_weights(w->model, seed);
}

/* Makes the model of a rank, with its weights.  (On failure fill_weights has set the context's
 * error itself.) */
static int make_model(struct cr_writing *w, int rank, struct cr_error *error)
{
    crescent_close(w->model);
    w->model = NULL;
    return cr_model_to_emit(w->made.graph, w->config, rank, &w->model, error) || fill_weights(w, w->seed) ? -1 : 0;
}

/* Makes the program, with a model if weights are wanted.  For several ranks, each rank's weights
 * are packed by a model of its own later. */
int cr_writing_program(struct cr_writing *w, const crescent_config *config, int64_t seed,
                        struct cr_error *error)
{
    w->config = config;
    w->seed = seed;
    w->ranks = config && config->ranks > 1 ? config->ranks : 1;
    if (!wants_weights(w->what) || w->ranks > 1) {
        w->own = cr_program_to_emit(w->made.graph, config, error);
        w->program = w->own;
        return w->own ? 0 : -1;
    }
    if (make_model(w, 0, error))
        return -1;
    w->program = w->model->engine.program;
    return 0;
}

/* ---- weights ---- */

/* Returns all names that a parameter may have in files, each terminated by a NUL, then an empty
 * name. Sets *head to the index of the first name that belongs to a separate head, or to 0 if there
 * is none. */
static char *names_of(const char *name, const char *family, const struct cr_names *params,
                      int *head)
{
    struct cr_text names = {0};
    char other[400];
    int n = 1;
    cr_put_bytes(&names, name, strlen(name) + 1);
    *head = 0;
    for (int i = 1; i < CR_WEIGHT_NAMES; i++) {
        if (!cr_weight_name(other, sizeof other, name, family, params, i))
            continue;
        *head = i >= CR_WEIGHT_HEADS && !*head ? n : *head;
        cr_put_bytes(&names, other, strlen(other) + 1);
        n++;
    }
    cr_put_bytes(&names, "", 1);
    return names.data;
}

/* Sets heads[i] to 0 for parameters that are not an operand of a product. */
static void drop_heads(const struct cr_graph *g, const struct cr_names *params, int *heads)
{
    bool *operand = cr_find_operands(g);
    for (cr_id id = 0, n = 0; id < g->n_nodes; id++) {
        if (g->nodes[id].op != CR_OP_param)
            continue;
        int i = cr_names_find(params, g->nodes[id].name);
        if (!operand[n++] && i >= 0)
            heads[i] = 0;
    }
    free(operand);
}

/* Sets the names that parameters have in files, and the names of other tensors that files may
 * contain. */
void cr_writing_names(struct cr_writing *w)
{
    const struct cr_program *p = w->program;
    struct cr_names params = {0};
    int n = 0, cap = 0;
    for (int i = 0; i < p->n_params; i++)
        cr_names_add(&params, p->params[i].name);
    w->names = cr_calloc((size_t)p->n_params, sizeof *w->names);
    w->heads = cr_calloc((size_t)p->n_params, sizeof *w->heads);
    for (int i = 0; i < p->n_params; i++)
        w->names[i] = names_of(p->params[i].name, w->origin->family, &params, &w->heads[i]);
    drop_heads(w->made.graph->graph, &params, w->heads);
    cr_names_free(&params);
    for (int i = 0; w->origin->family && cr_weight_buffer(i); i++)
        *CR_PUSH(w->buffers, n, cap) = cr_weight_buffer(i);
    *CR_PUSH(w->buffers, n, cap) = NULL;
    w->generation.names = w->names;
    w->generation.heads = w->heads;
    w->generation.buffers = w->buffers;
}

/* Writes the file of packed weights under a temporary name, which committing it replaces. */
static int write_packed(struct cr_writing *w, struct cr_error *error)
{
    unsigned char header[CR_PACKED_HEADER];
    if (!w->what->pack)
        return 0;
    if (cr_writer_open(&w->pack, w->what->pack, error->text, sizeof error->text))
        return -1;
    cr_packed_header(header, w->program);
    cr_writer_put(&w->pack, header, sizeof header);
    for (int rank = 0; rank < w->ranks; rank++) {
        if (w->ranks > 1 && make_model(w, rank, error))
            return -1;
        CR_CHECK(w->model->engine.program->weights_bytes == w->program->weights_bytes);
        cr_writer_put(&w->pack, w->model->engine.weights, (size_t)w->program->weights_bytes);
    }
    return cr_writer_finish(&w->pack, error->text, sizeof error->text);
}

/* Sets the weights that the program contains as an array: the weights of the model or, for several
 * ranks, the weights of all ranks, one after another. */
static int list_weights(struct cr_writing *w, struct cr_error *error)
{
    int64_t bytes = w->program->weights_bytes;
    if (w->ranks == 1) {
        w->generation.weights = w->model ? w->model->engine.weights : NULL;
        return 0;
    }
    if (w->what->embed != CRESCENT_EMBED_ARRAY)
        return 0;
    w->generation.weights = w->parts = cr_memory_new(w->ranks * bytes, "the weights of all ranks", error);
    for (int rank = 0; rank < w->ranks; rank++) {
        if (!w->parts || make_model(w, rank, error))
            return -1;
        memcpy((char *)w->parts + rank * bytes, w->model->engine.weights, (size_t)bytes);
    }
    return 0;
}

/* ---- files ---- */

/* Writes the C to files or texts.  The file of packed weights is committed last. */
int cr_writing_files(struct cr_writing *w, const struct cr_emit_output *out, struct cr_error *error)
{
    w->generation.embedding = (enum cr_embedding)w->what->embed;
    w->generation.packed = w->what->pack;
    if (write_packed(w, error) || list_weights(w, error) ||
        (out->path
             ? cr_write_standalone_generator(w->program, out->isas, &w->generation, out->path, error)
             : cr_standalone_generator_texts(w->program, out->isas, &w->generation, out->header,
                                             out->texts, error)))
        return -1;
    return w->what->pack ? cr_writer_commit(&w->pack, error->text, sizeof error->text) : 0;
}

/* Frees all memory of the state, also after a failure. */
void cr_writing_free(struct cr_writing *w)
{
    cr_writer_discard(&w->pack);
    for (int i = 0; w->names && i < w->program->n_params; i++)
        free(w->names[i]);
    free(w->names);
    free(w->heads);
    free(w->parts);
    free(w->buffers);
    free(w->begin.items);
    free(w->ends.items);
    cr_tokenizer_free(w->tokenizer);
    cr_program_free(w->own);
    crescent_close(w->model);
    crescent_graph_close(w->made.graph);
}
