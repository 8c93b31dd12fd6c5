/* kernel_gemm.h - what only a GEMM has: a product, A[row, k] B[k, col]. */
#ifndef CR_KERNEL_GEMM_H
#define CR_KERNEL_GEMM_H

#include "tile_program.h"

/* Weights that a kernel reads packed at load. */
struct cr_packed_weights {
    cr_id node;               /* a node made of parameters alone; CR_NONE: the kernel has none */
    int64_t choices;          /* if not 0, the node is a stack of this many matrices */
    struct cr_operand choice; /* of a stack: the i32 that selects one of them */
};

struct cr_kernel_gemm {
    struct cr_tiles prologue;         /* if n > 0: the rows of A, over (row, k) */
    struct cr_operand a, b;           /* in memory, if there is no prologue; if B is not packed */
    struct cr_packed_weights weights; /* B */
    int64_t K, N;                     /* extents of the atoms k and col */
};

#endif
