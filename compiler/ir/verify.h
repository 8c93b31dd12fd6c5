/*
 * verify.h - checks the invariants of a graph between any two passes.
 *
 * The checks return 0, or -1 with the first violation in *error, after the name of its node: "node
 * 12 (mul): an operand does not come before it".
 */
#ifndef CR_VERIFY_H
#define CR_VERIFY_H

#include "error.h"
#include "graph.h"

/*
 * Checks that the graph is well-formed: every node is what cr_build makes of its operands and
 * attributes; operands come before their users; strings are interned; inputs, parameters and
 * outputs have distinct names; outputs exist.
 */
int cr_verify(struct cr_graph *g, struct cr_error *error);

/* Checks that no two nodes are equal, and that none is dead except inputs and parameters, which
 * belong to the caller. */
int cr_verify_simple(const struct cr_graph *g, struct cr_error *error);

/* Checks that entries share only inputs and parameters: operands and outputs belong to the entry
 * of the node that reads them. */
int cr_verify_separate(const struct cr_graph *g, struct cr_error *error);

/* Checks that outputs are different nodes and that none is a leaf, so that kernels can store them. */
int cr_verify_outputs(const struct cr_graph *g, struct cr_error *error);

/* Hashes of a node, without the number of its kernel, and of the outputs: they detect a change of
 * the graph. */
uint64_t cr_hash_node(const struct cr_graph *g, cr_id id);
uint64_t cr_hash_outputs(const struct cr_graph *g);

#endif
