/* kernel_scan.h - what only a SCAN has: the running sums of A along an axis. */
#ifndef CR_KERNEL_SCAN_H
#define CR_KERNEL_SCAN_H

#include "tile_program.h"

struct cr_kernel_scan {
    struct cr_operand a;       /* the whole tensor */
    int64_t items, rows, cols; /* sizes before, of and after the axis of the sums */
    bool reverse;
};

#endif
