/*
 * parts.h - what the kinds of kernels share: loop sizes and the text of loops.
 */
#ifndef CR_PARTS_H
#define CR_PARTS_H

#include "runtime/runtime.h"
#include "tiles.h"

/*
 * Sizes of the loops around the runtime's tiles.  They steer speed alone: no result
 * depends on them, but for KEY_BLOCK, which fixes the order of attention's sums.
 */
enum {
    TILE_FLOATS = 2048, /* of an elementwise tile: it stays in the first-level cache */
    TILE_COLS = 1024,   /* columns of one, if it can be cut */
    COLUMNS_ROWS = 16,  /* of a tile of a reduction down columns: a row a lane */
    COLUMNS_COLS = 128,
    GEMM_STEP_ROWS = 24,        /* rows of one call of gemm, two tiles of the micro-kernel */
    GEMM_MOST_ROWS = 128,       /* of an item */
    GEMM_STEP_COLS = 128,       /* columns of one call, at most */
    GEMM_STEP_FLOATS = 3072,    /* rows x columns of one call */
    GEMM_FEW_ROWS = 12,         /* that are one tile: nothing is gained by going back to panels */
    GEMM_PANEL_FLOATS = 98304,  /* columns x k of one call: half of a second-level cache */
    GEMM_ROWS_FLOATS = 1 << 20, /* rows x k of an item: they share the third-level cache */
    GEMM_ITEMS = 16,            /* shares wanted at least, so that threads get equal ones */
    MATMUL_ROWS = 768,          /* of an item of a product of two computed operands */
    MATMUL_COLS = 768,
    MATMUL_DEPTH = 1024,     /* k at a time */
    MATMUL_ITEMS = 4,        /* wanted at least ... */
    MATMUL_LEAST = 96,       /* ... if they have no fewer rows or columns */
    STREAM_FLOATS = 1 << 19, /* of a gradient of a weight that is stored past the caches */
    PANEL = CR_PANEL,
    KEY_BLOCK = 128, /* keys of an online softmax step */
    QUERY_ROWS = CR_PANEL,
    ATTENTION_ITEMS = 8,
    SCATTER_ITEMS = 16, /* each looks at all indices */
};

static inline int64_t cr_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cr_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t cr_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t cr_round_up(int64_t a, int64_t b)
{
    return cr_ceil_div(a, b) * b;
}

/* How far an atom runs; how far an element moves with it.  Atom -1 stands still. */
static inline int64_t cr_extent(const struct cr_kernel *k, int atom)
{
    return atom < 0 ? 1 : k->atoms.extent[atom];
}

static inline int64_t cr_step(const struct cr_affine *at, int atom)
{
    return atom < 0 ? 0 : at->coef[atom];
}

/* Iterations of all outer loops together. */
int64_t cr_outer_items(const struct cr_kernel *k);

/* "item", divided by `below` and, unless at the `top`, modulo `extent`. */
void cr_print_digit(struct cr_printer *p, int64_t below, int64_t extent, bool top);

/* The loop over the items, each taken apart into outer loops and `below` smaller parts. */
void cr_print_items(struct cr_printer *p, int64_t below);

/* The part of a dimension that an item does: "first" to "last", `part` of `size`. */
void cr_print_part(struct cr_printer *p, const char *first, const char *last, int64_t below,
                   int64_t parts, int64_t part, int64_t size);

/* "const long name = ...": `step` from `first` on, or what is left before `end`. */
void cr_print_count(struct cr_printer *p, int indent, const char *name, const char *first,
                    int64_t step, const char *end);

/* The body of a kernel's function, by kind; returns the items of its parallel loop. */
int64_t cr_print_tile_kernel(struct cr_printer *p);
int64_t cr_print_columns_kernel(struct cr_printer *p);
int64_t cr_print_gemm_kernel(struct cr_printer *p);
int64_t cr_print_matmul_kernel(struct cr_printer *p);
int64_t cr_print_attention_kernel(struct cr_printer *p);
int64_t cr_print_attention_backward_kernel(struct cr_printer *p);
int64_t cr_print_scatter_kernel(struct cr_printer *p);

#endif
