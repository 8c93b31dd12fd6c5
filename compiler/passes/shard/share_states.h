/* share_states.h - a rank's share of a parameter and of the states of an optimiser. */
#ifndef CR_SHARE_STATES_H
#define CR_SHARE_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/graph.h"

/* True if ranks may share a tensor: it is large enough, and each of them gets some rows. */
bool cr_is_worth_sharing(int rank, const int64_t *shape, int ranks);

/*
 * The share of a rank is the same number of rows for all ranks, along the first axis of more than one element, so
 * that it is contiguous.  If the rows do not divide, the shares of the last ranks begin earlier: several ranks then
 * compute the same rows, with the same bits, and one of them, the owner, has them to give.
 */

/* Return the first element of a rank's share, and the number of its elements. */
int64_t cr_share_begin(int rank, const int64_t *shape, int of_rank, int ranks);
int64_t cr_share_elements(int rank, const int64_t *shape, int ranks);

/* Returns the first element of those that a rank owns; they end before the next rank's, and lie in its share. */
int64_t cr_owned_begin(int rank, const int64_t *shape, int of_rank, int ranks);

#endif
