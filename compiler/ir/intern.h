/*
 * intern.h - stores strings, literals and axes of nodes once for a graph.
 *
 * Axes are lists of CR_MAX_RANK numbers, a shape or an index, padded with zeros.  There is one copy
 * of equal items, so that items are equal if their addresses are.  A graph that was made from
 * another one shares them.
 */
#ifndef CR_INTERN_H
#define CR_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/hash.h"

/* Lists of axes are stored in blocks, which never move. */
enum { CR_AXES_IN_BLOCK = 32 };

struct cr_interned {
    struct cr_names names;
    struct cr_table addresses; /* addresses of the names; items are their numbers */
    int64_t **blocks;          /* the blocks that hold lists of axes */
    int n_axes, n_blocks, cap_blocks;
    struct cr_table axes; /* items are numbers of lists of axes */
    struct cr_literal *literals;
    int n_literals, cap_literals;
    struct cr_table contents; /* contents of literals; items are their numbers */
    struct cr_text_line *lines; /* lines of library code; their files are in `names` */
    int n_lines, cap_lines;
    struct cr_table places; /* lines; items are their numbers */
    struct cr_named_sizes *sizes; /* the named sizes of the graphs that share this; or null */
    size_t bytes;         /* memory of all of it */
    int graphs;           /* number of graphs that share it */
};

/* Drops one graph's share; frees everything with the last one. */
void cr_interned_drop(struct cr_interned *interned);

#endif
