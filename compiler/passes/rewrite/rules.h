/* rules.h - the rules that every node of a rebuilt graph goes through. */
#ifndef CR_RULES_H
#define CR_RULES_H

#include "rewrite.h"

/* All rules.  A graph that went through them has one spelling for each formula that later passes
 * match. */
extern const struct cr_rewrite_rules cr_rules;

#endif
