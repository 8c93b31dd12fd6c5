/*
 * ref.h - the parts of the interpreter, for what walks over a graph as it does: views of tensors of
 * doubles, and one node at a time.
 */
#ifndef CR_REF_H
#define CR_REF_H

#include "compiler/ir/error.h"
#include "compiler/ir/eval.h"
#include "compiler/ir/graph.h"

struct cr_view_buffer {
    int uses;
    int64_t bytes;
    double data[];
};

/* A counted buffer, and a stride an axis. */
struct cr_view {
    struct cr_view_buffer *buffer; /* null: not computed yet, or dropped */
    double *data;                  /* element 0, somewhere in the buffer */
    int64_t stride[CR_MAX_RANK];
};

struct cr_interpreter {
    const struct cr_graph *graph;
    const float *const *params;
    const void *const *inputs;
    struct cr_view *values; /* one a node */
    int *last_use;          /* the last node that reads it; n_nodes for outputs; -1: dead */
    int *place;             /* of inputs among the inputs, of parameters among the parameters */
    int64_t live_bytes;
    struct cr_error *error;
};

/* The members that the caller has not set: no values yet, and the places of the leaves. */
void cr_interpreter_open(struct cr_interpreter *in);
void cr_interpreter_close(struct cr_interpreter *in);

/* Computes a node from the values of its operands.  An error says which line of the script made it. */
int cr_interpreter_compute(struct cr_interpreter *in, cr_id id, struct cr_view *out);

/* Gives a view a buffer of its own for `count` elements, or for the whole of a node, row-major. */
int cr_view_own(struct cr_interpreter *in, struct cr_view *view, int64_t count);
int cr_view_own_all(struct cr_interpreter *in, struct cr_view *view, const struct cr_node *node);

void cr_view_drop(struct cr_interpreter *in, struct cr_view *view);

/* ---- walking over strided operands ---- */

enum { CR_WALK_OPERANDS = 8 };

/* What is done to one row: element i of operand j is at at[j][i * step[j]]. */
struct cr_row_walk;
typedef void cr_row_function(const struct cr_row_walk *walk, int64_t n, double *const *at,
                             const int64_t *step);

/* A shape and the strides of up to CR_WALK_OPERANDS tensors over it, the result first. */
struct cr_row_walk {
    enum cr_op op; /* passed on to `row`, and the function that evaluates it */
    cr_evaluator *eval;
    int rank;
    const int64_t *shape;
    int n;
    double *data[CR_WALK_OPERANDS];
    const int64_t *stride[CR_WALK_OPERANDS];
    void *context; /* of `row` */
};

/* Applies `row` along the last axis, for every index of the axes before it, in order. */
void cr_walk_rows(const struct cr_row_walk *walk, cr_row_function *row);

#endif
