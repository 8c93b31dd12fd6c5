/* rules.h - the rules that every node of a rebuilt graph goes through. */
#ifndef CR_RULES_H
#define CR_RULES_H

#include "rewrite.h"

/* A node about to be made; of more than three operands the first three. */
struct cr_draft {
    enum cr_op op;
    int n;
    cr_id in[3];
    struct cr_attr attr;
};

/* The node that stands for the draft by the first rule that knows it, or CR_NONE. */
cr_id cr_apply_rules(struct cr_rewrite *rw, const struct cr_draft *draft);

/* Rules of softmax_rules.c. */
cr_id cr_rule_divide_by_sum(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_terms(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_product(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_divide_transposed(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_subtract_first(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_no_shift(struct cr_rewrite *rw, const struct cr_draft *draft);
cr_id cr_rule_share_nothing(struct cr_rewrite *rw, const struct cr_draft *draft);

#endif
