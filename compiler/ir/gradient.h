/*
 * gradient.h - reverse mode: the nodes that compute derivatives.
 *
 * The backward pass is added to the graph as ordinary nodes: each op's rule is written in ops of
 * the same table, so that the same passes fuse, place and print it.
 */
#ifndef CR_GRADIENT_H
#define CR_GRADIENT_H

#include "graph.h"

/* The prefix of names of gradients; names of a script have no colon. */
#define CR_GRADIENT "gradient:"

/* A start of the backward pass: a tensor, and dL/d(tensor) in its shape. */
struct cr_seed {
    cr_id id, cotangent;
};

/*
 * Adds nodes for the derivatives of L by the tensors `wanted`, which are f32, as the seeds
 * are: gradients[i] has the shape of wanted[i], and is zeros if L does not depend on it.
 * A node of the backward pass has the line and the scope of the node it is the gradient of, and
 * is marked there as `backward`; where that one is a parameter, an input or tapped, the gradient
 * is tapped as CR_GRADIENT and its name.  Only the first backward pass of a graph does so.
 * A walk that makes the graph larger than g->most_nodes stops, and its result is of no use.
 */
void cr_add_gradients(struct cr_graph *g, int n_seeds, const struct cr_seed *seeds, int n,
                      const cr_id *wanted, cr_id *gradients);

/* Returns the gradients of an elementwise op or a reduction in gradients.def as text; null for
 * others. */
const char *cr_gradient_text(enum cr_op op);

#endif
