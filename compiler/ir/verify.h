/*
 * verify.h - what must hold of a graph between any two passes.
 *
 * The checks return 0, or -1 and in *error the first thing that is wrong, behind the node where
 * it is: "node 12 (mul): an operand does not come before it".
 */
#ifndef CR_VERIFY_H
#define CR_VERIFY_H

#include "error.h"
#include "graph.h"

/*
 * Well formed: every node is what cr_build makes of its operands and attributes; operands come
 * before their users; strings are interned; inputs, parameters and outputs have names of their
 * own; outputs exist.
 */
int cr_verify(struct cr_graph *g, struct cr_error *error);

/* No two nodes are equal; none is dead but inputs and parameters, which are the caller's. */
int cr_verify_simple(const struct cr_graph *g, struct cr_error *error);

/* No node but inputs and parameters belongs to two entries: operands and outputs are of the entry
 * of what reads them. */
int cr_verify_separate(const struct cr_graph *g, struct cr_error *error);

/* Each output is a node of its own, and no leaf: a kernel can store it. */
int cr_verify_outputs(const struct cr_graph *g, struct cr_error *error);

/* Hashes of each node, without the number of its kernel, and of the outputs: a change of the
 * graph changes them. */
uint64_t cr_hash_node(const struct cr_graph *g, cr_id id);
uint64_t cr_hash_outputs(const struct cr_graph *g);

#endif
