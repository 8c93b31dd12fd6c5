/* interpret_lengths.h - interprets a graph with lengths. */
#ifndef CR_INTERPRET_LENGTHS_H
#define CR_INTERPRET_LENGTHS_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

/* A copy of a graph in which each length is a constant, the value in the input that holds it. */
struct cr_fixed {
    const struct cr_graph *from; /* the graph with lengths */
    struct cr_graph *graph;
    cr_id *map;          /* by node of `from`: the corresponding node of `graph` */
    const void **inputs; /* inputs of `graph`: without the elements beyond the lengths */
    int n_inputs;
};

/* Makes a copy with the lengths in `inputs`.  The inputs are laid out for the bounds, as for
 * compiled code; inputs that are not needed may be null.  The caller closes the copy even after a
 * failure. */
int cr_fixed_open(struct cr_fixed *fixed, const struct cr_graph *from, const void *const *inputs,
                  struct cr_error *error);
void cr_fixed_close(struct cr_fixed *fixed);

/* Moves the existing elements of a node's tensor together in place: from the layout of `from`,
 * for the bounds, to the layout of `graph`.  Elements have four bytes. */
void cr_fixed_pack(const struct cr_fixed *fixed, cr_id node, void *tensor);

/*
 * Interprets the graph for the lengths in its inputs, which must be within bounds, and writes the
 * existing elements of the outputs: unrounded to `exact`, and rounded to `outputs`.  An output
 * whose `exact` is null is not computed; inputs that only such outputs need may be null. Inputs
 * and outputs are laid out for the bounds, as for compiled code.
 */
int cr_interpret_lengths(const struct cr_graph *graph, const float *const *params,
                         const void *const *inputs, double *const *exact, void *const *outputs,
                         struct cr_error *error);

#endif
