/*
 * interpreter.h - the parts of the interpreter, for other code that walks over a graph: views of tensors of
 * doubles, and the computation of one node.
 */
#ifndef CR_INTERPRETER_H
#define CR_INTERPRETER_H

#include "compiler/ir/error.h"
#include "compiler/ir/eval.h"
#include "compiler/ir/graph.h"

struct cr_view_buffer {
    int uses;
    int64_t bytes;
    double data[];
};

/* A tensor: a reference-counted buffer, and a stride for each axis. */
struct cr_view {
    struct cr_view_buffer *buffer; /* null: not computed yet, or freed */
    double *data;                  /* element 0, somewhere in the buffer */
    int64_t stride[CR_MAX_RANK];
};

struct cr_interpreter {
    const struct cr_graph *graph;
    const float *const *params;
    const void *const *inputs;
    struct cr_view *values; /* by node */
    int *last_use;          /* last node that reads it; n_nodes: an output; -1: dead */
    int *place;             /* by node: its index among the inputs or the parameters */
    int64_t live_bytes;
    struct cr_error *error;
};

/* Sets the members that the caller has not set: empty values, and `last_use` and `place` by
 * node. */
void cr_interpreter_open(struct cr_interpreter *in);
void cr_interpreter_close(struct cr_interpreter *in);

/* Computes a node from the values of its operands.  An error names the line of the script that made
 * the node. */
int cr_interpreter_compute(struct cr_interpreter *in, cr_id id, struct cr_view *out);

/* Allocates a separate buffer for a view: for `count` elements, or for the whole of a node,
 * row-major. */
int cr_view_own(struct cr_interpreter *in, struct cr_view *view, int64_t count);
int cr_view_own_all(struct cr_interpreter *in, struct cr_view *view, const struct cr_node *node);

void cr_view_drop(struct cr_interpreter *in, struct cr_view *view);

/* ---- walking over strided operands ---- */

enum { CR_WALK_OPERANDS = 8 };

/* Processes one row: element i of operand j is at[j][i * step[j]]. */
struct cr_row_walk;
typedef void cr_row_function(const struct cr_row_walk *walk, int64_t n, double *const *at,
                             const int64_t *step);

/* A shape, and the data and strides over it of up to CR_WALK_OPERANDS tensors, the result first. */
struct cr_row_walk {
    enum cr_op op; /* for `row`: the op and its evaluator */
    cr_evaluator *eval;
    int rank;
    const int64_t *shape;
    int n;
    double *data[CR_WALK_OPERANDS];
    const int64_t *stride[CR_WALK_OPERANDS];
    void *context; /* for `row` */
};

/* Calls `row` on the last axis, for every index of the leading axes, in row-major order. */
void cr_walk_rows(const struct cr_row_walk *walk, cr_row_function *row);

#endif
