/*
 * lifetimes.h - finds the live ranges of values, and assigns values to parts of the arena.
 *
 * Time is counted in kernels: each iteration of a loop counts, and entries follow one another.  A
 * value is written and read by kernels of one entry, so values of two entries are never live at the
 * same time: all entries use one arena, as large as the largest entry needs.  Each value has its
 * own part, except values that a loop writes in its iterations:
 *
 *   read in its own iteration only        all iterations share a part
 *   read in the next (residual stream)    two parts, used round-robin
 *   read later (by a backward pass)       kept: iteration i has layer i of a part
 *
 * A value may also share the part of an operand that is read last to compute it (reuse_operands.h).
 *
 * Loops over the same layers (except the first or the last) keep their values in one such part, a
 * *stack*.  Its layers have equal distances, so that a loop computes the address of a layer by a
 * multiplication.  Values of a layer that are never live at the same time share memory.
 */
#ifndef CR_LIFETIMES_H
#define CR_LIFETIMES_H

#include "compiler/passes/module/module.h"

enum { CR_ALIGN = 16 }; /* floats in a cache line; parts begin at a multiple of it */

static inline int64_t cr_align(int64_t floats)
{
    return (floats + CR_ALIGN - 1) / CR_ALIGN * CR_ALIGN;
}

/* A part of the arena: its size and offset, in floats. */
struct cr_part {
    int64_t floats, offset;
};

struct cr_lifetimes {
    int *first, *last; /* by node: the first and the last kernel of the node's live range, or -1 */
    int64_t *floats;   /* by node: the node's size in the arena */
    int *part;         /* by node: the number of its part, or -1 if it is not in the arena */
    int64_t *within;   /* by node: the offset from the start of the node's part, in floats */
    cr_id *over;       /* by node: the operand over which the node is stored (reuse_operands.h), or
                          CR_NONE */
    struct cr_part *parts;
    int n, cap;
    int64_t most_live; /* the most floats of values that are live at the same time */
};

/* Finds the live ranges of the values of a module's kernels, and their parts, if kernels run in the
 * given loops. */
void cr_lifetimes_find(struct cr_lifetimes *lifetimes, const struct cr_module *module,
                       const struct cr_loop *loops, int n_loops);
void cr_lifetimes_free(struct cr_lifetimes *lifetimes);

#endif
