/*
 * match_graphs.h - matches the nodes of two graphs that one script built with different options.
 *
 * With other options the script may build more or fewer nodes: more layers, more steps of a
 * recurrence, a copy of shared heads.
 */
#ifndef CR_MATCH_GRAPHS_H
#define CR_MATCH_GRAPHS_H

#include "compiler/ir/graph.h"

/*
 * Returns, for each node of g, the node of `other` that the script built in the same place, or
 * CR_NONE; sets *n to the number of matched nodes.  Two nodes match if they have the same op, rank,
 * name, scope, lines and axes, if equally many nodes of the same place precede them, and if their
 * operands match or have no match.  Outputs without a match by these rules are matched by their
 * names.  The caller frees the result.
 */
cr_id *cr_match_graphs(const struct cr_graph *g, const struct cr_graph *other, int *n);

#endif
