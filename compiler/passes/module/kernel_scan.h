/* kernel_scan.h - the member of struct cr_kernel of SCAN: running sums of A along an axis. */
#ifndef CR_KERNEL_SCAN_H
#define CR_KERNEL_SCAN_H

#include "tile_program.h"

struct cr_kernel_scan {
    struct cr_operand a;       /* the tensor A, read as a whole */
    int64_t items, rows, cols; /* products of the sizes before the summed axis, of its size, and of
                                  those after it */
    bool reverse;
};

#endif
