/*
 * lower.h - makes the kernel that computes a root.
 *
 * A kernel has limits: the number of loops (atoms), of values in its tile programs, and of
 * operands; one contraction; one width of reductions.  Only cr_lower knows these limits.  It
 * follows index maps from the root to the stored nodes and builds the kernel.
 *
 * If it meets a limit, a node has to be stored first.  The outcome depends on the goal and on the
 * set of stored nodes: after another node is stored, the kernel is made again.
 */
#ifndef CR_LOWER_H
#define CR_LOWER_H

#include "compiler/passes/module/module.h"

/* The node that a kernel computes, and the buffer for it: its own, or its part of a concat. */
struct cr_goal {
    cr_id root, buffer; /* `buffer`: the node that is stored, which is the root or the concat */
    int64_t start;      /* index of the part's first element, along the axis of the concat */
};

struct cr_lowering;

/* Allocates the state of lowering, which can serve many goals.  The lengths of the graph must be
 * verified. */
struct cr_lowering *cr_lowering_new(const struct cr_module *module);
void cr_lowering_free(struct cr_lowering *lowering);

/*
 * Makes the kernel of a goal and returns CR_NONE.  If one kernel cannot compute it, *kernel is all
 * zeros, and the result is a node that must be stored first.  The result is goal->buffer if storing
 * nodes does not help: that is a bug, unless the goal is the gradients of an attention, which can
 * have a kernel each.
 */
cr_id cr_lower(struct cr_lowering *lowering, const struct cr_goal *goal, struct cr_kernel *kernel);

/* Sets a kernel's count of floating-point operations and its traffic: the bytes of its operands and
 * results, each counted once. */
void cr_count_work(const struct cr_graph *g, struct cr_kernel *kernel);

#endif
