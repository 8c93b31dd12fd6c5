/*
 * rewrite.h - building a simplified copy of a graph.
 *
 * A pass that changes the graph walks the old one in order and adds nodes to a new one.
 * Every node added goes through the rules of rules.c, which may answer with a node
 * that exists already, so equal nodes are shared and constants folded at any time.
 */
#ifndef CR_REWRITE_H
#define CR_REWRITE_H

#include "compiler/ir/graph.h"

struct cr_rewrite {
    struct cr_graph *from, *to;
    cr_id *map;   /* by node of `from`: its node of `to`, or CR_NONE */
    bool *live;   /* by node of `from`: an output needs it, or it is the caller's (a leaf) */
    cr_id *table; /* open hashing over the nodes of `to` */
    int table_size;
    bool is_copy;           /* at the end: `to` is what `from` was, node by node */
    cr_id *newest_product; /* by node of `to`: the newest matmul whose right operand it is, or 0 */
    cr_id *older_product;  /* by such a matmul: the one before it, or 0 */
    struct cr_where origin; /* of the node copied last, with the strings of `from` */
};

void cr_rewrite_begin(struct cr_rewrite *rw, struct cr_graph *from);

/* Nodes added from here on have the origin of this node of `from`: its line and scope. */
void cr_rewrite_at(struct cr_rewrite *rw, cr_id id);

/* A node of `to` with that meaning, new or not. */
cr_id cr_rewrite_add(struct cr_rewrite *rw, enum cr_op op, int n, const cr_id *in,
                     const struct cr_attr *attr);

/* Enters another node of `to` in the map for a node of `from`, whose origin and tap it gets. */
cr_id cr_rewrite_replace(struct cr_rewrite *rw, cr_id id, enum cr_op op, int n, const cr_id *in,
                         const struct cr_attr *attr);

/* Copies one node of `from`, whose operands are copied already, and enters it in the map. */
cr_id cr_rewrite_copy(struct cr_rewrite *rw, cr_id id);

/* Gives the outputs over, frees `from` and the tables, and returns `to`. */
struct cr_graph *cr_rewrite_end(struct cr_rewrite *rw);

/* Leaves `from` as it is. */
void cr_rewrite_cancel(struct cr_rewrite *rw);

#endif
