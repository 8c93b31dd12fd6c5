/* kernel_scatter.h - the member of struct cr_kernel of SCATTER: row i of A is added to row B[i] of
 * the result. */
#ifndef CR_KERNEL_SCATTER_H
#define CR_KERNEL_SCATTER_H

#include "tile_program.h"

struct cr_kernel_scatter {
    struct cr_operand a, b; /* all rows to add, and the index of each */
    int64_t rows, width;    /* size of A */
};

#endif
