/* rule_tools.h - what rules are made of. */
#ifndef CR_RULE_TOOLS_H
#define CR_RULE_TOOLS_H

#include "rewrite.h"

bool cr_is_gradient(const struct cr_rewrite *rw); /* what is made is a part of a gradient */
bool cr_is_number(const struct cr_node *node, double value); /* that constant */
cr_id cr_multiply(struct cr_rewrite *rw, cr_id a, cr_id b);
cr_id cr_transpose_last(struct cr_rewrite *rw, cr_id id); /* the last two axes exchanged */

#endif
