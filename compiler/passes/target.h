/*
 * target.h - the machine that loops are cut for.
 *
 * Its sizes steer speed alone: no bit of a result depends on any of them.  What does fix the
 * order of sums stands apart, below, and is the same for every target.
 */
#ifndef CR_TARGET_H
#define CR_TARGET_H

#include <stdint.h>

#include "runtime/runtime.h"

struct cr_target {
    const char *name;

    /* elementwise work */
    int64_t tile_floats;  /* of a tile: it stays in the first-level cache */
    int64_t tile_cols;    /* columns of one, if it can be cut */
    int64_t columns_cols; /* columns of an item of a reduction down columns */

    /* products whose right operand is a packed weight */
    int64_t gemm_step_rows;    /* rows of one call of gemm: two tiles of the micro-kernel */
    int64_t gemm_most_rows;    /* of an item */
    int64_t gemm_step_cols;    /* columns of one call, at most */
    int64_t gemm_step_floats;  /* rows x columns of one call */
    int64_t gemm_few_rows;     /* one tile: nothing is gained by going back to panels */
    int64_t gemm_panel_floats; /* columns x k of one call: half of a second-level cache */
    int64_t gemm_rows_floats;  /* rows x k of an item: they share the third-level cache */
    int64_t gemm_items;        /* items wanted at least, so that threads get equal shares */

    /* products of two computed operands */
    int64_t matmul_rows, matmul_cols; /* of an item */
    int64_t matmul_depth;             /* k at a time */
    int64_t matmul_items;             /* wanted at least ... */
    int64_t matmul_least;             /* ... if they have no fewer rows or columns */
    int64_t stream_floats; /* of a gradient of a weight that is stored past the caches */

    int64_t query_rows;      /* queries of a step of attention; at most CR_PANEL */
    int64_t attention_items; /* wanted at least */
    int64_t scatter_items;   /* at most: each looks at all indices */
};

/* The one that programs are made for where no other is named. */
extern const struct cr_target cr_target_generic;

/* What the order of sums depends on, so that no target may choose it. */
enum {
    CR_LANES = 16,      /* partial sums of a reduction: rows of a tile down columns */
    CR_KEY_BLOCK = 128, /* keys of an online softmax step */
};

#endif
