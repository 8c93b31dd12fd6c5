/* schedule_tiles.h - a tile program as calls of the runtime. */
#ifndef CR_SCHEDULE_TILES_H
#define CR_SCHEDULE_TILES_H

#include "builder.h"

/* A tile in memory: its first element, and the distance of its rows. */
struct cr_tile {
    struct cr_address address;
    int64_t ld;
};

/* The row of a write that a tile goes to: the value of a variable.  `dest` is where the element
 * would go in row 0. */
struct cr_written_row {
    struct cr_affine dest;
    int var;
    int64_t step; /* elements from row to row */
};

/* One tile program, at one tile of a loop nest. */
struct cr_tile_job {
    const struct cr_tiles *tiles;
    int row, col;               /* the atoms of the tile; -1: one row, one column */
    int64_t max_rows, max_cols; /* that a tile has: of its temporaries */
    int first_row, first_col;   /* variables, or CR_NONE: 0 */
    cr_expr rows, cols;
    struct cr_tile core; /* where CR_CORE is */
    struct cr_tile score; /* where CR_SCORE is */
    struct cr_tile dest; /* where the result goes if dest_strided is not set; further results go to
                          * the same place of their nodes */
    bool dest_strided;   /* ... else to the root's place, element by element */
    const struct cr_written_row *written; /* or null */
};

/* Appends the calls; temporaries are parts of scratch, and are used again when a value is dead.  Each
 * result is stored as soon as it is computed. */
void cr_schedule_tiles(struct cr_builder *b, const struct cr_tile_job *job);

#endif
