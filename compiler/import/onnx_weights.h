/*
 * onnx_weights.h - the weights of an imported model, as floats.
 *
 * Opening a model does not read weights: elements stay in the model's files until they are needed.
 * In memory are only weights that import computed, and weights of integers that floats may not hold
 * exactly.
 */
#ifndef CR_IMPORT_WEIGHTS_H
#define CR_IMPORT_WEIGHTS_H

#include "compiler/files/safetensors.h"
#include "compiler/ir/error.h"
#include "print_terms.h"

/* A file of the model, and the time of its last change when it was opened. */
struct cr_import_file {
    const char *path;
    struct cr_mapping mapping;
    int64_t seconds, nanoseconds;
};

/* Where a weight's elements are stored. */
struct cr_import_weight {
    int file;                     /* the number of its file, or CR_ONNX_NONE if in memory */
    struct cr_onnx_tensor tensor; /* the tensor in the file */
};

struct cr_import_weights {
    struct cr_safetensors list;     /* names and shapes as of f32 tensors, sorted by name; `data` is
                                       null for weights in files */
    struct cr_import_weight *items; /* by index in `list`: where the elements are */
    struct cr_import_file *files;   /* first the .onnx file, then the files of external data */
    int n_files;
    struct cr_arena arena;
};

/* Takes over n weights of a script and all mapped files of the model.  The caller frees the
 * weights, also after a failure. */
int cr_import_weights_take(struct cr_import_weights *weights, struct cr_onnx_model *model,
                           const struct cr_script_weight *of_script, int n, struct cr_error *error);
void cr_import_weights_free(struct cr_import_weights *weights);

/* Fails if a file was changed since it was opened, because some weights were computed from its old
 * contents. */
int cr_import_weights_check(const struct cr_import_weights *weights, struct cr_error *error);

/* Copies n elements of weight i, from element `first` on, out of its file to `out`; returns -1 if
 * the file cannot be read.  Threads may call it at the same time. */
int cr_import_weight_read(const struct cr_import_weights *weights, int i, int64_t first, int64_t n,
                          float *out);
/* The first function returns true if the file has the transpose of weight i.  The second one copies
 * elements of such a weight in the file's order, column by column. */
bool cr_import_weight_is_transposed(const struct cr_import_weights *weights, int i);
int cr_import_weight_read_columns(const struct cr_import_weights *weights, int i, int64_t first,
                                  int64_t n, float *out);

/* Sets the error that weight i cannot be read; returns -1. */
int cr_import_weight_fail(const struct cr_import_weights *weights, int i, struct cr_error *error);

/* Reads all weights into memory, and sets their `data`. */
int cr_import_weights_load(struct cr_import_weights *weights, struct cr_error *error);

#endif
