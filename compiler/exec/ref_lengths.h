/* ref_lengths.h - the interpreter for a graph with lengths. */
#ifndef CR_REF_LENGTHS_H
#define CR_REF_LENGTHS_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

/* A graph without the lengths of another, which are what their inputs say, in bounds. */
struct cr_fixed {
    const struct cr_graph *from; /* the graph with lengths */
    struct cr_graph *graph;
    cr_id *map;          /* by node of `from`: the same node of `graph` */
    const void **inputs; /* of `graph`: those elements that there are */
    int n_inputs;
};

/* Inputs are laid out for the bounds, as compilers lay them out; those that nobody needs may be null.
 * Closed also after a failure. */
int cr_fixed_open(struct cr_fixed *fixed, const struct cr_graph *from, const void *const *inputs,
                  struct cr_error *error);
void cr_fixed_close(struct cr_fixed *fixed);

/* Moves those elements that there are of a node of `from`, whose tensor is laid out for the bounds, to its
 * beginning: as the tensor of the node of `graph` is laid out.  Elements have four bytes. */
void cr_fixed_pack(const struct cr_fixed *fixed, cr_id node, void *tensor);

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
