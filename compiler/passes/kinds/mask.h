/*
 * mask.h - reads masks as predicates on indices.
 *
 * A mask written as where(key <= query, s, -inf) determines the keys that a query sees.  If the
 * condition compares the two indices, the kernel skips blocks of keys that no query of a tile sees,
 * and applies no mask to blocks that all its queries see.
 *
 * A mask that is added, s + where(key <= query, 0, -inf), is read like one that selects: it also
 * hides a score that is NaN or infinite.
 */
#ifndef CR_MASK_H
#define CR_MASK_H

#include "compiler/passes/fuse/evaluate.h"

/*
 * Reads the masks of ev->kernel's logits, evaluated at `map`, into kernel->attention.bounds.  A
 * hidden logit is -inf, or 0 if the logits are the weights themselves (kernel->attention.direct).
 * Stores the masks that the bounds express in full in `visible`, and returns their number.
 *
 * With a key/value cache, the position of a query is its index in the run plus a number known at
 * run time: the row at which a state is written, or a length.  Two assumptions: the sum fits an
 * i32, and the rows of a state after the last visible key are finite.
 */
int cr_find_bounds(struct cr_evaluate *ev, cr_id logits, const struct cr_map *map,
                   struct cr_choice visible[CR_MAX_BOUNDS]);

/* Returns the number of the operand that an op multiplies by a positive number, or -1. */
int cr_scaled_operand(const struct cr_graph *g, cr_id id);

#endif
