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
    double number;               /* the product of those that are constants */
    cr_id nodes[CR_MAX_FACTORS]; /* the others, in ascending order; a condition (bool) chooses ... */
    int n;                       /* ... x where it is true, ~condition where it is false; else 0 */
};

/* The factors of a node; false if they are too many. */
bool cr_find_factors(const struct cr_graph *g, cr_id id, struct cr_factors *factors);

/* Removes one of the factors; false if it is not a factor, or there twice. */
bool cr_take_factor(struct cr_factors *factors, cr_id id);

/* True if two products are of the same factors, but for the rounding of constants. */
bool cr_equal_factors(const struct cr_factors *a, const struct cr_factors *b);

/* True if one of them is a condition. */
bool cr_choose(const struct cr_graph *g, const struct cr_factors *factors);

/* True if all factors but a positive number are conditions, or none is: then one tensor of
 * factors represents them, since a factor of 0 comes either always or never from a condition. */
bool cr_is_dropout(const struct cr_graph *g, const struct cr_factors *factors);

/* The operand of a product that leads down to one of its factors; CR_NONE at the factor. */
cr_id cr_towards_factor(const struct cr_graph *g, cr_id id, cr_id factor);

#endif
