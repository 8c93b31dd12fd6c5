/*
 * kept_weights.h - packed weights in files, from one process to the next.
 *
 * A model's weights, where its kernels read them, are written to a file of the user's cache folder.  The
 * next process that loads the same files into the same layout maps it, and reads no weights: all such
 * processes share its pages.
 *
 * The file begins with its key, a text that says what the weights depend on:
 *
 *     the build of this library, as its linker's build id has it; without one nothing is kept
 *     the layout: format, size and place of each parameter, and the tensor that it is read from
 *     of each file of weights: path, device and number, size, times of the last changes, and a
 *     hash of its header
 *
 * Its name is a hash of the key, and a file with another key counts as none.
 */
#ifndef CR_KEPT_WEIGHTS_H
#define CR_KEPT_WEIGHTS_H

#include "compiler/ir/text.h"
#include "engine.h"
#include "weight_files.h"

/* A file of weights as it was when it was opened. */
struct cr_kept_source {
    char *path;
    uint64_t header[2]; /* hash of its bytes in front of the tensors */
};

struct cr_kept {
    char *path;         /* of the file; null: these weights cannot be kept */
    struct cr_text key;
    size_t sources_at;  /* where the key's lines of files begin */
    struct cr_kept_source *sources;
    int n_sources;
    bool is_mapped; /* the engine reads its weights from the mapped file */
};

/* Looks for the weights of an engine that are about to be read from `files`, parameter i from tensors[i], and
 * maps them if they are kept.  The struct has no path if they cannot be: the engine interprets or keeps
 * tensors, the files are in memory only, or there is no cache folder. */
void cr_kept_find(struct cr_kept *kept, struct cr_engine *engine, const struct cr_weight_files *files,
                  const struct cr_file_tensor *tensors);

/* Writes the engine's weights, which were read from those files and are not mapped.  First the files that were
 * used longest ago are removed until all take at most `most` bytes.  Returns the bytes of the file.  Returns 0
 * with an error, and nothing is written, if that does not suffice, if a file of weights has changed, if less
 * than four times as much is free on the disk, if writing fails, or while another process writes to the
 * folder. */
int64_t cr_kept_write(const struct cr_kept *kept, const struct cr_engine *engine, int64_t most,
                      struct cr_error *error);

void cr_kept_free(struct cr_kept *kept);

#endif
