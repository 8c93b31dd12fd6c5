/*
 * probe.h - sizes of a target that are measured on this machine.
 *
 * No table of processors knows the next one, nor what a hypervisor hides of it.  So a product with as
 * many rows and columns as those of a transformer block is timed with each of a few choices: the
 * width of its tiles, the rows and columns of a call, the distance at which weights are prefetched.
 * These are sizes of target.def; no bit of a result depends on them.
 */
#ifndef CR_PROBE_H
#define CR_PROBE_H

#include <stdbool.h>

#include "compiler/passes/module/target.h"
#include "runtime/runtime.h"

/* The time that a probe takes at most, but for what a slow machine needs to time each choice once. */
enum { CR_PROBE_NS = 25000000 };

/* Changes with the choices that a probe makes, so that what an older one kept is not taken for new. */
enum { CR_PROBE_VERSION = 2 };

/* Times the choices with the functions of an instruction set, on so many threads at once, and puts the
 * fastest into the target.  Where nothing is measured, without vectors or memory, the target stays.
 * Returns whether the threads had their processors to themselves, so that the result is worth keeping. */
bool cr_probe(const struct cr_runtime *rt, int threads, struct cr_target *target);

#endif
