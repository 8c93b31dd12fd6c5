/*
 * lengths.h - infers which sizes of a node are lengths, that is, run-time sizes.
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
