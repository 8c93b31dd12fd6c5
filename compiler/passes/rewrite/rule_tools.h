/* rule_tools.h - helper functions of the rules. */
#ifndef CR_RULE_TOOLS_H
#define CR_RULE_TOOLS_H

#include "rewrite.h"

bool cr_is_gradient(const struct cr_rewrite *rw); /* true if nodes that are added belong to a
                                                     gradient */
cr_id cr_operand_of_expand(const struct cr_graph *g, cr_id id); /* returns x if node `id` is
                                                                   expand(x), else `id` */
cr_id cr_multiply(struct cr_rewrite *rw, cr_id a, cr_id b);
cr_id cr_transpose_last(struct cr_rewrite *rw, cr_id id); /* returns node `id` with its last two
                                                             axes swapped */

#endif
