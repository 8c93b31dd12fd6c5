/*
 * loop_bindings.h - describes the location of an argument in each iteration of a loop over layers
 * by a formula.
 *
 * The locations of all iterations are given.  This file finds their common form: all equal, at
 * equal distances, alternating between two, or, if none of these fits, a table.  The first and the
 * last iteration may differ from the others.
 */
#ifndef CR_LOOP_BINDINGS_H
#define CR_LOOP_BINDINGS_H

#include "compiler/ir/program.h"
#include "compiler/passes/module/module.h"

/* Gives a binding the form of its locations, one for each iteration of the loop, or a single one if
 * the loop is null.  Appends a table to the tables of the program, if that is the form. */
void cr_find_form(struct cr_program *program, struct cr_binding *binding,
                  const struct cr_loop *loop, const struct cr_location *locations);

/* Returns the location of the operand that is bound to a slot. */
struct cr_location cr_location_of(const struct cr_program *program, const struct cr_slot *slot,
                                  struct cr_given given);

/* Returns the location in an iteration of the loop; `iteration` counts from 0, and each is the
 * layer of its number. */
struct cr_location cr_location_in(const struct cr_program *program,
                                  const struct cr_binding *binding, const struct cr_layers *loop,
                                  int iteration);

#endif
