/* shape_rules.c - the shapes of results; see shape_rules.h. */
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
