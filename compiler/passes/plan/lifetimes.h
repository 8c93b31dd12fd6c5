/*
 * lifetimes.h - from when to when values are alive, and which of them share a part of the arena.
 *
 * Time is counted in kernels, all iterations of loops one by one, entry after entry.  A value is made
 * and read by kernels of one entry, so values of two are never alive together: one arena serves
 * whichever entry runs, and is as large as the largest needs it.  Values have a part each,
 * but for those that kernels of a loop make in its iterations:
 *
 *   needed in its own iteration only      all iterations share a part
 *   handed to the next (residual stream)  two parts, used in turns
 *   needed later (by a backward pass)     kept: iteration i has its place in layer i of a part
 *
 * What loops over the same layers (but for the first or the last) keep lies in one such part, a
 * *stack*: layers at equal distances, so that a loop finds its way by one multiplication.  Within a layer, values that
 * are never alive together share their place.
 */
#ifndef CR_LIFETIMES_H
#define CR_LIFETIMES_H

#include "compiler/passes/module/module.h"

enum { CR_ALIGN = 16 }; /* floats: a cache line */

static inline int64_t cr_align(int64_t floats)
{
    return (floats + CR_ALIGN - 1) / CR_ALIGN * CR_ALIGN;
}

/* A part of the arena. */
struct cr_part {
    int64_t floats, offset;
};

struct cr_lifetimes {
    int *first, *last; /* by node: the kernels from which to which it is alive, or -1 */
    int64_t *floats;   /* by node: what it takes in the arena */
    int *part;         /* by node, or -1: it does not lie in the arena */
    int64_t *within;   /* by node: floats from the start of its part */
    struct cr_part *parts;
    int n, cap;
    int64_t most_live; /* floats of values that are alive at once */
};

/* Of the values that a module's kernels make, if these go in so many loops. */
void cr_lifetimes_find(struct cr_lifetimes *lifetimes, const struct cr_module *module,
                       const struct cr_loop *loops, int n_loops);
void cr_lifetimes_free(struct cr_lifetimes *lifetimes);

#endif
