/*
 * onnx_weights.h - the weights of an imported model, as floats.
 *
 * Those whose elements lie in the model's files stay there until they are read, so that a file is opened
 * without reading them.  What import computed, and integers of which not all are floats, is in memory.
 */
#ifndef CR_IMPORT_WEIGHTS_H
#define CR_IMPORT_WEIGHTS_H

#include "compiler/files/safetensors.h"
#include "compiler/ir/error.h"
#include "print.h"

/* A file of the model, and when it was changed last before it was opened. */
struct cr_import_file {
    const char *path;
    struct cr_mapping mapping;
    int64_t seconds, nanoseconds;
};

/* Where the elements of a weight lie. */
struct cr_import_weight {
    int file;                     /* CR_ONNX_NONE: in memory */
    struct cr_onnx_tensor tensor; /* in the file */
};

struct cr_import_weights {
    struct cr_safetensors list;     /* as floats, sorted by name; `data` only of those in memory */
    struct cr_import_weight *items; /* in the same order */
    struct cr_import_file *files;   /* first the .onnx file, then the files of external data */
    int n_files;
    struct cr_arena arena;
};

/* Takes n weights of a script, and the files of the model, which has none from then on.  What is
 * left after a failure is freed by the caller. */
int cr_import_weights_take(struct cr_import_weights *weights, struct cr_onnx_model *model,
                           const struct cr_script_weight *of_script, int n, struct cr_error *error);
void cr_import_weights_free(struct cr_import_weights *weights);

/* Refuses a file that was changed since it was opened, because some weights were computed from its old contents. */
int cr_import_weights_check(const struct cr_import_weights *weights, struct cr_error *error);

/* Copies n elements from `first` on of weight i, which lies in a file; -1 if it cannot be read.
 * Threads may call it at the same time. */
int cr_import_weight_read(const struct cr_import_weights *weights, int i, int64_t first, int64_t n,
                          float *out);
/* True if the file has the transpose of weight i.  Of such a weight the second function copies
 * elements in the order of the file. */
bool cr_import_weight_is_transposed(const struct cr_import_weights *weights, int i);
int cr_import_weight_read_columns(const struct cr_import_weights *weights, int i, int64_t first,
                                  int64_t n, float *out);

/* The error of a weight that cannot be read; returns -1. */
int cr_import_weight_fail(const struct cr_import_weights *weights, int i, struct cr_error *error);

/* Copies all weights to memory: each has `data` then. */
int cr_import_weights_load(struct cr_import_weights *weights, struct cr_error *error);

#endif
