/* schedule_tiles.h - turns a tile program into calls of the runtime. */
#ifndef CR_SCHEDULE_TILES_H
#define CR_SCHEDULE_TILES_H

#include "builder.h"

/* A tile in memory: the address of its first element, and its row stride. */
struct cr_tile {
    struct cr_address address;
    int64_t ld;
};

/* The row that a tile of a write is stored in. */
struct cr_written_row {
    struct cr_affine dest; /* the address of an element if the row were 0 */
    int var;               /* the variable that holds the row */
    int64_t step; /* elements from row to row */
};

/* A tile program, and the tile of a loop nest that it computes. */
struct cr_tile_job {
    const struct cr_tiles *tiles;
    int row, col;               /* the atoms of the tile; -1: one row, one column */
    int64_t max_rows, max_cols; /* the size of the largest tile, and of temporaries */
    int first_row, first_col;   /* variables, or CR_NONE: 0 */
    cr_expr rows, cols;
    struct cr_tile core; /* the tile that CR_CORE reads */
    struct cr_tile score; /* the tile that CR_SCORE reads */
    struct cr_tile dest; /* the destination of the first result unless dest_strided */
    bool dest_strided;   /* its columns are not contiguous: the kernel's `dest` gives the addresses */
    const struct cr_written_row *written; /* or null */
};

/* Appends the calls.  Temporaries are scratch, and are reused when their value is dead.  Each
 * result is stored as soon as it is computed. */
void cr_schedule_tiles(struct cr_builder *b, const struct cr_tile_job *job);

/* Writes the role of value `i` of a job, such as "variance", or else its op.  Sets roles[i] to the
 * role if roles of later values can depend on it, else to null. */
void cr_find_role(const struct cr_builder *b, const struct cr_tile_job *job, const char **roles,
                  int i, char role[24]);

#endif
