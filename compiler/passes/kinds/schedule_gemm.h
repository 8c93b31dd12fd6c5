/* schedule_gemm.h - functions that the two matrix products share.  The right operand is a weight,
 * packed when it was loaded (schedule_gemm.c), or a computed value (schedule_matmul.c). */
#ifndef CR_SCHEDULE_GEMM_H
#define CR_SCHEDULE_GEMM_H

#include "compiler/passes/schedule/schedule_parts.h"

/* The tiling of a product: the sizes of items and of calls. */
struct cr_gemm_loops {
    int64_t M, N, K;
    int64_t block; /* rows of an item */
    int64_t blocks;
    int64_t group; /* columns of an item */
    int64_t groups;
    int64_t rows, cols; /* the most rows and columns of one call */
    int64_t depth;      /* columns of A that one call reads: K, or less if k is split into parts */
    bool stream;        /* true if streaming stores write the result past the caches */
    enum cr_format weights;        /* the format of the right operand */
    enum cr_arithmetic arithmetic; /* the arithmetic of a packed weight; unused otherwise */
};

/* The variables of the loops.  An item has rows i0 to i1 and columns j0 to j1; a call has m rows
 * from i on, n columns from j on, and d of k from k0 on. */
struct cr_gemm_vars {
    struct cr_share i_part, j_part;
    struct cr_steps i, j, k;
};

/* Sets the rows and columns of one call, with at most `most_cols` columns.  Needs s->block. */
void cr_cut_calls(struct cr_gemm_loops *s, const struct cr_target *target, int64_t most_cols);

/* True if k is split into parts. */
static inline bool cr_is_cut(const struct cr_gemm_loops *s)
{
    return s->depth < s->K;
}

/*
 * Returns the tiling of a product by a packed weight that reads as little as possible from beyond
 * the second-level cache, by the model of cr_gemm_traffic.
 */
struct cr_gemm_loops cr_cut_blocks(const struct cr_kernel *k, const struct cr_target *target,
                                   enum cr_format weights, enum cr_arithmetic arithmetic);

/* Returns the bytes that the loops of a product move into the caches if they run `outer` times. */
struct cr_traffic cr_gemm_traffic(const struct cr_gemm_loops *s, int64_t outer,
                                  const struct cr_target *target);

/* Begins the loop over items; sets v->i_part and v->j_part, the rows and columns of an item. */
void cr_begin_gemm_items(struct cr_builder *b, const struct cr_gemm_loops *s,
                         struct cr_gemm_vars *v);

/* An operand of gemm.  Rows have a row stride and a stride along k; packed columns have only the
 * latter, in `k_step`. */
struct cr_gemm_operand {
    struct cr_address address;
    int64_t row_step, k_step;
};

/* Returns the format of the rows of A that gemm reads. */
enum cr_format cr_row_format(const struct cr_gemm_loops *s);

/* Returns the size of a rounded row of A, in units of its format; 0 if the arithmetic does not
 * round rows. */
int64_t cr_rounded_units(const struct cr_gemm_loops *s);

/* Declares scratch for the rounded rows of an item and returns its slot.  cr_round_rows rounds the
 * rows of one step into this slot. */
int cr_rounded_rows(struct cr_builder *b, const struct cr_gemm_loops *s);
void cr_round_rows(struct cr_builder *b, const struct cr_gemm_loops *s,
                   const struct cr_gemm_vars *v, const struct cr_steps *i,
                   const struct cr_gemm_operand *rows, int slot);

/* Computes rows i0 to i1 of A into scratch, and rounds them if the arithmetic needs that.  The loop
 * runs only if the condition `until` holds, unless that is CR_NONE.  Returns the slot that gemm
 * reads. */
int cr_schedule_prologue(struct cr_builder *b, const struct cr_gemm_loops *s,
                         const struct cr_gemm_vars *v, cr_expr until);

/* True if the epilogue needs the complete product in scratch: then one call of gemm has to sum over
 * all of k. */
bool cr_needs_product(const struct cr_kernel *k);

/* cr_begin_columns begins the loop over columns j0 to j1, and cr_begin_rows the loop over rows i0
 * to i1; they return the loop's variables. */
struct cr_steps cr_begin_columns(struct cr_builder *b, const struct cr_gemm_loops *s,
                                 const struct cr_gemm_vars *v);
struct cr_steps cr_begin_rows(struct cr_builder *b, const struct cr_gemm_loops *s,
                              const struct cr_gemm_vars *v);

/* Inside both loops: calls gemm with these operands, and runs the epilogue on its tile.  If k is
 * split into parts, the call continues the sums of the parts before k0. */
void cr_schedule_gemm_tile(struct cr_builder *b, const struct cr_gemm_loops *s,
                           const struct cr_gemm_vars *v, const struct cr_gemm_operand *rows,
                           const struct cr_gemm_operand *panels);

/* For a product whose k is split into parts, with sums in scratch: cr_schedule_gemm_part adds a
 * part of k to the tile `sums`; cr_schedule_epilogue runs the epilogue on that tile after the last
 * part. */
void cr_schedule_gemm_part(struct cr_builder *b, const struct cr_gemm_vars *v,
                           const struct cr_gemm_operand *rows,
                           const struct cr_gemm_operand *panels, const struct cr_tile *sums);
void cr_schedule_epilogue(struct cr_builder *b, const struct cr_gemm_loops *s,
                          const struct cr_gemm_vars *v, const struct cr_tile *sums);

/* Schedules a product whose right operand is a computed value. */
int64_t cr_schedule_matmul(struct cr_builder *b);

#endif
