/*
 * lengths.h - which axes of a graph's nodes have a size that is known at run time.
 *
 * An input says which of its axes are lengths (graph.h), and so do constants, indices, what is
 * repeated and a `limit`; the rest follows.  What is computed from a length's axis has one there.
 * An axis of the bound's size that meets a length, as that of a table of positions does, is read
 * from its beginning: elements past the length do not exist.  A reduction over a length has as
 * many terms as there are.
 *
 * A length cannot be cut, joined or merged: slice and concat take such an axis as a whole, and a
 * reshape keeps it as an axis of its own.
 */
#ifndef CR_LENGTHS_H
#define CR_LENGTHS_H

#include "error.h"
#include "graph.h"

/* By node and axis: 1 + the number of the length, or 0.  Null for a graph without lengths. */
struct cr_lengths {
    signed char (*of)[CR_MAX_RANK];
};

/* Fails with the line of a node that a length cannot go through. */
int cr_lengths_find(struct cr_lengths *lengths, const struct cr_graph *g, const char *path,
                    struct cr_error *error);
/* Infers the lengths of one node from those of its operands `in`.  The node need not be in
 * the graph. */
int cr_lengths_of_node(const struct cr_lengths *lengths, const struct cr_graph *g,
                       const struct cr_node *node, const cr_id *in, const char *path,
                       signed char *found, struct cr_error *error);
void cr_lengths_free(struct cr_lengths *lengths);

/* 1 + the number of the length of one axis, or 0. */
static inline int cr_length_at(const struct cr_lengths *lengths, cr_id id, int axis)
{
    return lengths->of ? lengths->of[id][axis] : 0;
}

/*
 * The graph for given values of the lengths, in their order: sizes that were lengths are those, and
 * what meets them is cut to size.  It has no lengths, and stands for what the graph means.  `map`, which may
 * be null, has room for a number by node of g: that of the same node in the new graph.
 */
struct cr_graph *cr_fix_lengths(const struct cr_graph *g, const int64_t *values, cr_id *map,
                                struct cr_error *error);

#endif
