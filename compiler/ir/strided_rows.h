/*
 * strided_rows.h - iterates row by row over tensors of doubles that have a stride for each axis,
 * for the interpreter and for the known elements of import's terms.
 */
#ifndef CR_STRIDED_ROWS_H
#define CR_STRIDED_ROWS_H

#include "eval.h"

/* Sets the strides of a contiguous row-major tensor. */
void cr_row_major_strides(int64_t *strides, int rank, const int64_t *shape);

/* Sets the strides of a tensor when it is expanded to a wider shape: 0 along axes that are new or
 * repeated. */
void cr_expand_strides(int64_t *result, int rank, const int64_t *shape, const int64_t *strides, int wide_rank,
                       const int64_t *wide);

enum { CR_WALK_OPERANDS = 8 };

/* A row function: processes one row, in which element i of operand j is at[j][i * step[j]]. */
struct cr_row_walk;
typedef void cr_row_function(const struct cr_row_walk *walk, int64_t n, double *const *at,
                             const int64_t *step);

/* The shape of a walk; the data and strides of up to CR_WALK_OPERANDS tensors, the result first. */
struct cr_row_walk {
    enum cr_op op; /* for the function `row`: the op and its evaluator */
    cr_evaluator *eval;
    int rank;
    const int64_t *shape;
    int n;
    double *data[CR_WALK_OPERANDS];
    const int64_t *stride[CR_WALK_OPERANDS];
    void *context; /* for `row` */
};

/* Calls `row` along the last axis for every index of the leading axes, in row-major order; not at
 * all if an axis has size 0. */
void cr_walk_rows(const struct cr_row_walk *walk, cr_row_function *row);

/* Copies the elements of a tensor to memory with other strides. */
void cr_copy_strided(int rank, const int64_t *shape, double *to, const int64_t *to_stride, const double *from,
                     const int64_t *from_stride);

/* A row function: combines each element of operand 1 with the result's element at the same index
 * by the reduction's evaluator. */
void cr_row_fold(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step);

/* The axis along which cr_row_take picks elements. */
struct cr_taken_axis {
    int64_t size, stride;
    double outside; /* the value for an index that is out of bounds */
};

/* A row function: copies elements of operand 1; their indices along an axis are operand 2.  The
 * context is a cr_taken_axis; operand 1 has stride 0 along that axis. */
void cr_row_take(const struct cr_row_walk *walk, int64_t n, double *const *at, const int64_t *step);

#endif
