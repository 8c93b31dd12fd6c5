/* rule_tools.h - helpers of the rules. */
#ifndef CR_RULE_TOOLS_H
#define CR_RULE_TOOLS_H

#include "rewrite.h"

bool cr_is_gradient(const struct cr_rewrite *rw); /* the new nodes belong to a gradient */
bool cr_is_number(const struct cr_node *node, double value); /* it is a constant of that value */
cr_id cr_multiply(struct cr_rewrite *rw, cr_id a, cr_id b);
cr_id cr_transpose_last(struct cr_rewrite *rw, cr_id id); /* exchanges the last two axes */

#endif
