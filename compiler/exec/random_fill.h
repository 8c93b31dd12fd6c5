/*
 * random_fill.h - the random numbers that parameters and inputs begin with.
 *
 * A number is a function of (seed, stream, index); runtime/philox.h says which.  Neither the
 * order of the calls nor the number of threads matters.  A pair of normal numbers is 16 apart.
 */
#ifndef CR_RANDOM_FILL_H
#define CR_RANDOM_FILL_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"

enum cr_distribution {
    CR_UNIFORM, /* 0 <= u < 1, a multiple of 2^-24 */
    CR_NORMAL   /* standard normal, at most 6.8, by Box and Muller's transform */
};

/* The numbers scale * x + shift, rounded once. */
struct cr_sequence {
    uint64_t seed, stream;
    enum cr_distribution distribution;
    float scale, shift;
};

/* y[i] = the number of index first + i; the same bits for every instruction set. */
void cr_random_fill(const struct cr_runtime *rt, const struct cr_sequence *sequence, uint64_t first,
                    size_t n, float *y);

#endif
