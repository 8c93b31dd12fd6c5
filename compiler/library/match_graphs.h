/*
 * match_graphs.h - matches the nodes of two graphs that one script built with different options.
 *
 * The script may build more or fewer nodes with other options: more layers, more steps of a
 * recurrence, a copy of shared heads.
 */
#ifndef CR_MATCH_GRAPHS_H
#define CR_MATCH_GRAPHS_H

#include "compiler/ir/graph.h"

/*
 * Returns, for each node of g, the node of `other` that the script built in the same place, or
 * CR_NONE; *n is the number of nodes that have one.  Two nodes match if they have the same op, rank,
 * name, scope and lines, if as many nodes with these came before each of them, if they have the same
 * axes, and if their operands match or have no match.  Outputs that have no match by these rules match
 * by their names.  The caller frees the result.
 */
cr_id *cr_match_graphs(const struct cr_graph *g, const struct cr_graph *other, int *n);

#endif
