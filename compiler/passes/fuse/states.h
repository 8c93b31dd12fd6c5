/*
 * states.h - where the next value of a state is computed: in the state's memory, if all kernels
 * that read the old value can run before; else in memory of its own, from which it is copied at
 * the end.
 */
#ifndef CR_STATES_H
#define CR_STATES_H

#include "compiler/passes/module/module.h"

/*
 * Fills in module->in_state for kernels in the order of the nodes they store, and appends kernels
 * that copy the values that cannot be computed in place.  Then sorts the kernels: each follows
 * those that compute its operands, and one that writes to a state follows all that read its old
 * value.
 */
void cr_settle_states(struct cr_module *module);

#endif
