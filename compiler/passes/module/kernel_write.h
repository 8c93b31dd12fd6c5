/*
 * kernel_write.h - what only a WRITE has: where its rows are stored.
 *
 * Row r, a function of outer atoms only, is stored at row at + r of the axis, if there is such a
 * row.  The kernel's `dest` is the index for `at` = 0.
 */
#ifndef CR_KERNEL_WRITE_H
#define CR_KERNEL_WRITE_H

#include "tile_program.h"

struct cr_kernel_write {
    struct cr_operand at; /* an i32; if ref is -1: the constant at.at.base */
    struct cr_affine row;
    int64_t rows; /* size of the axis */
    int64_t step; /* elements from one row to the next */
};

#endif
