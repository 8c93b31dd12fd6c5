/*
 * gradient.h - reverse-mode differentiation: adds the nodes that compute derivatives.
 *
 * The backward pass is added to the graph as ordinary nodes: each op's rule is written in ops of
 * the same table, so that all other passes treat it like the rest of the graph.
 */
#ifndef CR_GRADIENT_H
#define CR_GRADIENT_H

#include "graph.h"

/* The prefix of the names of gradients.  No name in a script contains a colon. */
#define CR_GRADIENT "gradient:"

/* A start of the backward pass: the tensor `id`, and `cotangent`, dL/d(tensor), in the tensor's
 * shape. */
struct cr_seed {
    cr_id id, cotangent;
};

/*
 * Adds nodes for the derivatives of L with respect to the n tensors `wanted`.  Those tensors and
 * the seeds are f32.  gradients[i] gets the shape of wanted[i]; it is zeros if L does not depend
 * on that tensor.
 *
 * A node of the backward pass has the line and the scope of the forward node whose gradient it
 * helps to compute, and is marked as `backward`.  If a forward node is a parameter, an input or
 * tapped, its gradient is tapped as CR_GRADIENT followed by the node's name.  Only the first
 * backward pass of a graph gives gradients names.
 *
 * Adding stops if the graph gets more nodes than g->most_nodes; the result must then not be used.
 */
void cr_add_gradients(struct cr_graph *g, int n_seeds, const struct cr_seed *seeds, int n,
                      const cr_id *wanted, cr_id *gradients);

/* Returns the row of gradients.def of an elementwise op or a reduction as text; null for other
 * ops. */
const char *cr_gradient_text(enum cr_op op);

#endif
