/* share_states.h - computes a rank's share of a parameter and of the states of an optimiser. */
#ifndef CR_SHARE_STATES_H
#define CR_SHARE_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/graph.h"

/* True if a tensor is worth sharing among ranks: it is large enough, and each rank gets at least
 * one row. */
bool cr_is_worth_sharing(int rank, const int64_t *shape, int ranks);

/*
 * A rank's share of a tensor has the same number of rows for all ranks, along the first axis of more than one element,
 * so that it is contiguous.  If the rows do not divide evenly, the shares of the last ranks begin earlier.  Several
 * ranks then compute the same rows, with the same bits; one of them, the *owner*, sends them to the others.
 */

/* cr_share_begin returns the index of the first element of a rank's share; cr_share_elements
 * returns the number of its elements. */
int64_t cr_share_begin(int rank, const int64_t *shape, int of_rank, int ranks);
int64_t cr_share_elements(int rank, const int64_t *shape, int ranks);

/* Returns the index of the first element that a rank owns.  Its elements end where those of the
 * next rank begin, and are within its share. */
int64_t cr_owned_begin(int rank, const int64_t *shape, int of_rank, int ranks);

#endif
