/* select_runtime.h - selects the runtime for an instruction set of this machine. */
#ifndef CR_SELECT_RUNTIME_H
#define CR_SELECT_RUNTIME_H

#include "api.h" /* only for crescent */
#include "runtime.h" /* only for crescent */

/*
 * Returns the runtime for "amx", "vnni", "avx512", "avx2", "neon" or "plain", or null if this
 * machine lacks that instruction set or the name is none of these; for a null name, the fastest one
 * available.  If the processor has AMX, the process asks Linux for permission to use tiles.
 */
CR_API const struct cr_runtime *cr_runtime_select(const char *isa);

#endif
