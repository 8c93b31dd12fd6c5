/* ref_lengths.h - the interpreter for a graph with lengths. */
#ifndef CR_REF_LENGTHS_H
#define CR_REF_LENGTHS_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

/*
 * Interprets the graph with its lengths fixed at what their inputs say, which is in bounds, and
 * writes those elements of the outputs that exist: as they are to `exact`, and rounded.  An output
 * whose `exact` is null is not computed; inputs that no other needs may be null.  Inputs and outputs
 * are laid out for the bounds, as those of the compilers are.
 */
int cr_interpret_lengths(const struct cr_graph *graph, const float *const *params,
                         const void *const *inputs, double *const *exact, void *const *outputs,
                         struct cr_error *error);

#endif
