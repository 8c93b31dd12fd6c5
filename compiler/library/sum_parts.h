/*
 * sum_parts.h - how the ranks of a training add up gradients so that each rank gets some rows of
 * the sums.
 *
 * The ranks that run the leaves of a node in the tree of micro-batches add up the node together:
 * each of them adds some rows, in the order of the tree.  In the end a rank has the rows that it
 * owns (share_states.h).  So all ranks receive parts of sums at the same time, instead of one rank
 * that receives whole sums.
 */
#ifndef CR_SUM_PARTS_H
#define CR_SUM_PARTS_H

struct crescent_trainer;

/* The consecutive ranks that run the micro-batches of a node of the tree. */
struct cr_rank_range {
    int first, last;
};

/* Adds up a node of the tree.  The ranks `left` have parts of the left subtree's sum in the block
 * of `level`; the ranks `right` have parts of the right subtree's sum in the block of level + 1.
 * Afterwards all of them have parts of the node's sum in the block of `level`. */
void cr_join_sum_parts(struct crescent_trainer *trainer, struct cr_rank_range left,
                       struct cr_rank_range right, int level);

/* Call after the last addition.  Gives this rank all rows of the sums that its update reads. */
void cr_complete_sums(struct crescent_trainer *trainer);

#endif
