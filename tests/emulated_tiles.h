/*
 * emulated_tiles.h - the runtime once more, with the tiles of AMX done in plain C, so that what uses
 * them is tested where there are none.  It needs AVX512_VNNI all the same.
 */
#ifndef CR_EMULATED_TILES_H
#define CR_EMULATED_TILES_H

#include "tests/tiles.h"

#define cr_runtime_select cr_emulated_select
#include "runtime/runtime.c"
#undef cr_runtime_select
const struct cr_runtime *cr_runtime_select(const char *isa);

/* Null where there is no AVX512_VNNI, or no compiler for it. */
static const struct cr_runtime *emulated_amx(void)
{
#if CR_AMX
    return cr_runtime_select("vnni") ? &cr_runtime_amx : NULL;
#else
    return NULL;
#endif
}

#endif
