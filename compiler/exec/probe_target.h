/*
 * probe_target.h - sizes of a target that are measured on this machine.
 *
 * A table of processors cannot list future ones, nor limits that a hypervisor sets.  So a product
 * of the size of those in a transformer block is timed with each of a few choices: the width of its
 * tiles, the rows and columns of a call, the distance at which weights are prefetched. These are
 * sizes of target.def; no bit of a result depends on them.
 */
#ifndef CR_PROBE_TARGET_H
#define CR_PROBE_TARGET_H

#include <stdbool.h>

#include "compiler/passes/module/target.h"
#include "runtime/runtime.h"

/* The longest time of a probe; on a slow machine it may exceed that to time each choice once. */
enum { CR_PROBE_NS = 25000000 };

/* Incremented when the choices of a probe change, so that older stored results are not used. */
enum { CR_PROBE_VERSION = 4 };

/* Times the choices with a runtime's functions, on this many threads at once, and stores the
 * fastest in `target`.  Without vectors or memory nothing is measured, and the target is unchanged.
 * Returns true if the threads had their processors to themselves, so that the result can be
 * trusted. */
bool cr_probe_target(const struct cr_runtime *rt, int threads, struct cr_target *target);

#endif
