/*
 * weight_files.h - opens the files that parameters come from: safetensors, GGUF, and folders in
 * Hugging Face's layout, with model.safetensors or with the shards listed in
 * model.safetensors.index.json; also such an index by itself.  A folder of sentence-transformers
 * has another model.safetensors for each Dense and LayerNorm in modules.json; the names of its
 * tensors are prefixed by the folder of the module: "2_Dense.linear.weight".
 */
#ifndef CR_WEIGHT_FILES_H
#define CR_WEIGHT_FILES_H

#include <stdbool.h>

#include "compiler/files/safetensors.h"
#include "compiler/ir/error.h"
#include "gguf_weights.h"

/* True if a path is a folder. */
bool cr_is_folder(const char *path);

/* True if there is a file at `path` whose name ends like those that torch.save writes, such as
 * ".bin".  They are zip archives or pickles, which this program does not read. */
bool cr_is_torch_file(const char *path);

/* True if a name or a path ends in a text. */
bool cr_ends_in(const char *text, const char *end);

/* Returns FOLDER/NAME; the caller frees it. */
char *cr_path_in(const char *folder, const char *name);

/* An open file.  `path` is the file's own path, `asked` the caller's path that led to it. */
struct cr_weight_file {
    struct cr_safetensors file;
    struct cr_gguf_weights *gguf; /* the GGUF file whose tensors `file` lists; null for other
                                   * files */
    char *path;
    const char *asked;
    bool borrowed; /* true if the caller owns the bytes */
    bool *listed; /* for a shard, by tensor: true if the index lists it in this shard; else null */
    char *names;  /* for a module's file: memory of the tensors' names; else null */
};

/* A tensor that can be read as floats, with its file. */
struct cr_file_tensor {
    const struct cr_safetensors *file;
    const struct cr_st_tensor *tensor;
};

/* A file of weights in memory; messages show `name` instead of a path. */
struct cr_weight_bytes {
    const char *name;
    const void *bytes;
    size_t length;
};

struct cr_weight_files {
    struct cr_weight_file *items;
    int n, cap;
};

/* Opens the files at n paths, which must stay valid until the files are closed.  After a failure
 * there is nothing to close. */
int cr_weight_files_open(struct cr_weight_files *files, const char *const *paths, int n,
                         struct cr_error *error);

/* Opens, as cr_weight_files_open does, one file whose bytes are in memory and stay valid until
 * the files are closed. */
int cr_weight_files_take(struct cr_weight_files *files, const struct cr_weight_bytes *bytes,
                         struct cr_error *error);
void cr_weight_files_close(struct cr_weight_files *files);

/* True if tensor i of a file may be used: in a shard only if the index lists the tensor in that
 * shard. */
bool cr_weight_file_lists(const struct cr_weight_file *file, int i);

/* Finds a tensor by name, and sets *file to its file: the last file that contains the tensor;
 * among shards, the file that the index names.  Returns null if no file contains it. */
const struct cr_st_tensor *cr_weight_files_find(const struct cr_weight_files *files,
                                                const char *name,
                                                const struct cr_weight_file **file);

#endif
