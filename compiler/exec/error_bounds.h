/*
 * error_bounds.h - bounds the difference between the f32 value of a node and its value in double
 * precision.
 *
 * This is a running error analysis: each element of each node has a bound.  The bound is the sum
 * of the operands' bounds, as the op propagates them, and of the op's own rounding errors: for a
 * sum of n terms in any order, n units in the last place of the sum of their magnitudes.  Values
 * that kernels stored in memory count as exact: their bound is 0.
 */
#ifndef CR_ERROR_BOUNDS_H
#define CR_ERROR_BOUNDS_H

#include "interpreter.h"

/* A unit of rounding: half the distance from 1 to the next float. */
#define CR_UNIT 0x1p-24

/* Writes the bound of node `id` to bound->values[id].  `bound` holds the bounds of the node's
 * operands; `of` holds the values of the node and its operands.  Both interpret the same graph,
 * but `bound` does not round rows. */
int cr_bound_node(struct cr_interpreter *bound, const struct cr_interpreter *of, cr_id id);

/* Writes a bound of 0 for all elements; the view has stride 0 and fits any shape. */
int cr_bound_nothing(struct cr_interpreter *bound, struct cr_view *out);

#endif
