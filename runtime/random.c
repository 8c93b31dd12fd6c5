/*
 * random.c - Philox4x32-10 by the block, and sequences by the group.
 *
 * The template, random.inc, is compiled once with each of vector_*.h; see vector.h.
 */
#include "random.h"

#include <string.h>

#include "vector.h"

/* Makes the numbers of a group. */
typedef void cr_group(const struct cr_sequence *sequence, uint64_t group, float *y);

/* What makes groups, for one instruction set. */
struct cr_groups {
    const char *isa;
    cr_group *uniform, *normal;
};

/* One instance of the template after another; the order matters. */
/* clang-format off */
#include "vector_plain.h"
#include "random.inc"
#include "vector_end.h"

#if CR_X86
#include "vector_avx2.h"
#include "random.inc"
#include "vector_end.h"
#include "vector_avx512.h"
#include "random.inc"
#include "vector_end.h"
#endif
/* clang-format on */

CR_API void cr_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    cr_philox_block(counter, key, out);
}

CR_API float cr_random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return cr_philox_uniform(seed, stream, index);
}

/* What makes the groups of a sequence with the instructions that these kernels use. */
static cr_group *cr_find_group(const struct cr_kernels *rt, enum cr_distribution distribution)
{
    const struct cr_groups *groups = &cr_groups_plain;
#if CR_X86
    if (strcmp(rt->isa, cr_groups_avx2.isa) == 0) {
        groups = &cr_groups_avx2;
    }
    if (strcmp(rt->isa, cr_groups_avx512.isa) == 0) {
        groups = &cr_groups_avx512;
    }
#endif
    (void)rt;
    return distribution == CR_NORMAL ? groups->normal : groups->uniform;
}

/* Whole groups go where they belong, parts by way of a group aside. */
CR_API void cr_random_fill(const struct cr_kernels *rt, const struct cr_sequence *sequence,
                           uint64_t first, size_t n, float *y)
{
    cr_group *make = cr_find_group(rt, sequence->distribution);
    float aside[CR_RANDOM_GROUP];
    size_t count;
    for (size_t i = 0; i < n; i += count) {
        uint64_t group = (first + i) / CR_RANDOM_GROUP;
        size_t skip = (size_t)((first + i) % CR_RANDOM_GROUP), left = CR_RANDOM_GROUP - skip;
        count = left < n - i ? left : n - i;
        make(sequence, group, count == CR_RANDOM_GROUP ? y + i : aside);
        if (count < CR_RANDOM_GROUP) {
            memcpy(y + i, aside + skip, count * sizeof *y);
        }
    }
}
