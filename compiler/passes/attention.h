/* attention.h - finding contraction -> softmax over rows -> contraction. */
#ifndef CR_ATTENTION_H
#define CR_ATTENTION_H

#include "module.h"
#include "users.h"

/* The nodes on the paths from a node to another, the first left out. */
struct cr_region {
    cr_id to;
    cr_id nodes[CR_MAX_VALUES];
    int n;
};

/*
 * Whether every path from one node leads through elementwise work and moves of all
 * elements to the other, with no stored node between, and few enough for one kernel.
 */
bool cr_find_region(const struct cr_module *module, const struct cr_users *users, cr_id from,
                    cr_id to, struct cr_region *region);

bool cr_region_has(const struct cr_region *region, cr_id id);

/* Enters the patterns of the graph into module->attentions. */
void cr_find_attentions(struct cr_module *module, const struct cr_users *users);

#endif
