/* rules.h - the rules that every node of a rebuilt graph goes through. */
#ifndef CR_RULES_H
#define CR_RULES_H

#include "rewrite.h"

/* All of them: a graph that went through these has one spelling for what can be spelt in several
 * ways, which is what later passes look for. */
extern const struct cr_rewrite_rules cr_rules;

/* What rules are made of. */
bool cr_is_gradient(const struct cr_rewrite *rw); /* what is made is a part of a gradient */
bool cr_is_number(const struct cr_node *node, double value); /* that constant */
cr_id cr_multiply(struct cr_rewrite *rw, cr_id a, cr_id b);
cr_id cr_transpose_last(struct cr_rewrite *rw, cr_id id); /* the last two axes exchanged */

/* Rules of softmax_rules.c. */
cr_id cr_rule_normalise_first(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_by_sum(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_terms(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_product(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_transposed(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_no_shift(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_share_nothing(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_work_after_sum(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_once(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_normalise_exp(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_sum_of_heads(struct cr_rewrite *rw, const struct cr_draft *draft);

#endif
