/* attention.h - finding contraction -> softmax over rows -> contraction. */
#ifndef CR_ATTENTION_H
#define CR_ATTENTION_H

#include "module.h"
#include "users.h"

/*
 * Whether every path from one node leads through elementwise work and moves of all
 * elements to the other, with no stored node between.
 */
bool cr_is_region(const struct cr_module *module, const struct cr_users *users, cr_id from,
                  cr_id to);

/* Enters the patterns of the graph into module->attentions. */
void cr_find_attentions(struct cr_module *module, const struct cr_users *users);

#endif
