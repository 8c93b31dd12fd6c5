/*
 * plan.h - plans memory: the order of kernels, the functions they share, and the storage of values.
 *
 * Comes in:   kernels, in an order that respects data flow; the bytes that the arena may have.
 * Goes out:   CR_HAS_LOOPS: module->function, starts, loops and segments; CR_HAS_PLAN: the storage of
 *             each node, the places of the weights, and the sizes of weights and arena.
 * Promise:    values that are live at once do not overlap.  No bit of a result depends on the plan.
 * Passes:     recompute, outline, plan.
 * Used later: lifetimes.h, live ranges; stored_nodes.h, the nodes that each call leaves in memory.
 */
#ifndef CR_PLAN_H
#define CR_PLAN_H

#include "compiler/passes/pass_list.h"

#endif
