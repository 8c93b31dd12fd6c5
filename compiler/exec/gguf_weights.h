/*
 * gguf_weights.h - reads the tensors of a GGUF file as parameters, with the names and the row
 * order of Hugging Face's files.
 */
#ifndef CR_GGUF_WEIGHTS_H
#define CR_GGUF_WEIGHTS_H

#include "compiler/files/gguf.h"
#include "compiler/files/safetensors.h"
#include "compiler/ir/error.h"

/* Columns of the tables of names of tensors and options; several architectures share a column. */
enum cr_gguf_names { CR_AS_LLAMA, CR_AS_GPT2, CR_AS_BERT, CR_AS_NOMIC, CR_AS_MODERN, CR_GGUF_NAMES };

/* Names and row order of an architecture's tensors. */
struct cr_gguf_family {
    const char *name;  /* general.architecture */
    const char *type;  /* the model's model_type in config.json */
    const char *block; /* prefix of the names in block N: "model.layers." */
    enum cr_gguf_names names; /* the family's column in the tables of names */
    bool interleaved;  /* the file has the rows of Q and K as interleaved pairs, not as two halves
                        * of a head */
};

/* Returns the family of the model in a file; null with an error if the architecture is unknown. */
const struct cr_gguf_family *cr_gguf_family_of(const struct cr_gguf *file, struct cr_error *error);

/* Returns the metadata value with key ARCHITECTURE.NAME, or null. */
const struct cr_gguf_value *cr_gguf_find_of(const struct cr_gguf *file,
                                            const struct cr_gguf_family *family, const char *name);

/* A tensor of the file.  If `half` is not 0, rows are reordered: rows 2 j and 2 j + 1 of each
 * head in the file are rows j and half + j of the parameter. */
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
 * Opens a file of weights and lists its tensors in `list` as a safetensors file would, sorted by
 * name; item i of `weights` belongs to tensor i.  The list gives them the type U8, so that no
 * caller reads them without conversion.  `path` must stay valid until the file is closed.
 */
int cr_gguf_weights_open(struct cr_gguf_weights *weights, struct cr_safetensors *list,
                         const char *path, struct cr_error *error);

/* Opens a file in memory as cr_gguf_weights_open opens one on disk.  The caller owns the bytes;
 * `path` is for messages. */
int cr_gguf_weights_parse(struct cr_gguf_weights *weights, struct cr_safetensors *list,
                          const char *path, struct cr_mapping bytes, struct cr_error *error);
void cr_gguf_weights_close(struct cr_gguf_weights *weights);

/* Returns the file's quantised blocks of row `row` of a parameter, from the block that contains
 * column `col` to the end of the row. */
const unsigned char *cr_gguf_weight_blocks(const struct cr_gguf_weight *weight, int64_t row,
                                           int64_t col);

/* Reads n elements from `first` on, converted to floats; cr_gguf_check must accept the tensor's
 * type.  Several threads may call it at once.  Returns -1 if the file cannot be read. */
int cr_gguf_weight_floats(const struct cr_gguf_weight *weight, int64_t first, int64_t n, float *out);

/* Reads n elements from `first` on as contiguous quantised blocks, without conversion; first and
 * n are multiples of the block size. */
int cr_gguf_weight_read(const struct cr_gguf_weight *weight, int64_t first, int64_t n,
                        unsigned char *out);

#endif
