/*
 * fill.h - writing the elements of tensors to where the kernels read them.
 *
 * They are moved piece by piece (runtime/place_pieces.h), pieces shared between the threads, so that a tensor
 * which is drawn at random or read from a file never exists as a whole but where the kernels read it.
 */
#ifndef CR_FILL_H
#define CR_FILL_H

#include "compiler/emit/emit.h"
#include "compiler/ir/error.h"
#include "quantised_columns.h"
#include "runtime/place_pieces.h"

/* Copies the blocks of n elements from `first` on, whole ones; 0, or -1 if that fails. */
typedef int cr_block_source(const void *context, int64_t first, int64_t n, unsigned char *out);

/* A tensor's elements, row-major. */
struct cr_contents {
    const float *data;     /* all of them; or null, and then */
    cr_place_source *read; /* makes some; called by several threads at once */
    const void *context;
    /* For a matrix that is stored column-major: makes elements in the order of storage, which is
     * faster.  Null for other tensors */
    cr_place_source *read_columns;
    int64_t matrix_rows, matrix_cols; /* of such a matrix */
    /* the error after a failed read, returns -1; null if none fails */
    int (*fail)(const void *context, struct cr_error *error);
    /* What was quantised already, in blocks along the last axis: they are placed as they are where
     * panels are in their format, and hold them as columns.  Null: no blocks */
    cr_block_source *read_blocks;
    enum cr_quantised blocks;
};

/* Puts parameters first .. first + n - 1 of a program where its kernels read them in `weights`;
 * *contents[i] are those of parameter first + i, which stays as it is where that is null.  If some
 * cannot be read, that is -1, and the weights are of no use. */
int cr_fill_weights(const struct cr_program *program, int first, int n,
                    const struct cr_contents *const *contents, const struct cr_runtime *rt,
                    struct cr_pool *pool, float *weights, struct cr_error *error);

/* Reads parameter `index` back from its panels in `weights`, as products read it, into a row-major
 * tensor; elements that no product reads stay as they are. */
void cr_read_panels(const struct cr_program *program, int index, const struct cr_runtime *rt,
                    const float *weights, float *tensor);

/* Copies a tensor of n elements as it is; -1 if they cannot be read. */
int cr_fill_tensor(const struct cr_contents *contents, int64_t n, const struct cr_runtime *rt,
                   struct cr_pool *pool, float *out, struct cr_error *error);

#endif
