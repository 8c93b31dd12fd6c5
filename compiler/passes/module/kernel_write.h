/*
 * kernel_write.h - the member of struct cr_kernel of WRITE: where its rows are stored.
 *
 * Row r, a function of outer atoms only, is stored at row at + r of the written axis, if the axis
 * has this row.  The kernel's `dest` is the index for `at` = 0.
 */
#ifndef CR_KERNEL_WRITE_H
#define CR_KERNEL_WRITE_H

#include "tile_program.h"

struct cr_kernel_write {
    struct cr_operand at; /* an i32 operand; if ref is -1, the constant at.at.base */
    struct cr_affine row;
    int64_t rows; /* size of the written axis */
    int64_t step; /* elements from a row to the next */
};

#endif
