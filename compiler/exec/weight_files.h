/*
 * weight_files.h - the files that parameters come from: safetensors, GGUF, and folders in Hugging
 * Face's layout, with model.safetensors or the shards that model.safetensors.index.json lists; also
 * such an index by itself.  A folder of sentence-transformers also has a model.safetensors for each
 * Dense and LayerNorm of modules.json; the names of its tensors are prefixed by the folder of the
 * module: "2_Dense.linear.weight".
 */
#ifndef CR_WEIGHT_FILES_H
#define CR_WEIGHT_FILES_H

#include <stdbool.h>

#include "compiler/files/safetensors.h"
#include "compiler/ir/error.h"
#include "gguf_weights.h"

/* True if a path is a folder. */
bool cr_is_folder(const char *path);

/* True for a file of torch.save, by its name: its bytes may be a zip archive or a pickle. */
bool cr_is_torch_file(const char *path);

/* True if a name or a path ends in a text. */
bool cr_ends_in(const char *text, const char *end);

/* Returns FOLDER/NAME; the caller frees it. */
char *cr_path_in(const char *folder, const char *name);

/* An open file.  `path` is its own, `asked` the caller's path that led to it. */
struct cr_weight_file {
    struct cr_safetensors file;
    struct cr_gguf_weights *gguf; /* for GGUF, whose tensors `file` lists; else null */
    char *path;
    const char *asked;
    bool borrowed; /* the caller owns its bytes */
    bool *listed; /* shards, by tensor: the index lists it here; else null */
    char *names;  /* the file of a module: the names of its tensors; else null */
};

/* A tensor that can be read as floats, and its file. */
struct cr_file_tensor {
    const struct cr_safetensors *file;
    const struct cr_st_tensor *tensor;
};

/* A file of weights in memory; messages show `name` as its path. */
struct cr_weight_bytes {
    const char *name;
    const void *bytes;
    size_t length;
};

struct cr_weight_files {
    struct cr_weight_file *items;
    int n, cap;
};

/* Opens the files of some paths, which must stay valid until the files are closed.  A failure
 * leaves nothing to close. */
int cr_weight_files_open(struct cr_weight_files *files, const char *const *paths, int n,
                         struct cr_error *error);

/* Like cr_weight_files_open, for one file whose bytes are in memory.  The bytes must stay valid until the files are
 * closed. */
int cr_weight_files_take(struct cr_weight_files *files, const struct cr_weight_bytes *bytes,
                         struct cr_error *error);
void cr_weight_files_close(struct cr_weight_files *files);

/* True if tensor number i of a file counts: in a shard, only tensors that the index lists there
 * do. */
bool cr_weight_file_lists(const struct cr_weight_file *file, int i);

/* Finds a tensor by name, and its file: the last file that contains the tensor; among shards, the
 * file that the index names.  Null if no file contains it. */
const struct cr_st_tensor *cr_weight_files_find(const struct cr_weight_files *files,
                                                const char *name,
                                                const struct cr_weight_file **file);

#endif
