/*
 * kept_weights.h - packed weights in files, shared between processes.
 *
 * A model's packed weights are written to a file of the user's cache folder.  The next process that
 * loads the same files into the same layout maps that file and reads no weights: all such processes
 * share its pages.
 *
 * The file begins with its key, a text of everything that the weights depend on:
 *
 *     the build id of this library, which the linker writes; without one nothing is kept
 *     the layout: format, shape and places of each parameter, and the bytes of a file that it is
 *     read from, or a hash of its elements if they are in memory
 *     for each file of weights: path, device and number, size, times of the last changes, and a
 *     hash of its header
 *
 * Its name is a hash of the key.  A file with another key is ignored.
 */
#ifndef CR_KEPT_WEIGHTS_H
#define CR_KEPT_WEIGHTS_H

#include "compiler/ir/text.h"
#include "engine.h"

/* A file of weights that is open. */
struct cr_kept_file {
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

/* A file in the key: its resolved path, and its cr_kept_file.header. */
struct cr_kept_source {
    char *path;
    uint64_t header[2];
};

struct cr_kept {
    char *path;         /* file of these weights; null: they cannot be kept */
    struct cr_text key;
    size_t sources_at;  /* the position in the key where the lines about files begin */
    struct cr_kept_source *sources;
    int n_sources;
    bool is_mapped; /* the engine reads its weights from the mapped file */
};

/* Adds bytes to a hash of 128 bits, which starts as zeros. */
void cr_kept_hash(uint64_t hash[2], const void *bytes, size_t n);

/* Searches for cached weights of an engine that would read parameter i from tensors[i], out of n
 * files, and maps them if they exist.  `path` is null if they cannot be cached: the engine
 * interprets or keeps tensors, a file is only in memory, or there is no cache folder. */
void cr_kept_find(struct cr_kept *kept, struct cr_engine *engine, const struct cr_kept_file *files,
                  int n, const struct cr_kept_tensor *tensors);

/* Writes the engine's weights, which were read from those files and are not mapped.  First the
 * least recently used files are removed until all take at most `most` bytes.  Returns the bytes of
 * the file.  Returns 0 with an error, and writes nothing, if that does not suffice, if a file of
 * weights has changed, if less than four times as much is free on the disk, if writing fails, or
 * while another process writes to the folder. */
int64_t cr_kept_write(const struct cr_kept *kept, const struct cr_engine *engine, int64_t most,
                      struct cr_error *error);

void cr_kept_free(struct cr_kept *kept);

#endif
