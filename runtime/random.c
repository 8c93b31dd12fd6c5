/*
 * random.c - Philox4x32-10 and the two distributions made from it.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "random.h"

enum { CR_PHILOX_ROUNDS = 10 };

CR_API void cr_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < CR_PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * c0;
        uint64_t p1 = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9e3779b9u; /* the golden ratio */
        k1 += 0xbb67ae85u; /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The block that holds the numbers of index 4 * block to 4 * block + 3. */
static void cr_random_block(uint64_t seed, uint64_t stream, uint64_t block, uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    cr_philox(counter, key, out);
}

static float cr_uniform_of_word(const uint32_t words[4], int i)
{
    return (float)(words[i] >> 8) * 0x1p-24f;
}

/* Words 0 and 1 make two numbers, 2 and 3 another two: the point (radius, angle) in x and y. */
static float cr_normal_of_word(const uint32_t words[4], int i)
{
    const uint32_t *pair = words + (i & 2);
    double radius = sqrt(-2.0 * log(((double)pair[0] + 1.0) * 0x1p-32));
    double angle = 6.283185307179586477 * ((double)pair[1] * 0x1p-32);
    return (float)(radius * (i & 1 ? sin(angle) : cos(angle)));
}

CR_API float cr_random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t words[4];
    cr_random_block(seed, stream, index / 4, words);
    return cr_uniform_of_word(words, (int)(index % 4));
}

CR_API float cr_random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t words[4];
    cr_random_block(seed, stream, index / 4, words);
    return cr_normal_of_word(words, (int)(index % 4));
}

/* Fills y by `of_word`, making each block once. */
static void cr_random_fill(float *y, size_t n, uint64_t seed, uint64_t stream, uint64_t first,
                           float (*of_word)(const uint32_t words[4], int i))
{
    uint32_t words[4];
    for (size_t i = 0; i < n; i++) {
        uint64_t index = first + i;
        if (i == 0 || index % 4 == 0) {
            cr_random_block(seed, stream, index / 4, words);
        }
        y[i] = of_word(words, (int)(index % 4));
    }
}

CR_API void cr_random_fill_uniform(float *y, size_t n, uint64_t seed, uint64_t stream,
                                   uint64_t first)
{
    cr_random_fill(y, n, seed, stream, first, cr_uniform_of_word);
}

CR_API void cr_random_fill_normal(float *y, size_t n, uint64_t seed, uint64_t stream,
                                  uint64_t first)
{
    cr_random_fill(y, n, seed, stream, first, cr_normal_of_word);
}
