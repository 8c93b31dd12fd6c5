/*
 * emulated_tiles.h - a second copy of the runtime in which plain C computes the tiles of AMX, to
 * test the functions that use them on machines without AMX.  The machine still needs AVX512_VNNI.
 */
#ifndef CR_EMULATED_TILES_H
#define CR_EMULATED_TILES_H

#include "tests/tiles.h"

#define cr_runtime_select cr_emulated_select
#include "runtime/runtime.c"
#undef cr_runtime_select
const struct cr_runtime *cr_runtime_select(const char *isa);

/* Returns the runtime with emulated tiles; null if the machine or the compiler has no
 * AVX512_VNNI. */
static const struct cr_runtime *emulated_amx(void)
{
#if CR_AMX
    return cr_runtime_select("vnni") ? &cr_runtime_amx : NULL;
#else
    return NULL;
#endif
}

#endif
