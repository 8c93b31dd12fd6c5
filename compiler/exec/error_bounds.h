/*
 * error_bounds.h - bounds how far the f32 value of a node may be from its value in double precision.
 *
 * This is a running error analysis: each element of each node has a bound.  The bound is the sum of
 * the operands' bounds, as the op propagates them, and of the op's own rounding errors: for a sum
 * of n terms in any order, n units in the last place of the sum of their magnitudes.  Values that
 * kernels left in memory count as exact: their bound is 0.
 */
#ifndef CR_ERROR_BOUNDS_H
#define CR_ERROR_BOUNDS_H

#include "interpreter.h"

/* A unit of rounding: half the distance from 1 to the next float. */
#define CR_UNIT 0x1p-24

/* Writes the bound of node `id` to bound->values[id].  `bound` holds the bounds of its operands,
 * `of` its value and theirs.  Both interpret the same graph, but `bound` rounds no rows. */
int cr_bound_node(struct cr_interpreter *bound, const struct cr_interpreter *of, cr_id id);

/* The bound of exact values: 0, for any shape. */
int cr_bound_nothing(struct cr_interpreter *bound, struct cr_view *out);

#endif
