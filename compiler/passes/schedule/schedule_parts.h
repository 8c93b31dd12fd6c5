/* schedule_parts.h - functions that all kinds of kernels share: loops over items, and sizes. */
#ifndef CR_SCHEDULE_PARTS_H
#define CR_SCHEDULE_PARTS_H

#include "compiler/passes/module/kernel_kinds.h"
#include "schedule_tiles.h"

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

/* Returns the coefficient of an atom in an affine index, or 0 if the atom is -1. */
static inline int64_t cr_coef(const struct cr_affine *at, int atom)
{
    return atom < 0 ? 0 : at->coef[atom];
}

/* Returns the extent of an atom at run time: a number, or the value of a length. */
cr_expr cr_size(struct cr_builder *b, int atom);

/* Returns the extent of an atom as a number; if it has a length, that is the bound of the
 * length. */
cr_expr cr_extent_of(struct cr_builder *b, int atom);

/* Append the extent of an atom, or of two atoms as a shape; sizes that have names are written by
 * name. */
void cr_put_extent(struct cr_text *text, const struct cr_builder *b, int atom);
void cr_put_extents(struct cr_text *text, const struct cr_builder *b, int row, int col);

/* Returns the number of steps that cover `size`: size / step, rounded up.  `step_size` is the named size of the step,
 * or 0. */
cr_expr cr_count_steps(struct cr_builder *b, cr_expr size, int64_t step, int step_size);

/* Returns the argument of the runtime's products that sets the number of columns of a tile. */
struct cr_argument cr_tile_columns(struct cr_builder *b);

/* Return the argument after that, the prefetch distance in floats.  cr_prefetch_distance is for
 * weights. cr_no_prefetch is 0, for a right operand that the kernel has just packed into
 * scratch. */
struct cr_argument cr_prefetch_distance(struct cr_builder *b);
struct cr_argument cr_no_prefetch(struct cr_builder *b);

/* Records that items divide an axis of `size` elements into parts of `step` elements, of which each item has one;
 * `step_size` is the named size of the step, or 0. */
void cr_add_item_part(struct cr_builder *b, cr_expr size, int64_t step, int step_size);

/* Returns the product of the extents of all outer loops. */
int64_t cr_outer_items(const struct cr_kernel *k);

/* Returns the number of shares into which a kernel's items are divided among threads: at most
 * `items`, and so few that each share has enough work, but at least 1. */
int64_t cr_count_shares(const struct cr_kernel *k, int64_t items, const struct cr_target *target);

/* Returns a digit of an item number, (item / below) % extent; without "% extent" for the most
 * significant digit, `top`. */
cr_expr cr_digit(struct cr_builder *b, int64_t below, int64_t extent, bool top);

/*
 * Begins the loop over items.  An item number is split into the counters of the outer loops and the
 * number of one of `below` parts.  If the outermost loop runs to a length, the number of items
 * depends on the length.  Inner loops that run to a length have items up to its bound; items past
 * the length do nothing.
 */
void cr_begin_items(struct cr_builder *b, int64_t below);

/* Like cr_begin_items, but an item covers only the first n outer loops: the caller begins the
 * others inside an item. */
void cr_begin_items_of_outer(struct cr_builder *b, int n, int64_t below);
void cr_end_items(struct cr_builder *b);

/* The part of a dimension that an item computes: the variables of its first element and of its end
 * (exclusive). */
struct cr_share {
    int first, last;
    int64_t most;   /* the largest size of a share */
    int most_size;  /* the named size of `most`, or 0 */
    bool even;      /* true if all shares have this size */
    bool may_be_empty;
};

/* Declares the share that an item has of a dimension of `size` elements, which is cut into `parts`
 * of `step` elements each.  If `size` is a length, a share past it is empty. */
struct cr_share cr_let_share(struct cr_builder *b, const char *first, const char *last,
                             int64_t below, int64_t parts, int64_t step, cr_expr size);

/*
 * Begins the loop over items and declares the item's share of the kernel's rows.  The rows are cut
 * into blocks of `block` rows, and each block has `below` items.  If the number of rows is a
 * length, the number of the block is the most significant digit of an item number, and the rows at
 * run time are divided into equal blocks, so that threads get equal work.
 */
struct cr_share cr_begin_items_of_rows(struct cr_builder *b, int64_t below, int64_t blocks,
                                       int64_t block);

/* The variables of a loop over the steps of a share: the first row or column of a step, and the
 * number of rows or columns. */
struct cr_steps {
    int first, count; /* numbers of variables */
};

/* Returns the number of elements of a share. */
cr_expr cr_share_size(struct cr_builder *b, const struct cr_share *share);

/* Begins "for (i = first; i < last; i += step)" and declares `count`, the size of an iteration, in
 * it. */
struct cr_steps cr_begin_steps(struct cr_builder *b, const char *name, const char *count,
                               cr_expr first, cr_expr last, int64_t step);

/* Like cr_begin_steps, over one share.  If one step covers the share, there is no loop, unless the
 * share may be empty. */
struct cr_steps cr_begin_share(struct cr_builder *b, const char *name, const char *count,
                               const struct cr_share *share, int64_t step, cr_expr until);

/* Returns the condition that an item is the first one of a call, or has the first of `parts`
 * shares, which begins at 0.  Such an item computes the values that the following items, which
 * differ only in this share, reuse. */
cr_expr cr_is_first_item(struct cr_builder *b, const struct cr_share *share, int64_t parts);

/* Returns the address of column `var` in a slot of packed panels that begins at column `origin`; a
 * column has K units. */
struct cr_address cr_panel_at(struct cr_builder *b, int slot, int var, int origin, int64_t K);

/* cr_result_at returns the address of a tile of the result; cr_operand_at that of a tile of an
 * operand. */
struct cr_address cr_result_at(struct cr_builder *b, const struct cr_affine *dest, int row,
                               int row_var, int col, int col_var);
struct cr_address cr_operand_at(struct cr_builder *b, const struct cr_operand *operand, int row,
                                int row_var, int col, int col_var);

#endif
