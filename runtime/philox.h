/*
 * philox.h - random numbers as pure functions of (seed, stream, index).
 *
 * The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", 2011): no state, so neither the order of the calls nor the number of
 * threads matters.  The seed is its key; stream and block are its counter.  Numbers come
 * in groups of 64 from 16 blocks, so that vectors of blocks make vectors of numbers:
 * number i has word i % 64 / 16 of block i / 64 * 16 + i % 16.
 */
#ifndef CR_PHILOX_H
#define CR_PHILOX_H

#include <stdint.h>

enum {
    CR_PHILOX_ROUNDS = 10,
    CR_RANDOM_BLOCKS = 16,                  /* the blocks of a group */
    CR_RANDOM_GROUP = 4 * CR_RANDOM_BLOCKS, /* the numbers of a group */
};

#define CR_PHILOX_M0 0xd2511f53u
#define CR_PHILOX_M1 0xcd9e8d57u
#define CR_PHILOX_K0 0x9e3779b9u /* the golden ratio */
#define CR_PHILOX_K1 0xbb67ae85u /* sqrt(3) - 1 */

/* Computes one block: encrypts the counter with the key. */
static inline void cr_philox_block(const uint32_t counter[4], const uint32_t key[2],
                                   uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < CR_PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)CR_PHILOX_M0 * c0;
        uint64_t p1 = (uint64_t)CR_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += CR_PHILOX_K0;
        k1 += CR_PHILOX_K1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Returns number `index` of a stream, uniform in 0 <= u < 1. */
#if defined(__GNUC__) && !defined(__TINYC__)
__attribute__((unused)) /* in case a file uses only blocks */
#endif
static inline float cr_philox_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    const uint64_t block = index / CR_RANDOM_GROUP * CR_RANDOM_BLOCKS + index % CR_RANDOM_BLOCKS;
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    uint32_t words[4];
    cr_philox_block(counter, key, words);
    return (float)(words[index % CR_RANDOM_GROUP / CR_RANDOM_BLOCKS] >> 8) * 0x1p-24f;
}

#endif
