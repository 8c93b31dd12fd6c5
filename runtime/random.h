/*
 * random.h - random numbers as pure functions of (seed, stream, index).
 *
 * The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", 2011): no state, so neither the order of the calls nor the number of
 * threads matters.  The seed is its key; stream and block are its counter.  Numbers come
 * in groups of 64 from 16 blocks, so that vectors of blocks make vectors of numbers:
 * number i has word i % 64 / 16 of block i / 64 * 16 + i % 16, and a pair of normal
 * numbers is 16 apart.
 */
#ifndef CR_RANDOM_H
#define CR_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "philox.h"
#include "runtime.h"

#ifndef CR_API
#define CR_API
#endif

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

/* One block: encrypts the counter under the key. */
CR_API void cr_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* y[i] = the number of index first + i; the same bits for every instruction set. */
CR_API void cr_random_fill(const struct cr_kernels *rt, const struct cr_sequence *sequence,
                           uint64_t first, size_t n, float *y);

/* One number of CR_UNIFORM, as it is. */
CR_API float cr_random_uniform(uint64_t seed, uint64_t stream, uint64_t index);

#endif
