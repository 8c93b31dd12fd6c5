/*
 * pack_tensors.h - packs tensors into the layout that the kernels read.
 *
 * Threads share the work in pieces (runtime/pack_pieces.h).  So a tensor that is drawn at random
 * or read from a file is never in memory as a whole, except in the packed layout.
 */
#ifndef CR_PACK_TENSORS_H
#define CR_PACK_TENSORS_H

#include "compiler/emit/emit.h"
#include "compiler/ir/error.h"
#include "quantised_columns.h"
#include "runtime/pack_pieces.h"

/* Copies the quantised blocks of n elements from `first` on to `out`; `first` and n are multiples
 * of a block.  Returns -1 on failure, else 0. */
typedef int cr_block_source(const void *context, int64_t first, int64_t n, unsigned char *out);

/* A tensor's elements, in row-major order, and the functions that read them. */
struct cr_contents {
    const float *data;     /* all elements; null: `read` must be called */
    cr_element_source *read; /* reads a range of elements; several threads may call it at once */
    const void *context;
    /* For a matrix that a file stores column-major: reads elements in the file's order, which is
     * faster. Null for other tensors */
    cr_element_source *read_columns;
    int64_t matrix_rows, matrix_cols; /* rows and columns of that matrix */
    /* sets the error after a failed read and returns -1; null if reading cannot fail */
    int (*fail)(const void *context, struct cr_error *error);
    /* For a tensor that is stored quantised, in blocks along the last axis: reads blocks.  They
     * are copied unchanged into panels of the same format if they become columns there.  Null for
     * other tensors */
    cr_block_source *read_blocks;
    enum cr_quantised blocks;
};

/* Packs parameters first .. first + n - 1 of a program into `weights`.  *contents[i] is parameter
 * first + i. A parameter stays unchanged if contents[i] is null or if its data are already there.
 * Returns -1 with an error if a tensor cannot be read; then the weights are undefined. */
int cr_pack_params(const struct cr_program *program, int first, int n,
                    const struct cr_contents *const *contents, const struct cr_runtime *rt,
                    struct cr_pool *pool, float *weights, struct cr_error *error);

/* Returns the address in `weights` of the elements of parameter `index`, if they are stored
 * unpacked in row-major order; else null. */
float *cr_find_unpacked(const struct cr_program *program, int index, float *weights);

/* Unpacks parameter `index`, as products read it, from its panels in `weights` into a row-major
 * tensor. Elements that no product reads are not written. */
void cr_read_panels(const struct cr_program *program, int index, const struct cr_runtime *rt,
                    const float *weights, float *tensor);

/* Copies the n elements of a tensor to `out` in row-major order; returns -1 with an error if they
 * cannot be read. */
int cr_copy_tensor(const struct cr_contents *contents, int64_t n, const struct cr_runtime *rt,
                   struct cr_pool *pool, float *out, struct cr_error *error);

#endif
