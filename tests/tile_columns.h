/* tile_columns.h - the numbers of columns of the tiles that an instruction set computes at once, in
 * vectors. */
#ifndef TILE_COLUMNS_H
#define TILE_COLUMNS_H

#include <string.h>

static inline long tile_columns(const char *isa, long vectors)
{
    int avx512 = !strcmp(isa, "avx512") || !strcmp(isa, "vnni") || !strcmp(isa, "amx");
    return vectors * (avx512 ? 16 : !strcmp(isa, "avx2") ? 8 : 4);
}

#endif
