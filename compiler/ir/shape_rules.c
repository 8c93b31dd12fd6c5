/* shape_rules.c - infers the shapes of results; see shape_rules.h. */
#include "shape_rules.h"

#include <string.h>

bool cr_broadcast(int *rank, int64_t *shape, int other_rank, const int64_t *other)
{
    int more = other_rank - *rank;
    if (more > 0) {
        memmove(shape + more, shape, (size_t)*rank * sizeof *shape);
        memcpy(shape, other, (size_t)more * sizeof *shape);
        *rank = other_rank;
    }
    shape += *rank - other_rank;
    for (int i = 0; i < other_rank; i++) {
        if (shape[i] != other[i] && shape[i] != 1 && other[i] != 1)
            return false;
        shape[i] = shape[i] == 1 ? other[i] : shape[i];
    }
    return true;
}

bool cr_expands_to(int rank, const int64_t *shape, int wide_rank, const int64_t *wide)
{
    int more = wide_rank - rank;
    bool fits = more >= 0;
    for (int i = 0; fits && i < rank; i++)
        fits = shape[i] == 1 || shape[i] == wide[more + i];
    return fits;
}

bool cr_differ_along(int axis, int rank, const int64_t *shape, int other_rank, const int64_t *other)
{
    bool fits = rank == other_rank;
    for (int i = 0; fits && i < rank; i++)
        fits = i == axis || shape[i] == other[i];
    return fits;
}

int cr_gather_shape(int64_t *shape, int table_rank, const int64_t *table, int index_rank, const int64_t *index)
{
    memcpy(shape, index, (size_t)index_rank * sizeof *shape);
    memcpy(shape + index_rank, table + 1, (size_t)(table_rank - 1) * sizeof *shape);
    return index_rank + table_rank - 1;
}

int cr_permute_shape(int64_t *result, int rank, const int64_t *shape, const int64_t *axes)
{
    unsigned seen = 0;
    int i = 0;
    for (; i < rank && axes[i] >= 0 && axes[i] < rank && !(seen >> axes[i] & 1); i++) {
        seen |= 1u << axes[i];
        result[i] = shape[axes[i]];
    }
    return i;
}

int cr_reduce_shape(int64_t *result, int rank, const int64_t *shape, unsigned axes, bool keep)
{
    int n = 0;
    for (int i = 0; i < rank; i++) {
        bool reduced = axes >> i & 1;
        if (keep || !reduced)
            result[n++] = reduced ? 1 : shape[i];
    }
    return n;
}

bool cr_is_inside(int64_t start, int64_t size, int64_t whole)
{
    return start >= 0 && size >= 0 && size <= whole && start <= whole - size;
}

enum cr_product_fit cr_product_shape(int *rank, int64_t *result, int a_rank, const int64_t *a, int b_rank,
                                     const int64_t *b)
{
    bool row = a_rank == 1, column = b_rank == 1;
    *rank = 0;
    if (a[a_rank - 1] != b[column ? 0 : b_rank - 2])
        return CR_INNER_SIZES_DIFFER;
    if (!cr_broadcast(rank, result, row ? 0 : a_rank - 2, a) || !cr_broadcast(rank, result, column ? 0 : b_rank - 2, b))
        return CR_BATCHES_DIFFER;
    if (!row)
        result[(*rank)++] = a[a_rank - 2];
    if (!column)
        result[(*rank)++] = b[b_rank - 1];
    return CR_PRODUCT_FITS;
}
