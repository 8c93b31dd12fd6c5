/* schedule_parts.h - what the kinds of kernels share: loops over items, and their sizes. */
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

/* How far an element moves with an atom.  Atom -1 stands still. */
static inline int64_t cr_coef(const struct cr_affine *at, int atom)
{
    return atom < 0 ? 0 : at->coef[atom];
}

/* How far an atom runs, at run time: a number, or the value of a length. */
cr_expr cr_size(struct cr_builder *b, int atom);

/* In how many steps a dimension of some size is done. */
cr_expr cr_count_steps(struct cr_builder *b, cr_expr size, int64_t step);

/* The last arguments of the runtime's products: the columns of a tile ... */
struct cr_argument cr_tile_columns(struct cr_builder *b);

/* ... and how many floats from the weights it reads to those that it prefetches; or none, for a right
 * operand that the kernel itself packed just now. */
struct cr_argument cr_ahead(struct cr_builder *b);
struct cr_argument cr_none_ahead(struct cr_builder *b);

/* Iterations of all outer loops together. */
int64_t cr_outer_items(const struct cr_kernel *k);

/* In how many shares so many items of a kernel are worth being cut, for as many threads: each has
 * one at least, and some work to do. */
int64_t cr_count_shares(const struct cr_kernel *k, int64_t items, const struct cr_target *target);

/* Which of `extent` an item is, if `below` items share each; at the `top` there are no others. */
cr_expr cr_digit(struct cr_builder *b, int64_t below, int64_t extent, bool top);

/*
 * Begins the loop over the items; each is taken apart into outer loops and `below` smaller parts.
 * Where the outermost loop runs to a length, that says how many items there are.  Of lengths further in
 * there are items up to their bounds, and those past a length do nothing.
 */
void cr_begin_items(struct cr_builder *b, int64_t below);

/* Begins the loop over items that the first n outer loops and `below` parts make.  The caller begins the other
 * outer loops inside an item. */
void cr_begin_items_of_outer(struct cr_builder *b, int n, int64_t below);
void cr_end_items(struct cr_builder *b);

/* The part of a dimension that an item does: the variables of its first and its last + 1. */
struct cr_share {
    int first, last;
};

/* Of a dimension of some size, cut into parts of `step` each.  A share past a length is empty: its
 * last is less than its first. */
struct cr_share cr_let_share(struct cr_builder *b, const char *first, const char *last,
                             int64_t below, int64_t parts, int64_t step, cr_expr size);

/*
 * The two at once for the rows of a kernel, in blocks of so many, with `below` parts of each.  Blocks of
 * a length are the outermost part of an item.  Of them there are as many as the rows at run time need,
 * all of one size: so a single row and the most rows alike are shared out evenly among threads.
 */
struct cr_share cr_begin_items_of_rows(struct cr_builder *b, int64_t below, int64_t blocks,
                                       int64_t block);

/* A loop over steps of a part, and how many rows or columns each has. */
struct cr_steps {
    int first, count; /* variables */
};

/* "for (i = part.first; i < part.last; i += step)" and in it "m". */
struct cr_steps cr_begin_steps(struct cr_builder *b, const char *name, const char *count,
                               cr_expr first, cr_expr last, int64_t step, cr_expr until);

/* A panel-packed operand's slot from column `var` on, `origin` being the slot's first; a column has
 * K units. */
struct cr_address cr_panel_at(struct cr_builder *b, int slot, int var, int origin, int64_t K);

/* The address of the result at a tile; the same for an operand of a contraction. */
struct cr_address cr_result_at(struct cr_builder *b, const struct cr_affine *dest, int row,
                               int row_var, int col, int col_var);
struct cr_address cr_operand_at(struct cr_builder *b, const struct cr_operand *operand, int row,
                                int row_var, int col, int col_var);

#endif
