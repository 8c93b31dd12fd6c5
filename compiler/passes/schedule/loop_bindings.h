/*
 * loop_bindings.h - the location of an argument in each iteration of a loop over layers, in closed
 * form.
 *
 * The locations of all iterations are given.  This file finds their common form: all equal, at
 * equal distances, alternating between two, or, if no form fits, a table.  The first and the last
 * iteration may differ from the others.
 */
#ifndef CR_LOOP_BINDINGS_H
#define CR_LOOP_BINDINGS_H

#include "compiler/ir/program.h"
#include "compiler/passes/module/module.h"

/* Gives a binding the form of its locations: one for each iteration of the loop, or a single one if
 * the loop is null.  A table is appended to the tables of the program. */
void cr_find_form(struct cr_program *program, struct cr_binding *binding,
                  const struct cr_loop *loop, const struct cr_location *locations);

/* Returns the location of the operand that is bound to a slot. */
struct cr_location cr_location_of(const struct cr_program *program, const struct cr_slot *slot,
                                  struct cr_given given);

/* The location in the iteration that is the layer of that number; `iteration` counts from 0. */
struct cr_location cr_location_in(const struct cr_program *program,
                                  const struct cr_binding *binding, const struct cr_layers *loop,
                                  int iteration);

#endif
