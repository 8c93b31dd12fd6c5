/*
 * tile_shapes.h - finds values of a tile program that need not be computed for each element.
 *
 * Masks and biases often depend on the distance of a query and a key, column - row.  An m x n tile
 * has only m + n - 1 different distances, one for each of its diagonals.  Such a value is computed
 * as a row of m + n - 1 numbers, and read as a tile with a row stride of -1.
 */
#ifndef CR_TILE_SHAPES_H
#define CR_TILE_SHAPES_H

#include "compiler/passes/module/kernel.h"

enum cr_tile_shape {
    CR_SHAPE_TILE,
    CR_SHAPE_SAME,     /* a value that is the same for all elements of a tile */
    CR_SHAPE_DIAGONAL, /* a value that is a function of column - row */
};

struct cr_tile_value {
    enum cr_tile_shape shape;
    bool needed;          /* true for a result, and for an operand of a value that is computed */
    bool is_index;        /* true for an i32 that equals `index`; such a diagonal needs no
                             operands */
    struct cr_affine index;
};

/* Sets values[i] to the shape of value i of a program, on tiles over the atoms `row` and `col`. */
void cr_find_tile_shapes(const struct cr_graph *g, const struct cr_tiles *tiles, int row, int col,
                         struct cr_tile_value *values);

#endif
