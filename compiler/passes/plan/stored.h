/* stored.h - what the kernels of a module leave in memory, call by call, and who reads it last. */
#ifndef CR_STORED_H
#define CR_STORED_H

#include "compiler/passes/module/module.h"

/* A node that is complete once a call is done, and where it is then: until a later call takes its
 * place. */
struct cr_stored {
    cr_id node;
    int call;   /* in cr_program.sequence */
    int result; /* its place in what the call's kernel stores: 0 is the buffer */
    struct cr_storage at;
};

struct cr_stored_list {
    struct cr_graph *graph;  /* a copy of the one that kernels were made of */
    struct cr_stored *items; /* in order of their calls */
    int n, cap;
};

/* Lists what a module with a plan stores. */
void cr_find_stored(const struct cr_module *module, struct cr_stored_list *list);
void cr_stored_free(struct cr_stored_list *list);

/* By node: the last kernel that reads it, or -1; the caller frees it. */
int *cr_find_last_reads(const struct cr_module *module);

#endif
