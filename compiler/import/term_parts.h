/* term_parts.h - functions that the files which make terms share. */
#ifndef CR_TERM_PARTS_H
#define CR_TERM_PARTS_H

#include "compiler/ir/graph.h"
#include "term.h"

/* The most elements of a term that is constant-folded: of floats, and of integers or booleans. */
enum { CR_FOLDED = 1 << 16, CR_FOLDED_WHOLE = 1 << 22 };

/* True if a tensor can have a shape: sizes are not negative, and the product of nonzero sizes is
 * within a limit. */
bool cr_t_is_valid_shape(int rank, const int64_t *shape);

/* Makes a term with a shape; refuses the node and returns null if the language has no such
 * tensor. */
struct cr_onnx_term *cr_t_new(struct cr_translation *t, enum cr_onnx_term_kind kind,
                              enum cr_onnx_type type, int rank, const int64_t *shape);

/* True if a term can be constant-folded: its operands are known (weights count as known only if the
 * result is an integer), or it has no elements.  False if it has more elements than the limit: the
 * translation's `most_folded`, or, if that is 0, CR_FOLDED and CR_FOLDED_WHOLE.  Also false if a
 * limit of constant_arrays.h is exceeded. */
bool cr_t_folds(const struct cr_translation *t, const struct cr_onnx_term *like, int n,
                const cr_t *operands);

/* Sets of types that an operand may have. */
enum { CR_OF_FLOATS = 1, CR_OF_INTEGERS = 2, CR_OF_NUMBERS = 3, CR_OF_BOOLEANS = 4, CR_OF_ANY = 7 };

/* True if an operand's type is in the set `types`; otherwise refuses the node. */
bool cr_t_is_of(struct cr_translation *t, cr_t x, int types);

/* True if two operands have the same type in the language; otherwise refuses the node. */
bool cr_t_same_types(struct cr_translation *t, cr_t a, cr_t b);

/* Returns a zeroed array for the elements of a term. */
double *cr_t_new_elements(struct cr_translation *t, const struct cr_onnx_term *x);

/* Returns a number rounded to a type. */
double cr_t_rounded(enum cr_onnx_type type, double number);

/* Sets the strides of a term's elements, which are in row-major order. */
void cr_t_strides(cr_t x, int64_t *strides);

/*
 * Functions that compute known elements, for the functions of term.h; `like` has the type and shape
 * of the result. fold_view, fold_expand and fold_take set the elements of `like` and return it.
 * Element i[] of a view is the element of x at offset + sum of i[a] * strides[a].  fold_reduce
 * computes a sum or a max over the axes that have size 1 in `like`.
 */
cr_t cr_t_fold_elementwise(struct cr_translation *t, enum cr_op op, const struct cr_onnx_term *like, int n,
                           const cr_t *x);
cr_t cr_t_fold_view(struct cr_translation *t, struct cr_onnx_term *like, cr_t x, const int64_t *strides,
                    int64_t offset);
cr_t cr_t_fold_expand(struct cr_translation *t, struct cr_onnx_term *like, cr_t x);
cr_t cr_t_fold_concat(struct cr_translation *t, const struct cr_onnx_term *like, const cr_t *parts, int n, int axis);
cr_t cr_t_fold_take(struct cr_translation *t, struct cr_onnx_term *like, cr_t x, cr_t index, int axis);
cr_t cr_t_fold_reduce(struct cr_translation *t, bool is_sum, cr_t x, const struct cr_onnx_term *like);
cr_t cr_t_fold_cumsum(struct cr_translation *t, cr_t x, int axis, bool reverse);
cr_t cr_t_fold_matmul(struct cr_translation *t, cr_t a, cr_t b, const struct cr_onnx_term *like);

const char *cr_t_text(struct cr_translation *t, int64_t number);
const char *cr_t_list(struct cr_translation *t, int n, const int64_t *numbers);

#endif
