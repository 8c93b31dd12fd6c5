/* select_runtime.h - selects the runtime for an instruction set of this machine. */
#ifndef CR_SELECT_RUNTIME_H
#define CR_SELECT_RUNTIME_H

#include "api.h" /* only for crescent */
#include "runtime.h" /* only for crescent */

/*
 * Returns the runtime for "amx", "vnni", "avx512", "avx2", "neon" or "plain"; for a null name, the
 * fastest one of this machine.  Returns null if the machine lacks the instruction set, or if the
 * name is none of these.  If the processor has AMX, the process asks Linux for permission to use
 * tiles.
 */
CR_API const struct cr_runtime *cr_runtime_select(const char *isa);

#endif
