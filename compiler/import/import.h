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
    const char **pinned; /* inputs that the script no longer has */
    int n_pinned;
    struct cr_arena arena;
};

/* An input and the file that a run will read it from.  The file gives the elements that shapes
 * depend on and the sizes that are symbols. */
struct cr_import_input {
    const char *name, *path;
};

/* Options of an import: pins are the sizes of symbols and the elements of inputs; lengths are the
 * symbols that stay lengths, with their bounds. */
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
