/*
 * lengths.h - the rules by which the sizes of a node are lengths.
 *
 * An input says which of its axes are lengths, and so may constants, indices, what is repeated and a
 * `limit`; the rest follows.  What is computed from a length's axis has one there.  An axis of the
 * bound's size that meets a length, as that of a table of positions does, is read from its beginning:
 * elements past the length do not exist.  A reduction over a length has as many terms as there are.
 *
 * A length cannot be cut, joined or merged: slice and concat take such an axis as a whole, and a
 * reshape keeps it as an axis of its own.
 */
#ifndef CR_LENGTHS_H
#define CR_LENGTHS_H

#include "graph.h"

/*
 * Infers node->lengths, zeros before, from the operands `in` and, of an op that cr_takes_lengths, from
 * what is asked for by axis.  The node, whose shape is known, need not be in the graph.  False with
 * g->error if a length cannot go through the op.
 */
bool cr_infer_lengths(struct cr_graph *g, struct cr_node *node, const cr_id *in,
                      const signed char *asked);

#endif
