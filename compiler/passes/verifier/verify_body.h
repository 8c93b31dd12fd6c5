/*
 * verify_body.h - the state for checking a body: the value of each variable as a sum of unknowns
 * (linear_sums.h).
 *
 * verify_body.c goes through the statements, verify_expr.c turns expressions into sums, and
 * verify_addresses.c bounds the addresses of a call.
 */
#ifndef CR_VERIFY_BODY_H
#define CR_VERIFY_BODY_H

#include "linear_sums.h"
#include "verify_program.h"

/* The open block whose results later items of a call reuse.  All variables that it reads must be
 * the same for `grain` consecutive items, or for all items if grain is 0. */
struct cr_keeping {
    int block; /* index of the block, or CR_NONE */
    int64_t grain;
    int differs; /* a variable that the block reads and that differs among items that reuse the
                    block, or CR_NONE */
};

struct cr_walk {
    struct cr_program_check *c;
    struct cr_unknowns u;
    struct cr_kept_linear *vars;
    struct cr_walk_block *blocks;
    int n_blocks, cap_blocks;
    struct cr_walk_set *sets;
    int n_sets, cap_sets;
    int lengths[CR_MAX_LENGTHS]; /* the unknowns of the lengths that are arguments of the
                                    function */
    int item; /* the unknown of the item's number; CR_NONE outside a loop over all items in order */
    struct cr_keeping keeping;

    /* Points to cr_walk_call; called for expressions that are results of calls. */
    int (*walk_call)(struct cr_walk *walk, const struct cr_call *call);
};

static inline const struct cr_expr_node *cr_node_of(const struct cr_walk *w, cr_expr expr)
{
    return &w->c->f->exprs[expr];
}

static inline void cr_walk_set_var(struct cr_walk *w, int var, const struct cr_linear *value)
{
    w->vars[var] = cr_keep(&w->u, value);
}

/* Sets *value to the value of a variable.  Inside a block whose results are reused, records the
 * variable in `keeping` if it differs among the items that reuse them. */
void cr_walk_var(struct cr_walk *w, int var, struct cr_linear *value);

/* Sets *value to the value of an expression at the current statement, and checks the calls in
 * it. */
int cr_walk_expr(struct cr_walk *w, cr_expr expr, struct cr_linear *value);

/* Sets *value to a new unknown that is one of two sums, and returns the unknown. */
int cr_walk_one_of(struct cr_walk *w, const struct cr_linear *a, const struct cr_linear *b,
                   struct cr_linear *value);

/* Extends the range of elements of an argument that the function accesses by lowest .. highest; if
 * `written`, also the range that it writes. */
void cr_widen_reach(struct cr_walk *w, int slot, bool written, int64_t lowest, int64_t highest);

/* Bounds the addresses of a call, and checks that its counts are not negative. */
int cr_walk_call(struct cr_walk *w, const struct cr_call *call);

#endif
