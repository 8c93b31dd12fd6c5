/*
 * shard.h - cuts a model for several ranks.
 *
 * This directory has the passes that give each rank its part of a model, or of the update of a training step.
 *
 * Comes in:   the graph of a whole model; without the list of gradients (CR_HAS_GRADIENTS) nothing is cut.
 * Goes out:   the graph of one rank, with `all_gather` nodes for values that all ranks need.
 * Promise:    the ranks together compute the bits of a single process.  So an attention is cut by heads or
 *             not at all.  A model with gradients of attentions or with ragged lengths is not cut: each
 *             rank computes all of it.  An update is cut by rows, where its ops are elementwise.
 * Passes:     share_states, shard.
 * Used later: share_states.h, the rows of a rank.
 */
#ifndef CR_SHARD_H
#define CR_SHARD_H

#include "compiler/passes/module/module.h"
#include "compiler/passes/pass_list.h"

#endif
