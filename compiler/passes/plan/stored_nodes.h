/* stored_nodes.h - lists the nodes that are in memory after each call, and the last readers of
 * nodes. */
#ifndef CR_STORED_NODES_H
#define CR_STORED_NODES_H

#include "compiler/passes/module/module.h"

/* A node that is complete after a call, and its storage, which holds the node until a later call
 * reuses it. */
struct cr_stored {
    cr_id node;
    int call;   /* the number of the call in cr_program.sequence */
    int result; /* index of the node in the stored nodes of the call's kernel; 0 is the buffer */
    struct cr_storage at;
};

struct cr_stored_nodes {
    struct cr_graph *graph;  /* a copy of the graph from which the kernels were made */
    struct cr_stored *items; /* sorted by call */
    int n, cap;
};

/* Lists the nodes that the calls of a module store, after the pass `plan`. */
void cr_find_stored_nodes(const struct cr_module *module, struct cr_stored_nodes *list);
void cr_free_stored_nodes(struct cr_stored_nodes *list);

/* Returns a list by node: the last kernel that reads the node, or -1.  The caller frees it. */
int *cr_find_last_reads(const struct cr_module *module);

#endif
