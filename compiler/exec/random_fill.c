/*
 * random_fill.c - computes sequences of random numbers, a group of numbers at a time.
 *
 * The template, random_fill.inc, is compiled once with each of vector_*.h; see runtime/vector.h.
 */
#include "random_fill.h"

#include <string.h>

#include "runtime/philox.h"
#include "runtime/vector.h"

/* A function that computes the numbers of one group. */
typedef void cr_group(const struct cr_sequence *sequence, uint64_t group, float *y);

/* The functions that compute a group of random numbers, for one instruction set. */
struct cr_groups {
    const char *isa;
    cr_group *uniform, *normal;
};

/* The instances of the template, one for each include; their order matters. */
/* clang-format off */
#include "runtime/vector_plain.h"
#include "random_fill.inc"
#include "runtime/vector_end.h"

#if CR_X86
#include "runtime/vector_avx2.h"
#include "random_fill.inc"
#include "runtime/vector_end.h"
#include "runtime/vector_avx512.h"
#include "random_fill.inc"
#include "runtime/vector_end.h"
#endif

#if CR_NEON
#include "runtime/vector_neon.h"
#include "random_fill.inc"
#include "runtime/vector_end.h"
#endif
/* clang-format on */

/* Returns the function that computes groups of a distribution with the runtime's instruction
 * set. */
static cr_group *find_group(const struct cr_runtime *rt, enum cr_distribution distribution)
{
    static const struct cr_groups *const all[] = {
        &cr_groups_plain,
#if CR_X86
        &cr_groups_avx2,
        &cr_groups_avx512,
#endif
#if CR_NEON
        &cr_groups_neon,
#endif
    };
    const size_t n = sizeof all / sizeof *all;
    const struct cr_groups *groups = all[n - 1]; /* runtime levels past the table use AVX-512's
                                                  * vectors, too */
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rt->isa, all[i]->isa) == 0) {
            groups = all[i];
        }
    }
    return distribution == CR_NORMAL ? groups->normal : groups->uniform;
}

/* Writes whole groups directly to y.  Incomplete groups at both ends are copied from a temporary
 * group. */
void cr_random_fill(const struct cr_runtime *rt, const struct cr_sequence *sequence, uint64_t first,
                    size_t n, float *y)
{
    cr_group *make = find_group(rt, sequence->distribution);
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
