/*
 * rounding.h - how far the f32 value of a node may be from its value in double precision.
 *
 * A running error analysis: beside the value of each node stands a bound for each of its elements.  It is
 * made of the bounds of the operands, as the op passes them on, and of what the op's own roundings add:
 * for a sum of n terms n units of the last place of the sum of their magnitudes, in any order.  What
 * kernels leave in memory is taken as it is: its bound is 0.
 */
#ifndef CR_ROUNDING_H
#define CR_ROUNDING_H

#include "ref.h"

/* A unit of rounding: half the distance from 1 to the next float. */
#define CR_UNIT 0x1p-24

/* Writes the bound of node `id` to bound->values[id].  `bound` has the bounds of its operands, `of` its
 * value and theirs; both interpret one graph, but that of `bound` rounds no rows. */
int cr_bound_node(struct cr_interpreter *bound, const struct cr_interpreter *of, cr_id id);

/* The bound 0, for any shape. */
int cr_bound_nothing(struct cr_interpreter *bound, struct cr_view *out);

#endif
