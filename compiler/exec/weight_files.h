/*
 * weight_files.h - the files that parameters come from: of safetensors, of GGUF, and folders in Hugging
 * Face's layout, which have model.safetensors, or shards that model.safetensors.index.json lists; or
 * such an index.
 */
#ifndef CR_WEIGHT_FILES_H
#define CR_WEIGHT_FILES_H

#include <stdbool.h>

#include "compiler/files/safetensors.h"
#include "compiler/ir/error.h"
#include "gguf_weights.h"

/* Whether a path is that of a folder. */
bool cr_is_folder(const char *path);

/* True for a file of torch.save.  It is known by its name, as its bytes may be a zip archive or a pickle. */
bool cr_is_torch_file(const char *path);

/* FOLDER/NAME; freed by the caller. */
char *cr_path_in(const char *folder, const char *name);

/* A file, and its paths: `path` is its own, `asked` the one of the caller that led to it. */
struct cr_weight_file {
    struct cr_safetensors file;
    struct cr_gguf_weights *gguf; /* of GGUF: `file` only lists what this has; else null */
    char *path;
    const char *asked;
    bool borrowed; /* its bytes are the caller's */
    bool *listed; /* of a shard, each tensor: whether the index says that it is here; else null */
};

/* A tensor that can be read as floats, and its file, as the elements of a parameter. */
struct cr_file_tensor {
    const struct cr_safetensors *file;
    const struct cr_st_tensor *tensor;
};

/* A file's bytes in memory; `name` stands for its path. */
struct cr_weight_bytes {
    const char *name;
    const void *bytes;
    size_t length;
};

struct cr_weight_files {
    struct cr_weight_file *items;
    int n, cap;
};

/* Opens the files of some paths.  The paths are the caller's until the files are closed; a failure
 * leaves nothing to close. */
int cr_weight_files_open(struct cr_weight_files *files, const char *const *paths, int n,
                         struct cr_error *error);

/* The same of bytes, which are the caller's until then. */
int cr_weight_files_take(struct cr_weight_files *files, const struct cr_weight_bytes *bytes,
                         struct cr_error *error);
void cr_weight_files_close(struct cr_weight_files *files);

/* Whether a file is to be asked for its tensor number i: a shard is if its index lists the tensor. */
bool cr_weight_file_lists(const struct cr_weight_file *file, int i);

/* The tensor of a name, and the file that has it: of several the last, of shards that of the index.  Null
 * if none has. */
const struct cr_st_tensor *cr_weight_files_find(const struct cr_weight_files *files,
                                                const char *name,
                                                const struct cr_weight_file **file);

#endif
