/* schedule_tiles.h - translates a tile program to calls of the runtime. */
#ifndef CR_SCHEDULE_TILES_H
#define CR_SCHEDULE_TILES_H

#include "builder.h"

/* A tile in memory: the address of its first element, and its row stride. */
struct cr_tile {
    struct cr_address address;
    int64_t ld;
};

/* The row of the state in which a write stores a tile. */
struct cr_written_row {
    struct cr_affine dest; /* the address of an element if the row were 0 */
    int var;               /* the variable that holds the number of the row */
    int64_t step; /* elements from a row to the next */
};

/* A tile program, and the tile of a loop nest for which it is called. */
struct cr_tile_job {
    const struct cr_tiles *tiles;
    int row, col;               /* the atoms of the tile's rows and columns; -1 for a single row or
                                   column */
    int64_t max_rows, max_cols; /* the size of the largest tile, for which temporaries have room */
    int first_row, first_col;   /* variables with the number of the first row and column; CR_NONE
                                   for 0 */
    cr_expr rows, cols;
    struct cr_tile core; /* the tile that CR_CORE reads */
    struct cr_tile score; /* the tile that CR_SCORE reads */
    struct cr_tile dest; /* the destination of the first result, unless dest_strided */
    bool dest_strided;   /* true if the columns of the results are not contiguous; addresses then
                            come from the kernel's `dest` */
    const struct cr_written_row *written; /* the row that a write stores to; null for other
                                             kernels */
};

/* Appends the calls of a job.  Temporaries are scratch slots, which are reused when their value is
 * dead.  Each result is stored as soon as it has been computed. */
void cr_schedule_tiles(struct cr_builder *b, const struct cr_tile_job *job);

/* Writes the role of value `i` of a job, such as "variance", or its op if it has no role.  Sets
 * roles[i] to the role if roles of later values can depend on it, else to null. */
void cr_find_role(const struct cr_builder *b, const struct cr_tile_job *job, const char **roles,
                  int i, char role[24]);

#endif
