/*
 * interpreter.h - the parts of the interpreter that other code uses: views of tensors of doubles,
 * and the computation of one node.
 */
#ifndef CR_INTERPRETER_H
#define CR_INTERPRETER_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/strided_rows.h"

struct cr_view_buffer {
    int uses;
    int64_t bytes;
    double data[];
};

/* A tensor: a reference-counted buffer, and a stride for each axis. */
struct cr_view {
    struct cr_view_buffer *buffer; /* null: not computed yet, or dropped */
    double *data;                  /* element 0; it may be anywhere in the buffer */
    int64_t stride[CR_MAX_RANK];
};

struct cr_interpreter {
    const struct cr_graph *graph;
    const float *const *params;
    const void *const *inputs;
    struct cr_view *values; /* by node */
    int *last_use;          /* by node: the last node that reads its value; n_nodes: an output;
                             * -1: it is not needed */
    int *place;             /* by leaf: its index among the inputs and states, or among the leaves
                             * of its op */
    int64_t live_bytes;
    struct cr_error *error;
};

/* Allocates `values`, `last_use` and `place`; the caller has set the other members. */
void cr_interpreter_open(struct cr_interpreter *in);
void cr_interpreter_close(struct cr_interpreter *in);

/* Computes a node from the values of its operands.  An error names the script line of the node. */
int cr_interpreter_compute(struct cr_interpreter *in, cr_id id, struct cr_view *out);

/* Allocate a buffer that no other view shares: for `count` elements, or for all elements of a
 * node, row-major. */
int cr_view_own(struct cr_interpreter *in, struct cr_view *view, int64_t count);
int cr_view_own_all(struct cr_interpreter *in, struct cr_view *view, const struct cr_node *node);

void cr_view_drop(struct cr_interpreter *in, struct cr_view *view);

#endif
