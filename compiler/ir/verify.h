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
 * Checks that the graph is well-formed: cr_build infers every node's fields from its operands and
 * attributes; operands precede their users; strings are interned; inputs, parameters and outputs
 * have distinct names; outputs exist.
 */
int cr_verify(struct cr_graph *g, struct cr_error *error);

/* Checks that no two nodes are equal, and that every node is needed by an output, except inputs
 * and parameters, which are part of the model's interface. */
int cr_verify_simple(const struct cr_graph *g, struct cr_error *error);

/* Checks that entries share only inputs and parameters: operands and outputs belong to the entry
 * of the node that reads them. */
int cr_verify_separate(const struct cr_graph *g, struct cr_error *error);

/* Checks that outputs are different nodes and not leaves, so that a kernel can store each of
 * them. */
int cr_verify_outputs(const struct cr_graph *g, struct cr_error *error);

/* Returns the hash of a node without its kernel number; the second function hashes the outputs.
 * A pass changed the graph if a hash changed. */
uint64_t cr_hash_node(const struct cr_graph *g, cr_id id);
uint64_t cr_hash_outputs(const struct cr_graph *g);

#endif
