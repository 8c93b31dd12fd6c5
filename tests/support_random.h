/*
 * support_random.h - random graphs with data for their leaves, and what they compute.
 *
 * Every value that a graph goes on from is tame: finite, not large, and computable in
 * single precision with a small error.  What is not is taken back as it is made.
 */
#ifndef CR_SUPPORT_RANDOM_H
#define CR_SUPPORT_RANDOM_H

#include "compiler/ir/graph.h"
#include "support_bounds.h"

enum { CR_MAX_RANDOM_NODES = 8000 };

struct cr_random_graph {
    struct cr_graph *graph;
    void *data[CR_MAX_RANDOM_NODES];              /* by node: of inputs and parameters */
    struct cr_bounds bounds[CR_MAX_RANDOM_NODES]; /* by node */
};

/* The same graph for the same seed. */
struct cr_random_graph *cr_random_graph_new(uint64_t seed);
void cr_random_graph_free(struct cr_random_graph *random);

#endif
