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
 * Adds nodes for the derivatives of L with respect to the tensors `wanted`.  They are f32, and so
 * are the seeds. gradients[i] has the shape of wanted[i], and is zeros if L does not depend on that
 * tensor.
 *
 * A node of the backward pass has the line and the scope of the node that it is the gradient of,
 * and is marked as `backward`.  If that node is a parameter, an input or tapped, its gradient is
 * tapped as CR_GRADIENT followed by its name.  Only the first backward pass of a graph sets these.
 *
 * The walk stops if the graph gets larger than g->most_nodes; the result must then not be used.
 */
void cr_add_gradients(struct cr_graph *g, int n_seeds, const struct cr_seed *seeds, int n,
                      const cr_id *wanted, cr_id *gradients);

/* Returns the gradients of an elementwise op or a reduction in gradients.def as text; null for
 * others. */
const char *cr_gradient_text(enum cr_op op);

#endif
