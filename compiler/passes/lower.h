/*
 * lower.h - from a root to the kernel that computes it.
 *
 * A kernel has limits: the number of loops (atoms), of values in its tile programs and of operands;
 * one contraction; one width of reductions.  Only one place knows these limits: the walk that makes
 * a kernel, from the root through index maps to the stored nodes.
 *
 * cr_find_obstacle walks to find the loops of the kernel, and the nodes that must be stored first.
 * It changes nothing, and keeps only the loops.  Its answer depends on the root and on what is
 * stored.  So when no goal has an obstacle, cr_lower makes the kernel of each goal by one walk.
 */
#ifndef CR_LOWER_H
#define CR_LOWER_H

#include "compiler/passes/module.h"

/* The loops of a kernel: over the axes of a node, which are cut into atoms. */
struct cr_root_loops {
    cr_id top;                    /* the root, or what it is a reshape of; CR_NONE: not known */
    int n[CR_MAX_RANK];           /* by axis: its atoms */
    int64_t extent[CR_MAX_ATOMS]; /* of all, outermost first */
};

/* What a kernel is to compute: `root`, into itself, or into its part of a concat. */
struct cr_goal {
    cr_id root, buffer;         /* the root or the concat */
    int64_t start;              /* of the part, along the axis of the concat */
    struct cr_root_loops loops; /* found by cr_find_obstacle */
};

struct cr_lowering;

/* The state of lowering, used for one goal after another. */
/* The graph's lengths have been found to go through it. */
struct cr_lowering *cr_lowering_new(const struct cr_module *module);
void cr_lowering_free(struct cr_lowering *lowering);

/*
 * Finds a node that has to be stored before one kernel can compute the goal.  CR_NONE if there is
 * no such obstacle; then the goal has its loops.  Returns the buffer, which is stored, if storing
 * nodes does not help: that is a bug, or an attention's gradients, whose parts can have a kernel
 * each.
 */
cr_id cr_find_obstacle(struct cr_lowering *lowering, struct cr_goal *goal);

/* Makes the kernel of a goal that has no obstacle; false, and no kernel, if it has one. */
bool cr_lower(struct cr_lowering *lowering, const struct cr_goal *goal,
              struct cr_kernel *kernel);

#endif
