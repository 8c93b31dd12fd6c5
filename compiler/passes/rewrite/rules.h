/* rules.h - declares the rules that every node of a rewritten graph goes through. */
#ifndef CR_RULES_H
#define CR_RULES_H

#include "rewrite.h"

/* All rules.  In a graph to which they were applied, each formula that later passes match has only
 * one form. */
extern const struct cr_rewrite_rules cr_rules;

/* True if the rules replace a transpose of this product by the product of the transposed
 * operands. */
bool cr_is_stored_transposed(const struct cr_graph *g, cr_id product);

#endif
