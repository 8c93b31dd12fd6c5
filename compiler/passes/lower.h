/*
 * lower.h - from a root to the kernel that computes it.
 *
 * What a kernel can be is limited by what it is made of: loops (atoms), values of its tile
 * programs, operands, one contraction, one width of reductions.  So there is one description of
 * these limits, the walk that makes a kernel: from the root through index maps down to what is
 * stored.
 *
 * cr_find_obstacle walks to find out which loops the kernel needs, and what has to be stored before
 * the walk comes to its end.  It changes nothing, and keeps of the walk the loops alone.  Its
 * answer depends on the root and on what is stored; so when no goal has an obstacle, cr_lower
 * makes the kernel of each by one walk.
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
 * What stands in the way of one kernel for a goal: a node that is not stored and has to be, or
 * CR_NONE if nothing does; then the goal has its loops.  The buffer, which is stored, if storing
 * nodes does not help: that is a mistake of ours, or an attention's gradients, whose parts can be
 * kernels of their own.
 */
cr_id cr_find_obstacle(struct cr_lowering *lowering, struct cr_goal *goal);

/* Makes the kernel of a goal that has no obstacle; false, and no kernel, if it has one. */
bool cr_lower(struct cr_lowering *lowering, const struct cr_goal *goal,
              struct cr_kernel *kernel);

#endif
