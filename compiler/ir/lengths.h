/*
 * lengths.h - infers which sizes of a node are lengths, that is, known only at run time.
 *
 * Inputs declare which of their axes are lengths; const, iota, expand and limit may do so, too.
 * Lengths of other nodes are inferred: an axis is a length if the operand axis that it comes from
 * is one.  An op may combine a length with an axis whose size is the length's bound, such as the
 * axis of a table of positions: then it reads only the beginning of that axis, since elements
 * past the length do not exist.  A reduction over a length has as many terms as the length's
 * value.
 *
 * An axis with a length cannot be sliced, concatenated or merged: slice and concat keep such an
 * axis whole, and a reshape keeps it as a separate axis.
 *
 * A ragged length (cr_length.batch) has a value for each row of a batch.  In a node that has the
 * axis of the batch, left of the axis of the length, each row ends at its own value.  In a node
 * without the axis of the batch, such as a table of positions that all rows share, the axis has
 * the size of the bound, and an op that combines the node with rows reads the beginning of that
 * axis.  A sum over the length keeps the axis of the batch; no op may remove that axis while a
 * ragged axis is left.
 */
#ifndef CR_LENGTHS_H
#define CR_LENGTHS_H

#include "graph.h"

/*
 * Infers node->lengths, which must be zero on entry, from the operands `in` and, for ops of
 * cr_takes_lengths, from `asked`, the declared length by axis.  The node has a shape and need not
 * be in the graph.  Returns false and sets g->error if the op does not allow a length.
 */
bool cr_infer_lengths(struct cr_graph *g, struct cr_node *node, const cr_id *in,
                      const signed char *asked);

/* Returns the axis of a node that is the batch of a ragged length; CR_NONE if the node has no
 * such axis or the length is not ragged.  `length` is 1 + an index, as in cr_node.lengths. */
int cr_batch_axis(const struct cr_graph *g, const struct cr_node *node, int length);

#endif
