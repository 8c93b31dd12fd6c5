/*
 * tile_shapes.h - which values of a tile program need not be computed for each element.
 *
 * Masks and biases often depend on the distance of a query and a key: on column - row, of which a
 * tile of m x n has m + n - 1 values instead of m n.  Such a value is computed as a row of those,
 * and read as a tile whose rows lie a distance of -1 apart.
 */
#ifndef CR_TILE_SHAPES_H
#define CR_TILE_SHAPES_H

#include "compiler/passes/module/kernel.h"

enum cr_tile_shape {
    CR_SHAPE_TILE,
    CR_SHAPE_SAME,     /* the same for all elements of a tile */
    CR_SHAPE_DIAGONAL, /* a function of column - row */
};

struct cr_tile_value {
    enum cr_tile_shape shape;
    bool needed;          /* some value that is computed, or the result, takes it */
    bool is_index;        /* i32, and equal to `index`; a diagonal is computed from that alone */
    struct cr_affine index;
};

/* By value, for a program on tiles over these atoms. */
void cr_find_tile_shapes(const struct cr_graph *g, const struct cr_tiles *tiles, int row, int col,
                         struct cr_tile_value *values);

#endif
