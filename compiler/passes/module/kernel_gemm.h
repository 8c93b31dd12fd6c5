/* kernel_gemm.h - the member of struct cr_kernel of GEMM: a product, A[row, k] B[k, col]. */
#ifndef CR_KERNEL_GEMM_H
#define CR_KERNEL_GEMM_H

#include "tile_program.h"

/* The weights that a kernel reads packed; they were packed when they were loaded. */
struct cr_packed_weights {
    cr_id node;               /* a node computed from parameters alone, or CR_NONE if the kernel
                                 reads no packed weights */
    int64_t choices;          /* if not 0, the node is a stack of this many matrices */
    struct cr_operand choice; /* for a stack: the i32 that selects one of its matrices */
};

struct cr_kernel_gemm {
    struct cr_tiles prologue;         /* if n > 0: computes the rows of A, over (row, k) */
    struct cr_operand a, b;           /* operands in memory: A if there is no prologue, B if it is
                                         not packed */
    struct cr_packed_weights weights; /* the operand B, if it is packed */
    int64_t K, N;                     /* extents of the atoms k and col */
};

#endif
