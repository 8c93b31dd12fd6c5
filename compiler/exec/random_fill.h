/*
 * random_fill.h - computes the random numbers with which parameters and inputs are initialised.
 *
 * A number is a function of (seed, stream, index); runtime/philox.h defines it.  So neither the
 * order of calls nor the number of threads matters.  The two normal numbers of a Box-Muller pair
 * have indices 16 apart.
 */
#ifndef CR_RANDOM_FILL_H
#define CR_RANDOM_FILL_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"

enum cr_distribution {
    CR_UNIFORM, /* uniform in 0 <= u < 1, a multiple of 2^-24 */
    CR_NORMAL   /* standard normal, of magnitude at most 6.8, by the Box-Muller transform */
};

/* A sequence of numbers scale * x + shift, rounded once, where x has the distribution. */
struct cr_sequence {
    uint64_t seed, stream;
    enum cr_distribution distribution;
    float scale, shift;
};

/* Sets y[i] to number first + i of the sequence; the bits are the same for every instruction
 * set. */
void cr_random_fill(const struct cr_runtime *rt, const struct cr_sequence *sequence, uint64_t first,
                    size_t n, float *y);

#endif
