/*
 * kept_weights.h - keeps packed weights in files that processes share.
 *
 * A model's packed weights are written to a file of the user's cache folder (kept_file.h).  The
 * next process that loads the same files into the same layout maps that file instead of reading
 * the weights: all such processes share its pages.
 *
 * The key of the kept file describes the layout: format, shape and position of each parameter,
 * and the bytes of a file from which it is read, or a hash of its elements if they are in memory.
 * Its sources are the files of weights, each with a hash of its header.
 */
#ifndef CR_KEPT_WEIGHTS_H
#define CR_KEPT_WEIGHTS_H

#include "engine.h"
#include "kept_file.h"

/* An open file of weights. */
struct cr_kept_weight_file {
    const char *path;
    const struct cr_mapping *mapping;
    uint64_t header[2]; /* a hash of the file's header, which describes the tensors */
};

/* The tensor from which a parameter is read. */
struct cr_kept_tensor {
    int file;         /* index of its file; CR_NONE if it is only in memory */
    const void *data; /* its bytes, in the file's mapping or in memory */
    size_t bytes;     /* its size in bytes if it is in memory */
    const char *name;
    char type[32]; /* its element type in the file */
};

struct cr_kept {
    struct cr_kept_key key; /* has no path if the weights cannot be kept */
    bool is_mapped; /* true if the engine's weights are mapped from the kept file */
};

/* Searches for the kept weights of an engine that would read parameter i from tensors[i], out of
 * n files, and maps them if they exist.  kept->key has no path if they cannot be kept: the engine
 * interprets or keeps tensors, a file of weights is only in memory, or there is no cache folder. */
void cr_kept_find(struct cr_kept *kept, struct cr_engine *engine, const struct cr_kept_weight_file *files,
                  int n, const struct cr_kept_tensor *tensors);

/* Writes the kept file of an engine whose weights were read, not mapped, after cr_kept_find.
 * Returns as cr_kept_store does. */
int64_t cr_kept_write(const struct cr_kept *kept, const struct cr_engine *engine, int64_t most,
                      struct cr_error *error);

void cr_kept_free(struct cr_kept *kept);

#endif
