/*
 * lower.h - from a root to the kernel that computes it.
 *
 * A kernel has limits: the number of loops (atoms), of values in its tile programs and of operands;
 * one contraction; one width of reductions.  Only the walk that makes a kernel, from the root
 * through index maps to the stored nodes, knows these limits.
 *
 * If the walk meets a limit, a node has to be stored first.  Its outcome depends on the goal and on
 * which nodes are stored: if more are stored, the kernel is made again.
 */
#ifndef CR_LOWER_H
#define CR_LOWER_H

#include "compiler/passes/module/module.h"

/* The node that a kernel computes, and where it is stored: in its own buffer, or in its part of
 * a concat. */
struct cr_goal {
    cr_id root, buffer; /* `buffer`: the node that is stored, the root or the concat */
    int64_t start;      /* offset of the part, along the axis of the concat */
};

struct cr_lowering;

/* Makes the state of lowering, which serves one goal after another.  The lengths of the graph have
 * been verified. */
struct cr_lowering *cr_lowering_new(const struct cr_module *module);
void cr_lowering_free(struct cr_lowering *lowering);

/*
 * Makes the kernel of a goal, and returns CR_NONE.  If one kernel cannot compute it, *kernel is
 * all zero, and the result is a node that must be stored first; or goal->buffer if storing nodes
 * does not help: that is a bug, or the gradients of an attention, whose parts can have a kernel
 * each.
 */
cr_id cr_lower(struct cr_lowering *lowering, const struct cr_goal *goal, struct cr_kernel *kernel);

/* Counts a kernel's floating-point operations, and the bytes of its operands and of its stored
 * nodes, each once. */
void cr_count_work(const struct cr_graph *g, struct cr_kernel *kernel);

#endif
