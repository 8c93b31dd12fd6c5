/* import.c - writes an ONNX file as a script and a file of weights; see crescent.h. */
#include <stdlib.h>

#include "compiler/files/safetensors.h"
#include "compiler/files/writer.h"
#include "compiler/ir/mem.h"
#include "handles.h"
#include "imported_model.h"

/* Writes both files under temporary names and commits both, or neither. */
static int put_files(struct cr_import *import, struct cr_writer *script, struct cr_writer *weights,
                     struct cr_error *error)
{
    char *text = error->text;
    static const struct cr_st_metadata format = {"format", "pt"};
    cr_writer_put(script, import->text, import->length);
    if (cr_writer_finish(script, text, sizeof error->text) ||
        cr_import_weights_load(&import->weights, error) ||
        cr_safetensors_put(weights, import->weights.list.tensors, import->weights.list.n_tensors,
                           &format, 1, text, sizeof error->text) ||
        cr_writer_finish(weights, text, sizeof error->text))
        return -1;
    return cr_writer_commit(weights, text, sizeof error->text) ||
                   cr_writer_commit(script, text, sizeof error->text)
               ? -1
               : 0;
}

/* Writes the script and the weights; after a failure neither file exists. */
static int write_files(struct cr_import *import, const char *script, const char *weights,
                       struct cr_error *error)
{
    struct cr_writer text, tensors;
    if (cr_writer_open(&text, script, error->text, sizeof error->text))
        return -1;
    if (cr_writer_open(&tensors, weights, error->text, sizeof error->text)) {
        cr_writer_discard(&text);
        return -1;
    }
    int status = put_files(import, &text, &tensors, error);
    cr_writer_discard(&text);
    cr_writer_discard(&tensors);
    return status;
}

/* Imports an ONNX file.  A setting that the model does not know is always an error here. */
static int import_to(const char *path, const crescent_script *how, const char *script,
                     const char *weights, struct cr_error *error)
{
    struct cr_setting *settings = cr_calloc((size_t)how->n_settings, sizeof *settings);
    for (int i = 0; i < how->n_settings; i++)
        settings[i] = (struct cr_setting){how->settings[i].key, how->settings[i].value, false};
    struct cr_imported *imported = cr_imported_open(path, settings, how->n_settings, how, error);
    free(settings);
    if (!imported)
        return -1;
    int status = write_files(&imported->import, script, weights, error);
    cr_imported_release(imported);
    return status;
}

int crescent_import(crescent_context *context, const char *path, const crescent_script *how,
                    const char *script, const char *weights)
{
    static const crescent_script plain;
    CR_REQUIRE_CONTEXT(context, path && script && weights);
    CR_ENTER(context);
    return cr_done(&guard, import_to(path, how ? how : &plain, script, weights, guard.error));
}
