/*
 * term.h - terms: expressions of the graph language.  ONNX operators are translated into them, and
 * they are printed as the script.
 *
 * A function that makes a term computes its shape.  It also computes its elements if its operands
 * are known and few, so that shape arithmetic is constant-folded.  A term with an axis of size 0 is
 * always known, as the language has no such tensors.  A term that is an operand several times gets
 * a Lua name of its own when printed.  The first error sets `failed` in the translation; from then
 * on functions return null, and accept null as an operand.
 */
#ifndef CR_TERM_H
#define CR_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "graph.h"

enum cr_onnx_term_kind {
    CR_TERM_VALUE, /* a value of the ONNX graph: an input, an output of a node, a weight */
    CR_TERM_DATA,  /* known elements: a number, const{...}, iota */
    CR_TERM_CALL,  /* name(arguments): matmul(a, b) */
    CR_TERM_INFIX, /* a name b: a + b */
    CR_TERM_SCOPE  /* scope(path, name, arguments): scope("ln_1", nn.layer_norm, x, {eps = 1e-5}) */
};

/* The type of an element in the language. */
enum cr_language_type { CR_LANGUAGE_F32, CR_LANGUAGE_I32, CR_LANGUAGE_BOOL };

/* Arguments that begin and end a Lua table: concat({a, b}, 1). */
#define CR_TERM_TABLE "{"
#define CR_TERM_TABLE_END "}"

/* Marks in the text of an argument.  CR_TERM_LENGTH and a digit stand for the name of length 0, 1,
 * ...; CR_TERM_SYMBOL stands before a size that is another symbol. */
#define CR_TERM_LENGTH '\1'
#define CR_TERM_SYMBOL '\2'

/* An argument: a term, or Lua text that is printed unchanged ("{1, 2}", "-1"). */
struct cr_onnx_argument {
    const struct cr_onnx_term *term;
    const char *text;
};

struct cr_onnx_term {
    enum cr_onnx_term_kind kind;
    enum cr_onnx_type type; /* as in the ONNX file */
    int rank;
    int64_t shape[CR_ONNX_RANK];       /* sizes may be symbols before cr_onnx_find_lengths */
    signed char lengths[CR_ONNX_RANK]; /* by axis: 1 + the number of the length that is its size
                                          (dynamic_axes.h), or 0 */
    signed char cuts[CR_ONNX_RANK];    /* by axis: 1 + the number of the length that it is cut to by
                                          an input or a `limit` (dynamic_axes_rules.c), or 0 */
    const double *data; /* its elements if they are known, else null */
    int value;          /* CR_TERM_VALUE: the number of the graph's value */
    const char *name;   /* the function or operator, "nn.softmax" or "+" */
    const char *path;   /* CR_TERM_SCOPE: the path of its module */
    int weight, bias;   /* CR_TERM_SCOPE: the graph's values of its parameters, or CR_ONNX_NONE */
    const struct cr_onnx_argument *arguments;
    int n_arguments;
};

typedef const struct cr_onnx_term *cr_t;

/* The state of translating a node: the terms of its inputs, null where omitted, and of its
 * outputs. */
struct cr_translation {
    struct cr_onnx_graph *graph;
    struct cr_error *error;
    struct cr_arena *arena;
    const struct cr_onnx_node *node;
    cr_t *in, *out;
    bool failed;
    int unknown; /* the value whose elements would have to be known for the translation, or
                    CR_ONNX_NONE */
    bool at_bounds;      /* known elements only have to be right when all lengths are at their
                            bounds */
    int64_t most_folded; /* if not 0: the most elements of a term that is folded, see cr_t_folds */
};

