/* gemm.h - what the two kinds of matrix products share: weights as the right operand, packed as
 * they were loaded (gemm_kernel.c), or something computed (matmul_kernel.c). */
#ifndef CR_GEMM_H
#define CR_GEMM_H

#include "parts.h"

/* How the loops of a product are cut. */
struct cr_gemm_loops {
    int64_t M, N, K;
    int64_t block; /* rows of an item */
    int64_t blocks;
    int64_t group; /* columns of an item */
    int64_t groups;
    int64_t rows, cols; /* of one call */
    int64_t depth;      /* of k in one call; K, or less if the product is made in parts */
    int indent;         /* of the loops; 8 or, inside a loop over parts, 12 */
    bool stream;        /* the result is stored past the caches */
};

/* Rows and columns of one call, for items of so many rows. */
void cr_cut_calls(struct cr_gemm_loops *s);

/* The rows of A for rows i0 to i1, computed into scratch, in a loop with that condition. */
void cr_print_prologue(struct cr_printer *p, const struct cr_gemm_loops *s, const char *condition);

/* Whether the epilogue works on a tile in scratch, so that the product has to come whole. */
bool cr_needs_product(const struct cr_kernel *k);

/* The head of a loop over the columns j0 to j1, n at a time from j on; over the rows i0 to i1,
 * m at a time from i on. */
void cr_print_columns_loop(struct cr_printer *p, const struct cr_gemm_loops *s, int indent);
void cr_print_rows_loop(struct cr_printer *p, const struct cr_gemm_loops *s, int indent);

/* Inside both: the call of gemm with these arguments for its operands ("address, row stride,
 * k stride" and "address, panel stride") and the epilogue on the tile it made.
 * In parts: for k0 to k0 + d, after what came before k0. */
void cr_print_gemm_tile(struct cr_printer *p, const struct cr_gemm_loops *s, const char *rows,
                        const char *panels);

#endif
