/*
 * strided_rows.h - walks over tensors of doubles that have a stride for each axis: for the interpreter, and for
 * the known elements of import's terms.
 */
#ifndef CR_STRIDED_ROWS_H
#define CR_STRIDED_ROWS_H

#include "eval.h"

/* Sets the strides of a tensor whose elements stand one after another, the last axis innermost. */
void cr_row_major_strides(int64_t *strides, int rank, const int64_t *shape);

/* Sets the strides of a tensor that is expanded to a wider shape: 0 along axes that are new or repeated. */
void cr_expand_strides(int64_t *result, int rank, const int64_t *shape, const int64_t *strides, int wide_rank,
                       const int64_t *wide);

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

/* Calls `row` on the last axis, for every index of the leading axes, in row-major order; never, if an axis has size
 * 0. */
void cr_walk_rows(const struct cr_row_walk *walk, cr_row_function *row);

/* Copies the elements of a tensor. */
void cr_copy_strided(int rank, const int64_t *shape, double *to, const int64_t *to_stride, const double *from,
                     const int64_t *from_stride);

/* Folds each element of operand 1 into the element of the result where it is, with the evaluator of a reduction. */
void cr_row_fold(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step);

/* The axis along which elements are taken. */
struct cr_taken_axis {
    int64_t size, stride;
    double outside; /* what an index outside of it gives */
};

/* Copies elements of operand 1 at the indices along an axis that operand 2 has.  The context is the axis, along which
 * operand 1 has stride 0. */
void cr_row_take(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step);

#endif
