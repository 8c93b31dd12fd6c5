/*
 * fuse.h - chooses the nodes that are stored, and makes the kernel that computes each.
 *
 * Comes in:   a graph whose entries have nodes of their own (CR_HAS_ENTRIES), with the formats and
 *             arithmetics that its parameters are to have.
 * Goes out:   CR_HAS_KERNELS: module->materialised and kernels; CR_HAS_STATES: in_state.
 * Promise:    kernels compute each stored node once and completely, in an order that respects data flow
 *             and states.  What is fused depends on the structure of the graph alone.
 * Passes:     separate_outputs, materialise, fuse, states, join_tiles.
 * Used later: lower_common.h and evaluate.h, with which the kinds lower a root; in_place.h, which
 *             states and inputs a kernel may write over.
 */
#ifndef CR_FUSE_H
#define CR_FUSE_H

#include "compiler/passes/pass_list.h"

#endif
