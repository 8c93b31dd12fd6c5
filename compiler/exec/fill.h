/*
 * fill.h - writing the elements of a tensor to where the kernels read them.
 *
 * They are moved tile by tile, tiles shared between the threads, so that a tensor which is
 * drawn at random or converted from another type never exists as a whole but where the
 * kernels read it.
 */
#ifndef CR_FILL_H
#define CR_FILL_H

#include "compiler/emit/emit.h"

/* A tensor's elements, row-major. */
struct cr_contents {
    const float *data; /* all of them; or null, and then */
    /* makes n of them from `first` on; called by several threads at once */
    void (*read)(const void *context, int64_t first, int64_t n, float *out);
    const void *context;
};

/* Puts parameter `index` of a program where its kernels read it in `weights`. */
void cr_fill_weights(const struct cr_program *program, int index,
                     const struct cr_contents *contents, const struct cr_runtime *rt,
                     struct cr_pool *pool, float *weights);

/* Reads parameter `index` back from its panels in `weights`, as products read it, into a row-major
 * tensor; elements that no product reads stay as they are. */
void cr_read_panels(const struct cr_program *program, int index, const struct cr_runtime *rt,
                    const float *weights, float *tensor);

/* Copies a tensor of n elements as it is. */
void cr_fill_tensor(const struct cr_contents *contents, int64_t n, const struct cr_runtime *rt,
                    struct cr_pool *pool, float *out);

#endif
