/* kernel_scatter.h - what only a SCATTER has: the rows of A, added to the rows that B says. */
#ifndef CR_KERNEL_SCATTER_H
#define CR_KERNEL_SCATTER_H

#include "tile_program.h"

struct cr_kernel_scatter {
    struct cr_operand a, b; /* all rows, and the index of each */
    int64_t rows, width;    /* of A */
};

#endif
