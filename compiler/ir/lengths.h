/*
 * lengths.h - infers which sizes of a node are lengths, that is, run-time sizes.
 *
 * Inputs declare which of their axes are lengths; const, iota, expand and limit may do so, too.
 * Lengths of other nodes are inferred.  An axis is a length if the operand axis that it comes from
 * is one.  If an axis whose size is the bound is combined with a length, as that of a table of
 * positions is, it is read from its start: elements past the length do not exist.  A reduction over
 * a length has that many terms.
 *
 * A length cannot be sliced, concatenated or merged: slice and concat keep such an axis whole, and
 * a reshape keeps it as a separate axis.
 *
 * A ragged length (cr_length.batch) ends by row where the node has the batch's axis, left of it.
 * Where the node has no such axis, as a table of positions that is the same for all rows, it stands
 * for its bound: an op that joins it with rows reads its beginning.  A sum over the length keeps
 * the batch's axis; nothing takes the axis away before the length is gone.
 */
#ifndef CR_LENGTHS_H
#define CR_LENGTHS_H

#include "graph.h"

/*
 * Infers node->lengths, which must be zero, from the operands `in` and, for ops of
 * cr_takes_lengths, from `asked`, the declared length by axis.  The node has a shape and need not
 * be in the graph.  Returns false and sets g->error if a length cannot go through the op.
 */
bool cr_infer_lengths(struct cr_graph *g, struct cr_node *node, const cr_id *in,
                      const signed char *asked);

/* Returns the axis that counts the rows of a ragged length in a node; CR_NONE if the node has none
 * or the length is not ragged.  `length` is as in cr_node.lengths. */
int cr_batch_axis(const struct cr_graph *g, const struct cr_node *node, int length);

#endif
