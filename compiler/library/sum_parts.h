/*
 * sum_parts.h - how the ranks of a training pass on sums of gradients of which each rank has some rows.
 *
 * A node of the tree of micro-batches is added up by the ranks of its leaves together: each of them adds some rows, in
 * the order of the tree.  In the end a rank has the rows that it owns (share_states.h).  In place of one rank that
 * receives whole sums, all ranks receive parts at the same time.
 */
#ifndef CR_SUM_PARTS_H
#define CR_SUM_PARTS_H

struct crescent_trainer;

/* The consecutive ranks that run the micro-batches of a node of the tree. */
struct cr_rank_range {
    int first, last;
};

/* Adds up a node of the tree.  The ranks `left` have parts of its left sum, in the block of `level`; the ranks `right`
 * have parts of its right sum, in the block of level + 1.  All of them get parts of the result, in the block of
 * `level`. */
void cr_join_sum_parts(struct crescent_trainer *trainer, struct cr_rank_range left,
                       struct cr_rank_range right, int level);

/* After the tree: gives this rank all rows of the sums that its update reads. */
void cr_complete_sums(struct crescent_trainer *trainer);

#endif
