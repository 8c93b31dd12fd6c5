/*
 * lower_common.h - what the kinds of kernels share as they are lowered.
 *
 * lower.c goes through the kinds (kernel_kinds.h) for one root; each kind has a file of its own,
 * which uses what is declared here.
 */
#ifndef CR_LOWER_COMMON_H
#define CR_LOWER_COMMON_H

#include "compiler/passes/module/kernel_kinds.h"
#include "evaluate.h"
#include "lower.h"

/* The loops of a kernel: over the axes of a node, which are cut into atoms. */
struct cr_root_loops {
    cr_id top;                    /* the root, or what it is a reshape of */
    int n[CR_MAX_RANK];           /* by axis: its atoms */
    int64_t extent[CR_MAX_ATOMS]; /* of all, outermost first */
};

/* The state of lowering one kernel. */
struct cr_lowering {
    struct cr_evaluate ev;
    struct cr_kernel *k;
    const struct cr_graph *g;
    struct cr_root_loops loops;
    cr_id core;                                   /* the contraction beneath it, or CR_NONE */
    const struct cr_attention_backward *backward; /* if the root is its output: the top is probs */
    struct cr_map root_map;
    int n_root_atoms;
    struct cr_affine
        *own_index; /* an index over the atoms in the kind's own member of the kernel, or null */
};

/* Loops over the axes of a node, an atom each. */
void cr_set_top(struct cr_lowering *lw, cr_id top);

/* Cuts an atom of the root in two; false if that atom is not the root's or there is no room. */
bool cr_cut_atom(struct cr_lowering *lw, const struct cr_split *split);

/* Numbers the atoms of the root and maps its axes onto them. */
void cr_number_atoms(struct cr_lowering *lw);

/*
 * Shares the root's atoms other than the column between the row atom and outer loops.  Atoms in
 * `outer` must be loops.  The innermost of the rest becomes the row, merged with its neighbours
 * where possible.
 */
void cr_assign_rows(struct cr_lowering *lw, unsigned outer);

/* Makes outer loops of the root's atoms that have no other part. */
void cr_assign_outer(struct cr_lowering *lw);

/* 1 + the number of the length that a contraction sums over, or 0. */
int cr_inner_length(const struct cr_lowering *lw, cr_id contraction);

/*
 * What contractions need of the root: evaluates it as an epilogue of `core`, checks that the root
 * has each element of the core once, and finds the column atom.
 */
bool cr_lower_epilogue(struct cr_lowering *lw, cr_id core);

/* Rows of A (or of queries): in memory already, or computed by a prologue. */
bool cr_lower_rows(struct cr_lowering *lw, cr_id id, const struct cr_map *map);

/* An operand that is stored, from its first element to its last. */
bool cr_lower_whole(struct cr_lowering *lw, cr_id id, struct cr_operand *operand);

/* True if a node is a reduction down columns that this kernel has to compute. */
bool cr_is_reduction_down(const struct cr_lowering *lw, cr_id id);

#endif
