/*
 * gguf_weights.h - the tensors of a GGUF file as parameters: under the names of Hugging Face's files,
 * with rows in their order.
 */
#ifndef CR_GGUF_WEIGHTS_H
#define CR_GGUF_WEIGHTS_H

#include "compiler/files/gguf.h"
#include "compiler/files/safetensors.h"
#include "compiler/ir/error.h"

/* How tensors of an architecture are called, and how they lie. */
struct cr_gguf_family {
    const char *name;  /* general.architecture, and the model_type of config.json */
    const char *block; /* what stands before the names in block N: "model.layers." */
    int names;         /* which column of the table of names */
    bool interleaved;  /* rows of Q and K are turned as pairs, not as halves */
};

/* The family of a file; null, with an error, for one that is not known. */
const struct cr_gguf_family *cr_gguf_family_of(const struct cr_gguf *file, struct cr_error *error);

/* The value of ARCHITECTURE.NAME, or null. */
const struct cr_gguf_value *cr_gguf_find_of(const struct cr_gguf *file,
                                            const struct cr_gguf_family *family, const char *name);

/* A tensor, whose rows may have to be put in order: rows 2 j and 2 j + 1 of a head in the file are its
 * rows j and half + j, where `half` is not 0. */
struct cr_gguf_weight {
    const struct cr_gguf *file;
    const struct cr_gguf_tensor *tensor;
    int64_t half;
};

struct cr_gguf_weights {
    struct cr_gguf file;
    struct cr_gguf_weight *items;
};

/*
 * Opens a file of weights, and lists its tensors in `list` as if it were one of safetensors: in order of
 * their names, item i of the weights the one at number i.  They have names, shapes and bytes, but their
 * type is that of bytes, so that they are not read as they are.  The path is the caller's until then.
 */
int cr_gguf_weights_open(struct cr_gguf_weights *weights, struct cr_safetensors *list,
                         const char *path, struct cr_error *error);

/* The same of the bytes of a file, which stay the caller's; `path` is for messages. */
int cr_gguf_weights_parse(struct cr_gguf_weights *weights, struct cr_safetensors *list,
                          const char *path, struct cr_mapping bytes, struct cr_error *error);
void cr_gguf_weights_close(struct cr_gguf_weights *weights);

/* The blocks of a parameter's row, from the one that has column `col` on: as they are in the file, and up
 * to the end of the row. */
const unsigned char *cr_gguf_weight_blocks(const struct cr_gguf_weight *weight, int64_t row,
                                           int64_t col);

/* n elements from `first` on, as floats, read from the file as cr_mapping_read does; of a type that
 * cr_gguf_check takes.  Threads may call it at the same time; -1 if that fails. */
int cr_gguf_weight_floats(const struct cr_gguf_weight *weight, int64_t first, int64_t n, float *out);

/* The same as they are in the file, one block behind the other: first and n are whole blocks. */
int cr_gguf_weight_read(const struct cr_gguf_weight *weight, int64_t first, int64_t n,
                        unsigned char *out);

#endif
