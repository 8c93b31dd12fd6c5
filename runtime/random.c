/*
 * random.c - two distributions made from Philox4x32-10.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "philox.h"
#include "random.h"

CR_API void cr_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    cr_philox_rounds(counter, key, out);
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
