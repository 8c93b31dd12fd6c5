/*
 * probe_target.h - measures the best tile sizes on this machine.
 *
 * A table of processors cannot contain future ones, nor limits that a hypervisor sets.  So a
 * product of a transformer block's size is timed with each of a few candidates for: the width of
 * its tiles, the rows and columns of a call, the distance at which weights are prefetched. These
 * sizes belong to target.def; no bit of a result depends on them.
 */
#ifndef CR_PROBE_TARGET_H
#define CR_PROBE_TARGET_H

#include <stdbool.h>

#include "compiler/passes/module/target.h"
#include "runtime/runtime.h"

/* The maximum time of a probe in ns; a slow machine may take longer, since each candidate is
 * timed once. */
enum { CR_PROBE_NS = 25000000 };

/* Must be incremented when the candidates change, so that results stored by older versions are
 * not used. */
enum { CR_PROBE_VERSION = 4 };

/* Times the candidates with the runtime's functions, on `threads` threads at once, and stores the
 * fastest in *target.  Without vectors or with too little memory, measures nothing and leaves
 * *target unchanged. Returns true if no other program used the processors, so that the result can
 * be trusted. */
bool cr_probe_target(const struct cr_runtime *rt, int threads, struct cr_target *target);

#endif
