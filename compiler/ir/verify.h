/* verify.h - what must hold of a graph between any two passes. */
#ifndef CR_VERIFY_H
#define CR_VERIFY_H

#include "graph.h"

/* Aborts with a message that names `after` if the graph is not well formed:
 * operands precede their users, shapes and types are those the op infers,
 * names are unique, outputs exist. */
void cr_verify(struct cr_graph *g, const char *after);

#endif
