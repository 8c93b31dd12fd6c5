/*
 * mask.h - masks as predicates on indices.
 *
 * A mask written as where(key <= query, s, -inf) says which keys a query sees.  Where the
 * condition compares the two indices, blocks of keys that no query of a tile sees are
 * skipped, and blocks that all see need no mask at all.
 *
 * A mask that is added, s + where(key <= query, 0, -inf), is read like one that selects: it also
 * hides a score that is NaN or infinite.
 */
#ifndef CR_MASK_H
#define CR_MASK_H

#include "compiler/passes/fuse/evaluate.h"

/*
 * Where queries go on from tokens before, their index is that in the run plus a position, which is known
 * when the model runs: where a state is written, or a length.  It is taken to be so small that the sum is
 * an i32, and what a state holds behind the rows that any query sees to be finite.
 *
 * Reads the masks at the top of ev->kernel's logits, evaluated at `map`, into
 * kernel->attention.bounds: what they hide is -inf, or 0 if the logits are weights themselves
 * (kernel->attention.direct), and the masks that the bounds express in full into `visible`.
 * Returns their number.
 */
int cr_find_bounds(struct cr_evaluate *ev, cr_id logits, const struct cr_map *map,
                   struct cr_choice visible[CR_MAX_BOUNDS]);

/* The operand that an op multiplies by a positive number, or -1. */
int cr_scaled_operand(const struct cr_graph *g, cr_id id);

#endif
