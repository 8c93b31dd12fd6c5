/*
 * factors.h - describes a node as a product of factors.
 *
 * Dropout multiplies by 1 / (1 - p) or by 0, whether it is written as a product with a mask of
 * zeros and ones or as where(mask, x, 0).  Its gradient multiplies by the same numbers.  The two
 * forms differ where x is NaN or infinite: 0 x is NaN then, and where(mask, x, 0) is 0.
 */
#ifndef CR_FACTORS_H
#define CR_FACTORS_H

#include "compiler/ir/graph.h"

enum { CR_MAX_FACTORS = 8 };

struct cr_factors {
    double number;               /* the product of the constant factors */
    cr_id nodes[CR_MAX_FACTORS]; /* the other factors, in ascending order; bool nodes are
                                    conditions: c means where(c, x, 0), and ~c means where(c, 0,
                                    x) */
    int n;                       /* number of `nodes` */
};

/* Finds the factors of a node; returns false if there are too many. */
bool cr_find_factors(const struct cr_graph *g, cr_id id, struct cr_factors *factors);

/* Removes a factor; returns false if it is missing or occurs twice. */
bool cr_take_factor(struct cr_factors *factors, cr_id id);

/* True if two products have the same factors, apart from the rounding of constants. */
bool cr_equal_factors(const struct cr_factors *a, const struct cr_factors *b);

/* True if any factor is a condition. */
bool cr_choose(const struct cr_graph *g, const struct cr_factors *factors);

/* True if the product can be a dropout: its factors other than a positive number are all
 * conditions, or none is a condition.  Then one tensor can represent the factors, because either
 * every 0 in it comes from a condition, or none does. */
bool cr_is_dropout(const struct cr_graph *g, const struct cr_factors *factors);

/* Returns the operand of product `id` that has `factor` among its factors; CR_NONE if `id` is
 * `factor` itself. */
cr_id cr_operand_with_factor(const struct cr_graph *g, cr_id id, cr_id factor);

#endif
