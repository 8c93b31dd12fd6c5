/*
 * kept_weights.h - packed weights in files, shared between processes.
 *
 * A model's packed weights are written to a file of the user's cache folder (kept_file.h).  The
 * next process that loads the same files into the same layout maps that file and reads no weights:
 * all such processes share its pages.
 *
 * The file's key has the layout: format, shape and places of each parameter, and the bytes of a file
 * that it is read from, or a hash of its elements if they are in memory.  Its sources are the files
 * of weights, each with a hash of its header.
 */
#ifndef CR_KEPT_WEIGHTS_H
#define CR_KEPT_WEIGHTS_H

#include "engine.h"
#include "kept_file.h"

/* A file of weights that is open. */
struct cr_kept_weight_file {
    const char *path;
    const struct cr_mapping *mapping;
    uint64_t header[2]; /* a hash of the header that describes its tensors */
};

/* The tensor that a parameter is read from. */
struct cr_kept_tensor {
    int file;         /* the index of its file, or CR_NONE if it is only in memory */
    const void *data; /* in the file's mapping, or in memory */
    size_t bytes;     /* size, if it is in memory */
    const char *name;
    char type[32]; /* element type of the file */
};

struct cr_kept {
    struct cr_kept_key key; /* without a path if the weights cannot be kept */
    bool is_mapped; /* the engine reads its weights from the mapped file */
};

/* Searches for cached weights of an engine that would read parameter i from tensors[i], out of n
 * files, and maps them if they exist.  The key has no path if they cannot be cached: the engine
 * interprets or keeps tensors, a file is only in memory, or there is no cache folder. */
void cr_kept_find(struct cr_kept *kept, struct cr_engine *engine, const struct cr_kept_weight_file *files,
                  int n, const struct cr_kept_tensor *tensors);

/* Writes the engine's weights, which were read from those files and are not mapped; see
 * cr_kept_store. */
int64_t cr_kept_write(const struct cr_kept *kept, const struct cr_engine *engine, int64_t most,
                      struct cr_error *error);

void cr_kept_free(struct cr_kept *kept);

#endif
