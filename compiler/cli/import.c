/* import.c - crescent import: converts an ONNX file to a script and weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "outfiles.h"
#include "report.h"
#include "verbs.h"

static int check_name(const struct cr_options *o, struct cr_error *error)
{
    size_t length = o->out ? strlen(o->out) : 0;
    if (!o->out)
        return cr_fail(error, "import: no file to write, expected -o NAME.lua");
    if (length < 5 || strcmp(o->out + length - 4, ".lua") != 0 || o->out[length - 5] == '/')
        return cr_fail(error, "-o %.400s: expected a name that ends in .lua", o->out);
    return 0;
}

/* Returns NAME.safetensors for NAME.lua; the caller frees it. */
static char *weights_path(const char *script)
{
    size_t stem = strlen(script) - 4, size = stem + sizeof ".safetensors";
    char *path = cr_calloc(size, 1);
    snprintf(path, size, "%.*s.safetensors", (int)stem, script);
    return path;
}

/* Checks the paths before it reads any file: no output may replace the model. */
static int import_to(const struct cr_options *o, const char *weights, struct cr_error *error)
{
    const crescent_script how = {.settings = o->set.items,
                                 .n_settings = o->set.n,
                                 .lengths = o->length.items,
                                 .n_lengths = o->length.n,
                                 .inputs = o->input.items,
                                 .n_inputs = o->input.n};
    const struct cr_named_file files[] = {{"-o", o->out, true, 0},
                                          {"the weights", weights, true, 0},
                                          {"the model", o->model, false, 0}};
    if (cr_check_files(o, files, sizeof files / sizeof *files, error) ||
        cr_passed(o, crescent_import(o->context, o->model, &how, o->out, weights), error))
        return -1;
    cr_print(stdout, "wrote %s and %s\n", o->out, weights);
    return 0;
}

int cr_verb_import(const struct cr_options *o, struct cr_error *error)
{
    if (check_name(o, error))
        return 2;
    char *weights = weights_path(o->out);
    int status = import_to(o, weights, error);
    free(weights);
    return status ? 2 : 0;
}
