/* imported_model.c - opens an ONNX file as a model; see imported_model.h and crescent.h. */
#include "imported_model.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/exec/load_tensors.h"
#include "compiler/ir/mem.h"

struct cr_imported *cr_imported_open(const char *path, const struct cr_setting *settings, int n,
                                     const crescent_script *how, struct cr_error *error)
{
    struct cr_imported *imported = cr_calloc(1, sizeof *imported);
    struct cr_onnx_pin *pins = cr_calloc((size_t)n, sizeof *pins);
    struct cr_import_input *inputs = cr_calloc((size_t)how->n_inputs, sizeof *inputs);
    struct cr_onnx_pin *lengths = cr_calloc((size_t)how->n_lengths, sizeof *lengths);
    imported->references = 1;
    for (int i = 0; i < n; i++)
        pins[i] = (struct cr_onnx_pin){settings[i].key, settings[i].value, settings[i].optional};
    for (int i = 0; i < how->n_inputs; i++)
        inputs[i] = (struct cr_import_input){how->inputs[i].key, how->inputs[i].value};
    for (int i = 0; i < how->n_lengths; i++)
        lengths[i] = (struct cr_onnx_pin){how->lengths[i].key, how->lengths[i].value, false};
    const struct cr_import_how all = {pins, lengths, n, how->n_lengths, inputs, how->n_inputs};
    int status = cr_import_open(&imported->import, path, &all, error);
    free(pins);
    free(lengths);
    free(inputs);
    if (status == 0)
        return imported;
    free(imported);
    return NULL;
}

struct cr_imported *cr_imported_refer(struct cr_imported *imported)
{
    if (imported)
        imported->references++;
    return imported;
}

void cr_imported_release(struct cr_imported *imported)
{
    if (!imported || --imported->references > 0)
        return;
    cr_import_close(&imported->import);
    free(imported);
}

bool cr_imported_has_pinned(const struct cr_imported *imported, const char *name)
{
    for (int i = 0; imported && i < imported->import.n_pinned; i++)
        if (strcmp(imported->import.pinned[i], name) == 0)
            return true;
    return false;
}

/* ---- weights ---- */

/* A weight of the file, from which a parameter's elements are read. */
struct weight {
    const struct cr_import_weights *weights;
    int i;
};

static int read_weight(const void *context, int64_t first, int64_t n, float *out)
{
    const struct weight *w = context;
    return cr_import_weight_read(w->weights, w->i, first, n, out);
}

static int read_columns(const void *context, int64_t first, int64_t n, float *out)
{
    const struct weight *w = context;
    return cr_import_weight_read_columns(w->weights, w->i, first, n, out);
}

static int fail_weight(const void *context, struct cr_error *error)
{
    const struct weight *w = context;
    return cr_import_weight_fail(w->weights, w->i, error);
}

/* Finds the weight of each parameter; fails if one is missing. */
static int find_weights(const struct cr_import_weights *w, const struct cr_engine *e,
                        struct weight *found, struct cr_error *error)
{
    for (int i = 0; i < e->n_params; i++) {
        const struct cr_st_tensor *t = cr_safetensors_find(&w->list, e->params[i].name);
        if (!t)
            return cr_bug(error, "%.300s: no weight %s", w->list.path, e->params[i].name);
        found[i] = (struct weight){w, (int)(t - w->list.tensors)};
    }
    return 0;
}

/* Hashes the first bytes of each weight in a file, in place of a header, which ONNX files lack.
 * (The key of the cache has the names, shapes and offsets of the weights.) */
static void hash_header(const struct cr_import_weights *w, int file, uint64_t hash[2])
{
    enum { MOST = 64 };
    for (int i = 0; i < w->list.n_tensors; i++) {
        const struct cr_onnx_tensor *t = &w->items[i].tensor;
        if (w->items[i].file == file) {
            int64_t bytes = t->elements * cr_onnx_type_bytes(t->type);
            cr_kept_hash(hash, t->data, (size_t)(bytes < MOST ? bytes : MOST));
        }
    }
}

/* Describes a weight, in a file or in memory, for the key of the file in the cache. */
static struct cr_kept_tensor kept_tensor(const struct cr_import_weights *w, int i)
{
    const struct cr_st_tensor *t = &w->list.tensors[i];
    const struct cr_import_weight *item = &w->items[i];
    if (item->file == CR_ONNX_NONE)
        return (struct cr_kept_tensor){CR_NONE, t->data, t->bytes, t->name, "computed"};
    struct cr_kept_tensor kept = {.file = item->file, .data = item->tensor.data, .name = t->name};
    snprintf(kept.type, sizeof kept.type, "%s%s", cr_onnx_type_name(item->tensor.type),
             item->tensor.is_transposed ? ", transposed" : "");
    return kept;
}

/* Maps the packed weights from the cache if it has them. */
static void find_kept(const struct cr_import_weights *w, struct cr_engine *e,
                      const struct weight *found, struct cr_kept *kept)
{
    struct cr_kept_weight_file *files = cr_calloc((size_t)w->n_files, sizeof *files);
    struct cr_kept_tensor *tensors = cr_calloc((size_t)e->n_params, sizeof *tensors);
    for (int i = 0; i < w->n_files; i++) {
        files[i].path = w->files[i].path;
        files[i].mapping = &w->files[i].mapping;
        hash_header(w, i, files[i].header);
    }
    for (int i = 0; i < e->n_params; i++)
        tensors[i] = kept_tensor(w, found[i].i);
    cr_kept_find(kept, e, files, w->n_files, tensors);
    free(files);
    free(tensors);
}

/* Returns the elements of a weight: memory, or a function that reads them from the file. */
static struct cr_contents contents_of(const struct weight *weight)
{
    const struct cr_st_tensor *t = &weight->weights->list.tensors[weight->i];
    if (t->data)
        return (struct cr_contents){.data = t->data};
    struct cr_contents contents = {.read = read_weight, .context = weight, .fail = fail_weight};
    if (cr_import_weight_is_transposed(weight->weights, weight->i)) {
        contents.read_columns = read_columns;
        contents.matrix_rows = t->shape[0];
        contents.matrix_cols = t->shape[1];
    }
    return contents;
}

int cr_imported_load(const struct cr_imported *imported, struct cr_engine *engine,
                     struct cr_kept *kept, struct cr_error *error)
{
    const struct cr_import_weights *w = &imported->import.weights;
    struct weight *found = cr_calloc((size_t)engine->n_params, sizeof *found);
    struct cr_contents *contents = cr_calloc((size_t)engine->n_params, sizeof *contents);
    int status =
        cr_import_weights_check(w, error) || find_weights(w, engine, found, error) ? -1 : 0;
    if (!status && kept)
        find_kept(w, engine, found, kept);
    for (int i = 0; !status && i < engine->n_params; i++)
        contents[i] = contents_of(&found[i]);
    if (!status && !(kept && kept->is_mapped))
        status = cr_engine_set_params(engine, contents, error);
    free(contents);
    free(found);
    return status;
}
