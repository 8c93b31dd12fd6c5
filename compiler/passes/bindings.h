/*
 * bindings.h - what an argument is in each iteration of a loop over layers, in closed form.
 *
 * The locations are known, one by one.  This finds what they have in common: the same for all, at
 * equal distances, two in turns, and if nothing else fits, a table.  The first or the last
 * iteration may differ from the rest.
 */
#ifndef CR_BINDINGS_H
#define CR_BINDINGS_H

#include "compiler/ir/program.h"
#include "module.h"

/* Gives a binding the form of its locations, one for each iteration of the loop; one location if
 * the loop is null.  A table is appended to the program's. */
void cr_find_form(struct cr_program *program, struct cr_binding *binding,
                  const struct cr_loop *loop, const struct cr_location *locations);

/* The location in the iteration that is the layer of that number; `iteration` counts from 0. */
struct cr_location cr_location_in(const struct cr_program *program,
                                  const struct cr_binding *binding, const struct cr_step *loop,
                                  int iteration);

#endif
