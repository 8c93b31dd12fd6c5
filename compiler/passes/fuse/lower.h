/*
 * lower.h - from a root to the kernel that computes it.
 *
 * A kernel has limits: the number of loops (atoms), of values in its tile programs and of operands;
 * one contraction; one width of reductions.  Only one place knows these limits: the walk that makes
 * a kernel, from the root through index maps to the stored nodes.
 *
 * Where the walk ends at a limit, a node has to be stored first.  Its outcome depends on the goal
 * and on what is stored: when more is stored, the kernel is made again.
 */
#ifndef CR_LOWER_H
#define CR_LOWER_H

#include "compiler/passes/module/module.h"

/* What a kernel is to compute: `root`, into itself, or into its part of a concat. */
struct cr_goal {
    cr_id root, buffer; /* the root or the concat */
    int64_t start;      /* of the part, along the axis of the concat */
};

struct cr_lowering;

/* The state of lowering, used for one goal after another.  The graph's lengths have been found to
 * go through it. */
struct cr_lowering *cr_lowering_new(const struct cr_module *module);
void cr_lowering_free(struct cr_lowering *lowering);

/*
 * Makes the kernel of a goal, and returns CR_NONE.  If there is an obstacle, *kernel is all zero,
 * and the result is a node that has to be stored before one kernel can compute the goal; or the
 * buffer, which is stored, if storing nodes does not help: that is a bug, or an attention's
 * gradients, whose parts can have a kernel each.
 */
cr_id cr_lower(struct cr_lowering *lowering, const struct cr_goal *goal, struct cr_kernel *kernel);

/* Counts a kernel's floating-point operations, and the bytes of its operands and of the nodes that it
 * stores, each once. */
void cr_count_work(const struct cr_graph *g, struct cr_kernel *kernel);

#endif
