/*
 * schedule.h - makes the program: loops of runtime calls, on addresses in buffers.
 *
 * Comes in:   kernels with loops and a plan (CR_HAS_PLAN), and the target that loops are tiled for.
 * Goes out:   CR_HAS_PROGRAM: module->program, which emit prints.
 * Promise:    every address is an affine function of the loops' counters, or of a variable that the
 *             verifier can bound.  The target affects speed only; no bit of a result depends on it.
 * Passes:     schedule.
 * Used later: schedule_parts.h, with which the kinds build the bodies of functions (it includes
 *             builder.h and schedule_tiles.h); loop_bindings.h, the location of an argument in each
 *             iteration.
 */
#ifndef CR_SCHEDULE_H
#define CR_SCHEDULE_H

#include "compiler/passes/pass_list.h"

#endif
