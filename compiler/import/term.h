/*
 * term.h - expressions of the graph language: what the operators of ONNX are translated into, and what
 * is printed.
 *
 * Functions that make a term compute its shape, and if its operands are known and few, its elements: so
 * shape arithmetic folds by itself.  A term with an axis of size 0 is always known, as the language has
 * no such tensors.  A term may be an operand several times: it then gets a name of its own when printed.
 * A mistake is noted once in the translation (`failed`); from then on terms are null,
 * and every function takes null for an operand and gives null.
 */
#ifndef CR_TERM_H
#define CR_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "graph.h"

enum cr_onnx_term_kind {
    CR_TERM_VALUE, /* a value of the ONNX graph: an input, an output of a node, a weight */
    CR_TERM_DATA,  /* elements that are known: a number, const{...}, iota */
    CR_TERM_CALL,  /* name(arguments): matmul(a, b) */
    CR_TERM_INFIX, /* a name b: a + b */
    CR_TERM_SCOPE  /* scope(path, name, arguments): scope("ln_1", nn.layer_norm, x, {eps = 1e-5}) */
};

/* What an element is in the language. */
enum cr_language_type { CR_LANGUAGE_F32, CR_LANGUAGE_I32, CR_LANGUAGE_BOOL };

/* What stands around arguments that are a table: concat({a, b}, 1). */
#define CR_TERM_TABLE "{"
#define CR_TERM_TABLE_END "}"

/* In the text of an argument this stands before the digit of a length, from 0, in place of its name. */
#define CR_TERM_LENGTH '\1'

/* An argument: a term, or text of Lua as it is ("{1, 2}", "-1"). */
struct cr_onnx_argument {
    const struct cr_onnx_term *term;
    const char *text;
};

struct cr_onnx_term {
    enum cr_onnx_term_kind kind;
    enum cr_onnx_type type; /* of ONNX */
    int rank;
    int64_t shape[CR_ONNX_RANK];
    signed char lengths[CR_ONNX_RANK]; /* by axis: 1 + the number of its length (lengths.h), or 0 */
    signed char cuts[CR_ONNX_RANK];    /* of these, those that the language knows of: lengths_rules.c */
    const double *data; /* its elements if they are known, else null */
    int value;          /* CR_TERM_VALUE: its number */
    const char *name;   /* the function or operator, "nn.softmax" or "+" */
    const char *path;   /* CR_TERM_SCOPE: of its parameters, which are these values */
    int weight, bias;
    const struct cr_onnx_argument *arguments;
    int n_arguments;
};

typedef const struct cr_onnx_term *cr_t;

/* The translation of a node: what its inputs are, null for those left out, and what its outputs become. */
struct cr_translation {
    struct cr_onnx_graph *graph;
    struct cr_error *error;
    struct cr_arena *arena;
    const struct cr_onnx_node *node;
    cr_t *in, *out;
    bool failed;
    int unknown; /* the value whose elements would have to be known, or CR_ONNX_NONE */
};

