/*
 * random.h - random numbers as pure functions of (seed, stream, index).
 *
 * The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", 2011): no state, so neither the order of the calls nor the number of
 * threads matters.  The seed is its key; stream and index / 4 are its counter.
 */
#ifndef CR_RANDOM_H
#define CR_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#ifndef CR_API
#define CR_API
#endif

/* One block: encrypts the counter under the key. */
CR_API void cr_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Uniform in 0 <= u < 1, a multiple of 2^-24. */
CR_API float cr_random_uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* Standard normal, by Box and Muller's transform in double precision. */
CR_API float cr_random_normal(uint64_t seed, uint64_t stream, uint64_t index);

/* y[i] = the number of index first + i */
CR_API void cr_random_fill_uniform(float *y, size_t n, uint64_t seed, uint64_t stream,
                                   uint64_t first);
CR_API void cr_random_fill_normal(float *y, size_t n, uint64_t seed, uint64_t stream,
                                  uint64_t first);

#endif
