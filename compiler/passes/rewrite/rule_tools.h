/* rule_tools.h - helpers of the rules. */
#ifndef CR_RULE_TOOLS_H
#define CR_RULE_TOOLS_H

#include "rewrite.h"

bool cr_is_gradient(const struct cr_rewrite *rw); /* the new nodes belong to a gradient */
cr_id cr_operand_of_expand(const struct cr_graph *g, cr_id id); /* the x of expand(x), or `id` */
cr_id cr_multiply(struct cr_rewrite *rw, cr_id a, cr_id b);
cr_id cr_transpose_last(struct cr_rewrite *rw, cr_id id); /* exchanges the last two axes */

#endif
