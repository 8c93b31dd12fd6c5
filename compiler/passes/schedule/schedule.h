/*
 * schedule.h - the room of the program: loops of runtime calls, on addresses in buffers.
 *
 * Comes in:   kernels with loops and a plan (CR_HAS_PLAN), and the target that loops are cut for.
 * Goes out:   CR_HAS_PROGRAM: module->program, which emit prints.
 * Promise:    every address is an affine function of the loops' counters, or of a variable that the
 *             verifier can bound.  The target steers speed; no bit of a result depends on it.
 * Passes:     schedule.
 * Used later: schedule_parts.h, with which the kinds write the bodies of functions (with it come
 *             builder.h and schedule_tiles.h); bindings.h, what an argument is in each iteration.
 */
#ifndef CR_SCHEDULE_H
#define CR_SCHEDULE_H

#include "compiler/passes/pass_list.h"

#endif