/* Refuses the node: sets the error "PATH: OP (NAME): MESSAGE" and `failed`; returns null. */
cr_t cr_onnx_refuse(struct cr_translation *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum cr_language_type cr_language_type(enum cr_onnx_type type);
int64_t cr_t_elements(cr_t x);

/* Returns a known element as an integer: rounded towards 0, 0 for NaN, clamped to +-CR_ONNX_FAR, so
 * that sums and products of two results do not overflow.  A symbol becomes a symbolic size. */
#define CR_ONNX_FAR (INT64_C(1) << 31)
int64_t cr_t_whole(double number);

/* ---- leaves ---- */

cr_t cr_t_number(struct cr_translation *t, enum cr_onnx_type type, double number);
cr_t cr_t_data(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
               const double *data);
/* Returns an array of n zeroed items of 8 bytes, valid while the node is translated. */
void *cr_t_array(struct cr_translation *t, int64_t n);
/* Like cr_t_data, but takes over an array made by cr_t_array instead of copying it. */
cr_t cr_t_computed(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
                   double *data);
/* Returns a tensor whose elements all equal `number`. */
cr_t cr_t_full(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
               double number);
/* Returns an i32 tensor in which each element is its index along the axis. */
cr_t cr_t_iota(struct cr_translation *t, int rank, const int64_t *shape, int axis);

/* Returns the elements of a term.  If they are not known, or depend on a length, refuses the node
 * and returns null. */
const double *cr_t_known(struct cr_translation *t, cr_t x);
/* Like cr_t_known, but elements may be symbols. */
const double *cr_t_known_sizes(struct cr_translation *t, cr_t x);
/* Returns the number of elements of a shape; it is a symbol if a size is. */
int64_t cr_t_count(struct cr_translation *t, int rank, const int64_t *shape);
/* Returns a size if it is a plain number; refuses the node if the size is a symbol. */
int64_t cr_t_plain(struct cr_translation *t, int64_t size);
/* True if a known element of a term is a symbol. */
bool cr_t_has_symbols(const struct cr_onnx_graph *graph, cr_t x);
/* True if a size or a known element of a term is a symbol. */
bool cr_t_is_symbolic(const struct cr_translation *t, cr_t x);

/* ---- elementwise, broadcast as NumPy does ---- */

cr_t cr_t_unary(struct cr_translation *t, const char *name, cr_t x);
/* Both operands have the same type.  The result of a comparison is bool. */
cr_t cr_t_binary(struct cr_translation *t, const char *name, cr_t a, cr_t b);
/* Applies a binary operation to `a` and a number of a's type. */
cr_t cr_t_with(struct cr_translation *t, const char *name, cr_t a, double number);
cr_t cr_t_where(struct cr_translation *t, cr_t condition, cr_t a, cr_t b);
cr_t cr_t_cast(struct cr_translation *t, cr_t x, enum cr_onnx_type type);
/* Changes the ONNX type of a term, but not its elements, which the type must be able to hold. */
cr_t cr_t_retyped(struct cr_translation *t, cr_t x, enum cr_onnx_type type);

/* ---- movement ---- */

cr_t cr_t_reshape(struct cr_translation *t, cr_t x, int rank, const int64_t *shape);
cr_t cr_t_permute(struct cr_translation *t, cr_t x, const int64_t *axes);
cr_t cr_t_swap(struct cr_translation *t, cr_t x, int i, int j);
cr_t cr_t_expand(struct cr_translation *t, cr_t x, int rank, const int64_t *shape);
cr_t cr_t_narrow(struct cr_translation *t, cr_t x, int axis, int64_t start, int64_t size);
cr_t cr_t_concat(struct cr_translation *t, const cr_t *parts, int n, int axis);

/* ---- indices, which are i32 and not below 0 ---- */

/* Returns the rows of `table` that `index` lists: the axes of the index take the place of the
 * table's first axis. */
cr_t cr_t_gather(struct cr_translation *t, cr_t table, cr_t index);
/* Returns elements of x along an axis.  The index has the result's shape; along all other axes its
 * sizes are the sizes of x. */
cr_t cr_t_gather_along(struct cr_translation *t, cr_t x, cr_t index, int axis);

/* ---- sums and products ---- */

/* Reduces n axes; `name` is sum or max.  With `keep`, the reduced axes stay with size 1. */
cr_t cr_t_reduce(struct cr_translation *t, const char *name, cr_t x, int n, const int64_t *axes,
                 bool keep);
cr_t cr_t_cumsum(struct cr_translation *t, cr_t x, int axis, bool reverse);
/* Returns a product of matrices of floats. */
cr_t cr_t_matmul(struct cr_translation *t, cr_t a, cr_t b);

/* ---- the library ---- */

/* Makes a call of a library function whose result has the given type and shape. */
cr_t cr_t_call(struct cr_translation *t, const char *name, enum cr_onnx_type type, int rank,
               const int64_t *shape, const struct cr_onnx_argument *arguments, int n);

/* A line of the script: defines a value that a node outputs. */
struct cr_onnx_statement {
    int node;  /* the node that the statement is translated from */
    int value; /* the value it defines */
    cr_t term;
};

#endif
