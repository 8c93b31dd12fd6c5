/* rules.h - the rules that every node of a rebuilt graph goes through. */
#ifndef CR_RULES_H
#define CR_RULES_H

#include "rewrite.h"

/* All of them: a graph that went through these has one spelling for what can be spelt in several
 * ways, which is what later passes look for. */
extern const struct cr_rewrite_rules cr_rules;

#endif