/* "PATH: OP (NAME): " and what is wrong; returns null. */
cr_t cr_onnx_refuse(struct cr_translation *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum cr_language_type cr_language_type(enum cr_onnx_type type);
int64_t cr_t_elements(cr_t x);

/* A known number as an integer: cut towards 0; a NaN, which no size is, is 0.  What is further away than any axis
 * reaches is CR_ONNX_FAR, so that sums and products of two are far from overflowing. */
#define CR_ONNX_FAR (INT64_C(1) << 31)
int64_t cr_t_whole(double number);

/* ---- leaves ---- */

cr_t cr_t_number(struct cr_translation *t, enum cr_onnx_type type, double number);
cr_t cr_t_data(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
               const double *data);
/* Room for n numbers of 8 bytes, which are 0, while the node is translated. */
void *cr_t_array(struct cr_translation *t, int64_t n);
/* The same for numbers along an axis; null, refused, if there are too many to list them. */
void *cr_t_axis_array(struct cr_translation *t, int64_t n);
/* As cr_t_data, but the numbers in such room become those of the term. */
cr_t cr_t_computed(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
                   double *data);
/* Every element is the number. */
cr_t cr_t_full(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
               double number);
/* i32: the index along an axis. */
cr_t cr_t_iota(struct cr_translation *t, int rank, const int64_t *shape, int axis);

/* The elements of a term that has to be known; null, and a refusal, if it is not. */
const double *cr_t_known(struct cr_translation *t, cr_t x);

/* ---- elementwise, broadcast as NumPy does ---- */

cr_t cr_t_unary(struct cr_translation *t, const char *name, cr_t x);
/* Of one type; the result of a comparison is bool. */
cr_t cr_t_binary(struct cr_translation *t, const char *name, cr_t a, cr_t b);
/* With a number of a's type. */
cr_t cr_t_with(struct cr_translation *t, const char *name, cr_t a, double number);
cr_t cr_t_where(struct cr_translation *t, cr_t condition, cr_t a, cr_t b);
cr_t cr_t_cast(struct cr_translation *t, cr_t x, enum cr_onnx_type type);

/* ---- movement ---- */

cr_t cr_t_reshape(struct cr_translation *t, cr_t x, int rank, const int64_t *shape);
cr_t cr_t_permute(struct cr_translation *t, cr_t x, const int *axes);
cr_t cr_t_swap(struct cr_translation *t, cr_t x, int i, int j);
cr_t cr_t_expand(struct cr_translation *t, cr_t x, int rank, const int64_t *shape);
cr_t cr_t_narrow(struct cr_translation *t, cr_t x, int axis, int64_t start, int64_t size);
/* Elements of some indices along an axis, which are known. */
cr_t cr_t_take(struct cr_translation *t, cr_t x, int axis, int64_t n, const int64_t *indices);
cr_t cr_t_concat(struct cr_translation *t, const cr_t *parts, int n, int axis);
/* Adds `before` and `after` elements of a value along an axis; fewer than 0 cuts. */
cr_t cr_t_pad(struct cr_translation *t, cr_t x, int axis, int64_t before, int64_t after,
              double number);

/* ---- indices, which are i32 and not below 0 ---- */

/* Rows along the first axis. */
cr_t cr_t_gather(struct cr_translation *t, cr_t table, cr_t index);
/* Along an axis, in whose place the axes of the index come. */
cr_t cr_t_gather_axis(struct cr_translation *t, cr_t x, cr_t index, int axis);
/* The index has the shape of the result. */
cr_t cr_t_gather_along(struct cr_translation *t, cr_t x, cr_t index, int axis);
cr_t cr_t_scatter(struct cr_translation *t, cr_t x, cr_t values, cr_t index, int axis);

/* ---- sums and products ---- */

/* `name` is sum or max, over axes that stay with size 1 if `keep`. */
cr_t cr_t_reduce(struct cr_translation *t, const char *name, cr_t x, int n, const int *axes,
                 bool keep);
cr_t cr_t_reduce1(struct cr_translation *t, const char *name, cr_t x, int axis);
cr_t cr_t_argmax(struct cr_translation *t, cr_t x, int axis, bool keep);
cr_t cr_t_cumsum(struct cr_translation *t, cr_t x, int axis, bool reverse);
cr_t cr_t_matmul(struct cr_translation *t, cr_t a, cr_t b);

/* ---- the library ---- */

/* A function that keeps the shape and type of its first operand: nn.softmax(x); `more` may be null. */
cr_t cr_t_like(struct cr_translation *t, const char *name, cr_t x, const char *more);
/* Any other call, of a type and shape. */
cr_t cr_t_call(struct cr_translation *t, const char *name, enum cr_onnx_type type, int rank,
               const int64_t *shape, const struct cr_onnx_argument *arguments, int n);

/* scope(path, name, x, more): a layer that declares the parameters path.weight and, if there is a second
 * value, path.bias; both are weights of the model that are called so. */
cr_t cr_t_scope(struct cr_translation *t, const char *path, const char *name, cr_t x,
                const char *more, int weight, int bias);

/* A line of a script: what a node gives. */
struct cr_onnx_statement {
    int node;  /* the node it is translated from */
    int value; /* the value it defines */
    cr_t term;
};

#endif
