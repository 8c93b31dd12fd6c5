/*
 * onnx_weights.h - the weights of an imported model, as floats.
 *
 * Opening a model does not read weights: elements in its files stay there until they are
 * needed.  In memory are weights that import computed, and integers that are not all exact
 * floats.
 */
#ifndef CR_IMPORT_WEIGHTS_H
#define CR_IMPORT_WEIGHTS_H

#include "compiler/files/safetensors.h"
#include "compiler/ir/error.h"
#include "print_terms.h"

/* A file of the model, and the time of its last change before it was opened. */
struct cr_import_file {
    const char *path;
    struct cr_mapping mapping;
    int64_t seconds, nanoseconds;
};

/* The place of a weight's elements. */
struct cr_import_weight {
    int file;                     /* the number of its file, or CR_ONNX_NONE if in memory */
    struct cr_onnx_tensor tensor; /* the tensor in the file */
};

struct cr_import_weights {
    struct cr_safetensors list;     /* as floats, sorted by name; `data` is set only for weights
                                       in memory */
    struct cr_import_weight *items; /* in the same order */
    struct cr_import_file *files;   /* first the .onnx file, then the files of external data */
    int n_files;
    struct cr_arena arena;
};

/* Takes n weights of a script, and the files of the model, which keeps none.  The caller frees the
 * weights, also after a failure. */
int cr_import_weights_take(struct cr_import_weights *weights, struct cr_onnx_model *model,
                           const struct cr_script_weight *of_script, int n, struct cr_error *error);
void cr_import_weights_free(struct cr_import_weights *weights);

/* Refuses a file that was changed since it was opened, because some weights were computed from its
 * old contents. */
int cr_import_weights_check(const struct cr_import_weights *weights, struct cr_error *error);

/* Copies n elements of weight i, from `first` on, out of its file; -1 if it cannot be
 * read.  Threads may call it at the same time. */
int cr_import_weight_read(const struct cr_import_weights *weights, int i, int64_t first, int64_t n,
                          float *out);
/* The first function returns true if the file has the transpose of weight i.  The second one
 * copies elements of such a weight in the order of the file. */
bool cr_import_weight_is_transposed(const struct cr_import_weights *weights, int i);
int cr_import_weight_read_columns(const struct cr_import_weights *weights, int i, int64_t first,
                                  int64_t n, float *out);

/* Sets the error that weight i cannot be read; returns -1. */
int cr_import_weight_fail(const struct cr_import_weights *weights, int i, struct cr_error *error);

/* Copies all weights to memory, and sets their `data`. */
int cr_import_weights_load(struct cr_import_weights *weights, struct cr_error *error);

#endif
