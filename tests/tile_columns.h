/* tile_columns.h - the columns of a tile that is some vectors of an instruction set wide. */
#ifndef TILE_COLUMNS_H
#define TILE_COLUMNS_H

#include <string.h>

static inline long tile_columns(const char *isa, long vectors)
{
    int avx512 = !strcmp(isa, "avx512") || !strcmp(isa, "vnni") || !strcmp(isa, "amx");
    return vectors * (avx512 ? 16 : !strcmp(isa, "avx2") ? 8 : 4);
}

#endif
