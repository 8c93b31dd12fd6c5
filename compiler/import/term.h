/*
 * term.h - expressions of the graph language: what the operators of ONNX are translated into, and what
 * is printed.
 *
 * Functions that make a term compute its shape, and if its operands are known and small, its elements:
 * so shape arithmetic folds by itself.  Terms are trees, but a term may be an operand several times:
 * it then gets a name of its own when printed.
 */
#ifndef CR_TERM_H
#define CR_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "graph.h"

enum cr_term_kind {
    CR_TERM_VALUE, /* a value of the ONNX graph: an input, an output of a node, a weight */
    CR_TERM_DATA,  /* elements that are known: a number, const{...}, iota */
    CR_TERM_CALL,  /* name(arguments): matmul(a, b) */
    CR_TERM_INFIX, /* a name b: a + b */
    CR_TERM_SCOPE  /* scope(path, name, arguments): scope("ln_1", nn.layer_norm, x, {eps = 1e-5}) */
};

/* An argument: a term, or text of Lua as it is ("{1, 2}", "-1"). */
struct cr_argument {
    const struct cr_term *term;
    const char *text;
};

struct cr_term {
    enum cr_term_kind kind;
    enum cr_onnx_type type; /* of ONNX; the language has f32, i32 and bool of it */
    int rank;
    int64_t shape[CR_ONNX_RANK];
    const double *data; /* its elements if they are known, else null */
    int value;          /* CR_TERM_VALUE: its number */
    const char *name;   /* the function or operator, "nn.softmax" or "+" */
    const char *path;   /* CR_TERM_SCOPE: of its parameters */
    const struct cr_argument *arguments;
    int n_arguments;
};

/* A line of a script: what a node gives, or a part of it that is used several times. */
struct cr_statement {
    int node;                   /* the node it is translated from */
    int value;                  /* the value it defines */
    const struct cr_term *term;
};

#endif
