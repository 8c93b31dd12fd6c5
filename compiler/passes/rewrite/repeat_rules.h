/* repeat_rules.h - declares rules that replace copies of a tensor's parts by a broadcast. */
#ifndef CR_REPEAT_RULES_H
#define CR_REPEAT_RULES_H

#include "rewrite.h"

cr_id cr_rule_repeat_parts(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_repeat_rows(struct cr_rewrite *rw, const struct cr_draft *draft);

#endif
