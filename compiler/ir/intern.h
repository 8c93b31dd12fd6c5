/*
 * intern.h - what the nodes of a graph have in common, held once.
 *
 * Strings, literals, and axes: lists of CR_MAX_RANK numbers, a shape or an index, 0 behind the last
 * one.  There is one copy of equal ones, so that they are equal if their addresses are.  Graphs that
 * were made of each other share them.
 */
#ifndef CR_INTERN_H
#define CR_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/hash.h"

/* Lists of axes stand in blocks, which never move. */
enum { CR_AXES_IN_BLOCK = 32 };

struct cr_interned {
    struct cr_names names;
    struct cr_table addresses; /* of the names, by number */
    int64_t **blocks;          /* of axes */
    int n_axes, n_blocks, cap_blocks;
    struct cr_table axes; /* by number */
    struct cr_literal *literals;
    int n_literals, cap_literals;
    struct cr_table contents; /* of the literals, by number */
    struct cr_text_line *lines; /* of libraries; their files are names */
    int n_lines, cap_lines;
    struct cr_table places; /* of the lines, by number */
    size_t bytes;         /* that they take */
    int graphs;           /* that have them */
};

/* Frees all of it with the last graph. */
void cr_interned_drop(struct cr_interned *interned);

#endif
