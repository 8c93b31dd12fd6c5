/* rules.h - the rules that every node of a rebuilt graph goes through. */
#ifndef CR_RULES_H
#define CR_RULES_H

#include "rewrite.h"

/* All rules.  After they were applied, a graph has one form for each formula that later passes
 * match. */
extern const struct cr_rewrite_rules cr_rules;

/* True if the rules replace transposes of this product by a product of the transposed operands. */
bool cr_is_stored_transposed(const struct cr_graph *g, cr_id product);

#endif
