/* concat_rules.h - declares rules that replace a concat by operations on its parts. */
#ifndef CR_CONCAT_RULES_H
#define CR_CONCAT_RULES_H

#include "rewrite.h"

cr_id cr_rule_join_constants(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_work_on_part(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_reduce_parts(struct cr_rewrite *rw, const struct cr_draft *draft);

#endif
