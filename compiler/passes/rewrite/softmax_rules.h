/* softmax_rules.h - declares rules that give softmax and its gradients one form. */
#ifndef CR_SOFTMAX_RULES_H
#define CR_SOFTMAX_RULES_H

#include "rewrite.h"

cr_id cr_rule_normalise_first(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_by_sum(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_terms(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_product(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_transposed(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_no_shift(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_no_shift_of_sink(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_sink_is_cut(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_subtract_share(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_share_nothing(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_work_after_sum(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_once(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_normalise_exp(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_attend_twice(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_sum_of_heads(struct cr_rewrite *rw, const struct cr_draft *draft);

#endif
