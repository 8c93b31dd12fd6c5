/*
 * fuse.h - chooses the nodes that are stored, and makes the kernels that compute them.
 *
 * Comes in:   a graph whose entries have nodes of their own (CR_HAS_ENTRIES); formats and arithmetic
 *             types have been chosen for its parameters.
 * Goes out:   CR_HAS_KERNELS: module->materialised and kernels; CR_HAS_STATES: in_state.
 * Promise:    kernels compute each stored node once and completely, in an order that respects data
 *             flow and states.  The structure of the graph alone determines what is fused.
 * Passes:     separate_outputs, materialise, fuse, states, join_tiles.
 * Used later: lower_common.h and evaluate.h, with which the kinds lower a root; in_place.h, which
 *             finds the states and inputs that a kernel may overwrite.
 */
#ifndef CR_FUSE_H
#define CR_FUSE_H

#include "compiler/passes/pass_list.h"

#endif
