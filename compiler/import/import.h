/*
 * import.h - translates an ONNX file into a script of the graph language and its weights.
 */
#ifndef CR_IMPORT_H
#define CR_IMPORT_H

#include "compiler/ir/error.h"
#include "translate.h"
#include "onnx_weights.h"

struct cr_import {
    char *text; /* the script, terminated by a NUL */
    size_t length;
    struct cr_import_weights weights;
    const char **pinned; /* the names of inputs of the ONNX model that became constants, so that the
                            script does not have them */
    int n_pinned;
    struct cr_arena arena;
};

/* An input, and the file that the next run will read it from.  Import takes from the file the
 * symbolic sizes, and elements that shapes depend on. */
struct cr_import_input {
    const char *name, *path;
};

/* Options of an import.  `pins` fix symbolic sizes and elements of inputs; `lengths` are the
 * symbolic sizes that stay lengths, with their bounds. */
struct cr_import_how {
    const struct cr_onnx_pin *pins, *lengths;
    int n_pins, n_lengths;
    const struct cr_import_input *inputs;
    int n_inputs;
};

int cr_import_open(struct cr_import *import, const char *path, const struct cr_import_how *how,
                   struct cr_error *error);
void cr_import_close(struct cr_import *import);

#endif
