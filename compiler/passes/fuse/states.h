/*
 * states.h - where the next value of a state is made: in the state's memory, if all kernels that
 * read the old value can come before; else apart, to be copied there at the end.
 */
#ifndef CR_STATES_H
#define CR_STATES_H

#include "compiler/passes/module/module.h"

/*
 * Fills in module->in_state for kernels that are in the order of the nodes they store, and adds
 * the kernels that copy what cannot be made in place.  Then puts all in an order in which each
 * comes behind those that make what it reads, and what writes to a state behind all that read its
 * old value; others stay as they are.
 */
void cr_settle_states(struct cr_module *module);

#endif
