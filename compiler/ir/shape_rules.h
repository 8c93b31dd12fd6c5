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

/* True if two shapes are equal except for the sizes along an axis, as the parts of a concat are. */
bool cr_differ_along(int axis, int rank, const int64_t *shape, int other_rank, const int64_t *other);

/* Writes the shape of a gather's result: the axes of the index, followed by all axes of the table but the first.
 * The table has at least one axis.  Returns the rank of the result. */
int cr_gather_shape(int64_t *shape, int table_rank, const int64_t *table, int index_rank, const int64_t *index);

#endif
