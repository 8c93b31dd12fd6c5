/* stored_nodes.h - the nodes that each call leaves in memory, and the last readers of nodes. */
#ifndef CR_STORED_NODES_H
#define CR_STORED_NODES_H

#include "compiler/passes/module/module.h"

/* A node that is complete after a call, and its storage, which holds it until a later call reuses
 * it. */
struct cr_stored {
    cr_id node;
    int call;   /* in cr_program.sequence */
    int result; /* its index in the stored nodes of the call's kernel; 0: the buffer */
    struct cr_storage at;
};

struct cr_stored_nodes {
    struct cr_graph *graph;  /* a copy of the graph of the kernels */
    struct cr_stored *items; /* sorted by call */
    int n, cap;
};

/* Lists the nodes that the calls of a planned module store. */
void cr_find_stored_nodes(const struct cr_module *module, struct cr_stored_nodes *list);
void cr_free_stored_nodes(struct cr_stored_nodes *list);

/* Returns by node: the last kernel that reads it, or -1; the caller frees it. */
int *cr_find_last_reads(const struct cr_module *module);

#endif
