/* share_states.h - a rank's share of a parameter and of the states of an optimiser. */
#ifndef CR_SHARE_STATES_H
#define CR_SHARE_STATES_H

#include <stdint.h>

#include "compiler/ir/graph.h"

/* Returns the element with which the share of a rank begins; it ends before the next rank's.  Ranks have rows along
 * the first axis of more than one element, so that a share is contiguous. */
int64_t cr_share_begin(int rank, const int64_t *shape, int of_rank, int ranks);

#endif
