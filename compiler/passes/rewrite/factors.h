/*
 * factors.h - a node as a product.
 *
 * Dropout multiplies by 1 / (1 - p) or by 0, whether it is written as a product with a mask of
 * zeros and ones or as where(mask, x, 0).  So does its gradient, by the same numbers.  The two are
 * not the same where x is NaN or infinite: 0 x is NaN then, and where(mask, x, 0) is 0.
 */
#ifndef CR_FACTORS_H
#define CR_FACTORS_H

#include "compiler/ir/graph.h"

enum { CR_MAX_FACTORS = 8 };

struct cr_factors {
    double number;               /* the product of the constant factors */
    cr_id nodes[CR_MAX_FACTORS]; /* the other factors, ascending; a bool node c selects: ... */
    int n;                       /* ... where(c, x, 0); ~c stands for where(c, 0, x) */
};

/* Finds the factors of a node; false if they are too many. */
bool cr_find_factors(const struct cr_graph *g, cr_id id, struct cr_factors *factors);

/* Removes a factor; false if it does not occur, or occurs twice. */
bool cr_take_factor(struct cr_factors *factors, cr_id id);

/* True if two products have the same factors, apart from the rounding of constants. */
bool cr_equal_factors(const struct cr_factors *a, const struct cr_factors *b);

/* True if a factor is a condition. */
bool cr_choose(const struct cr_graph *g, const struct cr_factors *factors);

/* True if all factors but a positive number are conditions, or none is.  One tensor of factors then
 * represents them: either every 0 in it comes from a condition, or none does. */
bool cr_is_dropout(const struct cr_graph *g, const struct cr_factors *factors);

/* Returns the operand of a product that contains `factor`; CR_NONE if the node is `factor`
 * itself. */
cr_id cr_operand_with_factor(const struct cr_graph *g, cr_id id, cr_id factor);

#endif
