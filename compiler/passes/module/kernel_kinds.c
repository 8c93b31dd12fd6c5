#include "kernel_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

int cr_column_atom(const struct cr_kernel *k, int i)
{
    const struct cr_kernel_parts *parts = cr_parts_of(k);
    switch (parts->programs[i].across) {
    case CR_LOOP_COL:
        return k->col;
    case CR_LOOP_ROW:
        return k->row;
    default:
        return parts->sum_atom ? parts->sum_atom(k, i) : k->k;
    }
}

void cr_kernel_free(struct cr_kernel *kernel)
{
    struct cr_tiles *tiles;
    for (int p = 0; kernel->parts && (tiles = cr_program_of(kernel, p)); p++)
        free(tiles->values);
}

/* Replaces the values of a copied program, which it shares with the original, by a copy of them. */
static void copy_values(struct cr_tiles *tiles)
{
    const struct cr_value *values = tiles->values;
    tiles->values = cr_calloc((size_t)tiles->n, sizeof *values);
    if (tiles->n)
        memcpy(tiles->values, values, (size_t)tiles->n * sizeof *values);
}

void cr_kernel_copy(struct cr_kernel *copy, const struct cr_kernel *kernel)
{
    struct cr_tiles *tiles;
    *copy = *kernel;
    for (int p = 0; (tiles = cr_program_of(copy, p)); p++)
        copy_values(tiles);
}
