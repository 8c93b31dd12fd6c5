/* limit_rules.h - declares rules that remove a `limit` if another node gives the length. */
#ifndef CR_LIMIT_RULES_H
#define CR_LIMIT_RULES_H

#include "rewrite.h"

cr_id cr_rule_limit_nothing(struct cr_rewrite *rw, const struct cr_draft *d);
cr_id cr_rule_limit_once(struct cr_rewrite *rw, const struct cr_draft *d);
cr_id cr_rule_limit_constant(struct cr_rewrite *rw, const struct cr_draft *d);

#endif
