/*
 * pack_tensors.h - writing tensors in the layout that the kernels read.
 *
 * Tensors are moved in pieces (runtime/pack_pieces.h) that the threads share.  So a tensor that is
 * drawn at random or read from a file is never in memory as a whole except where the kernels read
 * it.
 */
#ifndef CR_PACK_TENSORS_H
#define CR_PACK_TENSORS_H

#include "compiler/emit/emit.h"
#include "compiler/ir/error.h"
#include "quantised_columns.h"
#include "runtime/pack_pieces.h"

/* Copies the blocks of n elements from `first` on; both are multiples of a block.  Returns 0, or -1
 * on failure. */
typedef int cr_block_source(const void *context, int64_t first, int64_t n, unsigned char *out);

/* A tensor's elements, row-major. */
struct cr_contents {
    const float *data;     /* all elements, or null: `read` makes them */
    cr_element_source *read; /* makes a range of elements; several threads may call it at once */
    const void *context;
    /* For a matrix that is stored column-major: reads elements in the order of storage, which is
     * faster. Null for other tensors */
    cr_element_source *read_columns;
    int64_t matrix_rows, matrix_cols; /* shape of a column-major matrix */
    /* sets the error of a failed read and returns -1; null if no read can fail */
    int (*fail)(const void *context, struct cr_error *error);
    /* For a tensor that is quantised already, in blocks along the last axis: reads blocks.  They
     * are copied unchanged to panels of the same format that hold them as columns.  Null: no
     * blocks */
    cr_block_source *read_blocks;
    enum cr_quantised blocks;
};

/* Packs parameters first .. first + n - 1 of a program into `weights`.  *contents[i] holds
 * parameter first + i; null leaves it unchanged, and so do data that lie there already.  Returns -1 if some cannot be read; the weights
 * are unusable then. */
int cr_pack_params(const struct cr_program *program, int first, int n,
                    const struct cr_contents *const *contents, const struct cr_runtime *rt,
                    struct cr_pool *pool, float *weights, struct cr_error *error);

/* Returns where `weights` hold all elements of parameter `index` in their order, or null: nowhere. */
float *cr_find_unpacked(const struct cr_program *program, int index, float *weights);

/* Unpacks parameter `index` from its panels in `weights`, as products read it, into a row-major
 * tensor; elements that no product reads stay unchanged. */
void cr_read_panels(const struct cr_program *program, int index, const struct cr_runtime *rt,
                    const float *weights, float *tensor);

/* Copies a tensor of n elements unpacked; -1 if they cannot be read. */
int cr_copy_tensor(const struct cr_contents *contents, int64_t n, const struct cr_runtime *rt,
                   struct cr_pool *pool, float *out, struct cr_error *error);

#endif
