/*
 * import.h - an ONNX file as a script of the graph language, and the weights that go with it.
 */
#ifndef CR_IMPORT_H
#define CR_IMPORT_H

#include "compiler/ir/error.h"
#include "translate.h"
#include "onnx_weights.h"

struct cr_import {
    char *text; /* of the script, with a NUL behind */
    size_t length;
    struct cr_import_weights weights;
    const char **pinned; /* inputs that the script no longer has */
    int n_pinned;
    struct cr_arena arena;
};

/* An input that a run will read, and the file: where shapes depend on its elements they are taken from
 * there, and where the sizes of an input are symbols, so are these. */
struct cr_import_input {
    const char *name, *path;
};

/* What is said of a file: sizes of symbols, and numbers of inputs that have to be known when the script is
 * made; symbols that stay lengths, and their bounds. */
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
