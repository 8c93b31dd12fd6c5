/*
 * lower_common.h - functions with which several kinds of kernels lower a root.
 *
 * lower.c tries the kinds (kernel_kinds.h) for one root; each kind has a file of its own, which
 * uses these functions.
 */
#ifndef CR_LOWER_COMMON_H
#define CR_LOWER_COMMON_H

#include "compiler/passes/module/kernel_kinds.h"
#include "evaluate.h"
#include "lower.h"

/* The loops of a kernel: the axes of a node, split into atoms. */
struct cr_root_loops {
    cr_id top;                    /* the root, or the node that the root reshapes */
    int n[CR_MAX_RANK];           /* by axis: number of its atoms */
    int64_t extent[CR_MAX_ATOMS]; /* by atom, outermost first */
};

/* The state of lowering one kernel. */
struct cr_lowering {
    struct cr_evaluate ev;
    struct cr_kernel *k;
    const struct cr_graph *g;
    struct cr_root_loops loops;
    cr_id core;                                   /* the contraction below the top, or CR_NONE */
    const struct cr_attention_backward *backward; /* the gradients that the kernel computes, or
                                                     null; `top` is then the probabilities */
    struct cr_map root_map;
    int n_root_atoms;
    struct cr_affine
        *own_index; /* an affine index that only this kind of kernel has, or null; changes of atoms
                       also update this index */
};

/* Starts with one atom for each axis of node `top`. */
void cr_set_top(struct cr_lowering *lw, cr_id top);

/* Splits an atom of the root in two; returns false if the atom does not belong to the root or
 * has a length, or if there are too many atoms. */
bool cr_cut_atom(struct cr_lowering *lw, const struct cr_split *split);

/* Numbers the atoms of the root and maps its axes onto them. */
void cr_number_atoms(struct cr_lowering *lw);

/*
 * Assigns a loop to each atom of the root except the column.  Atoms in `outer` become outer loops.  Of the rest, the
 * innermost becomes the row loop, merged with its neighbours where possible, and the others become outer loops.  The
 * batch axis of a ragged length becomes an outer loop, so that all rows of an item have the same length.
 */
void cr_assign_rows(struct cr_lowering *lw, unsigned outer);

/* Makes outer loops of the root's atoms that have no role as row, column or key. */
void cr_assign_outer(struct cr_lowering *lw);

/* False if a loop runs to a ragged length, and the batch of this length is a loop but not an outer
 * one.  If the kernel has no loop over the batch, the loop runs to the bound. */
bool cr_check_ragged(struct cr_lowering *lw);

/* Returns 1 + the number of the length over which a contraction sums, or 0 if its size is fixed. */
int cr_inner_length(const struct cr_lowering *lw, cr_id contraction);

/*
 * Evaluates the root as an epilogue of the contraction `core`, checks that the root has each
 * element of the core exactly once, and finds the column atom.
 */
bool cr_lower_epilogue(struct cr_lowering *lw, cr_id core);

/* Sets *operand to a stored node that the kernel reads as a whole, from its first element. */
bool cr_lower_whole(struct cr_lowering *lw, cr_id id, struct cr_operand *operand);

/* True if a node is a reduction over an axis other than the last, computed by this kernel
 * itself. */
bool cr_is_reduction_down(const struct cr_lowering *lw, cr_id id);

#endif
