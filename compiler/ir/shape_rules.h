/*
 * shape_rules.h - infers shapes of results and checks which shapes are compatible, in a graph and
 * in the terms of import.
 *
 * The rules copy sizes and compare them, with each other and with 1.  So a size may be a symbol
 * of import (import/symbols.h).
 */
#ifndef CR_SHAPE_RULES_H
#define CR_SHAPE_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* Broadcasts *shape, of at most CR_MAX_RANK axes, with `other`, as NumPy does: aligned at the
 * last axis, sizes must be equal or 1.  Returns false if they are incompatible. */
bool cr_broadcast(int *rank, int64_t *shape, int other_rank, const int64_t *other);

/* True if a shape can be expanded to a wider one: aligned at the last axis, its sizes are equal
 * or 1. */
bool cr_expands_to(int rank, const int64_t *shape, int wide_rank, const int64_t *wide);

/* True if two shapes are equal except for the size along an axis, as the shapes of a concat's
 * operands must be. */
bool cr_differ_along(int axis, int rank, const int64_t *shape, int other_rank, const int64_t *other);

/* Writes the shape of a gather's result: the axes of the index, then all axes of the table but
 * the first. The table has at least one axis.  Returns the rank of the result. */
int cr_gather_shape(int64_t *shape, int table_rank, const int64_t *table, int index_rank, const int64_t *index);

/* Writes the shape of a permute's result; given the operand's strides as `shape`, writes the
 * result's strides.  Axis i of the result is axis axes[i] of the operand.  Returns `rank`, or the
 * first i for which axes[i] is out of range or repeated. */
int cr_permute_shape(int64_t *result, int rank, const int64_t *shape, const int64_t *axes);

/* Writes the shape of a reduction's result: axes with a bit in `axes` get size 1 if `keep`, else
 * they are removed. `result` may be `shape`.  Returns the rank of the result. */
int cr_reduce_shape(int64_t *result, int rank, const int64_t *shape, unsigned axes, bool keep);

/* True if elements start .. start + size - 1 are inside an axis of `whole` elements.  The sizes
 * must be numbers, not symbols. */
bool cr_is_inside(int64_t start, int64_t size, int64_t whole);

/* Writes the shape of a matrix product, of at most CR_MAX_RANK axes.  The last axis of `a` and
 * the last but one of `b` must have equal sizes; the axes before the last two broadcast.  A
 * vector is a row if it is `a`, a column if it is `b`; the result then lacks that axis.  Both
 * operands have at least one axis. */
enum cr_product_fit { CR_PRODUCT_FITS, CR_INNER_SIZES_DIFFER, CR_BATCHES_DIFFER };
enum cr_product_fit cr_product_shape(int *rank, int64_t *result, int a_rank, const int64_t *a, int b_rank,
                                     const int64_t *b);

#endif
