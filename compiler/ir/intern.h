/*
 * intern.h - stores strings, literals and axes of nodes once for a graph.
 *
 * "Axes" are lists of CR_MAX_RANK numbers, a shape or an index, padded with zeros.  Equal items
 * are stored once, so two items are equal if their addresses are.  Graphs made from one another
 * share the stored items.
 */
#ifndef CR_INTERN_H
#define CR_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/hash.h"

/* Lists of axes are stored in blocks of this many, which never move. */
enum { CR_AXES_IN_BLOCK = 32 };

struct cr_interned {
    struct cr_names names;
    struct cr_table addresses; /* finds names by address; items are indices in `names` */
    int64_t **blocks;          /* the blocks that hold lists of axes */
    int n_axes, n_blocks, cap_blocks;
    struct cr_table axes; /* finds axes; items are indices of lists of axes */
    struct cr_literal *literals;
    int n_literals, cap_literals;
    struct cr_table contents; /* finds literals by content; items are indices of literals */
    struct cr_text_line *lines; /* lines of library code; the names of their files are in `names` */
    int n_lines, cap_lines;
    struct cr_table places; /* finds lines; items are indices in `lines` */
    struct cr_named_sizes *sizes; /* the named sizes of the graphs that share this struct; or
                                   * null */
    size_t bytes;         /* memory of all stored items */
    int graphs;           /* number of graphs that share this struct */
};

/* Removes one graph from the users of `interned`, and frees it with the last one. */
void cr_interned_drop(struct cr_interned *interned);

#endif
