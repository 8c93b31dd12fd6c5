/*
 * shape_rules.h - the shapes of results and which shapes fit, in a graph and in the terms of import.
 *
 * The rules copy sizes and compare them, with each other and with 1.  So a size may be a symbol of
 * import (import/symbols.h).
 */
#ifndef CR_SHAPE_RULES_H
#define CR_SHAPE_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* Broadcasts a shape of at most CR_MAX_RANK axes with another one, as NumPy does: aligned at the last axis, sizes
 * must be equal or 1.  Returns false if they do not fit. */
bool cr_broadcast(int *rank, int64_t *shape, int other_rank, const int64_t *other);

/* True if a shape can be expanded to a wider one: aligned at the last axis, its sizes are equal or 1. */
bool cr_expands_to(int rank, const int64_t *shape, int wide_rank, const int64_t *wide);

/* True if two shapes are equal except for the sizes along an axis, as the parts of a concat are. */
bool cr_differ_along(int axis, int rank, const int64_t *shape, int other_rank, const int64_t *other);

/* Writes the shape of a gather's result: the axes of the index, followed by all axes of the table but the first.
 * The table has at least one axis.  Returns the rank of the result. */
int cr_gather_shape(int64_t *shape, int table_rank, const int64_t *table, int index_rank, const int64_t *index);

/* Writes the shape of a permute's result, or its strides from the operand's: axis i is axis axes[i] of the operand.
 * Returns `rank`, or the first i whose axis is out of range or stands in `axes` before. */
int cr_permute_shape(int64_t *result, int rank, const int64_t *shape, const int64_t *axes);

/* Writes the shape of a reduction's result: axes with a bit in `axes` get size 1 if `keep`, and are left out
 * otherwise.  `result` may be `shape`.  Returns the rank of the result. */
int cr_reduce_shape(int64_t *result, int rank, const int64_t *shape, unsigned axes, bool keep);

/* True if `size` elements from `start` on are inside an axis of `whole` elements.  The sizes are numbers. */
bool cr_is_inside(int64_t start, int64_t size, int64_t whole);

/* Writes the shape of a product, of at most CR_MAX_RANK axes.  The last axis of a and the last but one of b must have
 * equal sizes; the axes before the last two broadcast.  A vector is a row if it is a, a column if it is b; the result
 * has no axis for it.  Both operands have at least one axis. */
enum cr_product_fit { CR_PRODUCT_FITS, CR_INNER_SIZES_DIFFER, CR_BATCHES_DIFFER };
enum cr_product_fit cr_product_shape(int *rank, int64_t *result, int a_rank, const int64_t *a, int b_rank,
                                     const int64_t *b);

#endif
