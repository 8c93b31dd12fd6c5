/* join_ranks.h - joins the ranks that mpirun has started this process with; see runtime/ranks.h. */
#ifndef CR_JOIN_RANKS_H
#define CR_JOIN_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/error.h"
#include "runtime/ranks.h"

/* Returns the number of ranks that a launcher (mpirun, srun) states in the environment; 1 if
 * there is no launcher. */
int cr_launched_ranks(void);

/*
 * Joins the ranks that were launched.  For one rank, nothing is loaded.  For more, loads the shared
 * object of the MPI that launched them, which `make MPI=1` builds beside the program; $CRESCENT_MPI
 * names another.  Fails if there is none.  A process joins once.
 */
int cr_ranks_open(struct cr_ranks **ranks, struct cr_error *error);

/* Leaves the group and frees `ranks`, which may be null. */
void cr_ranks_close(struct cr_ranks *ranks);

/* Compares a word across ranks; all ranks call it.  Returns the first rank whose word differs from
 * that of rank 0, or -1 if all are equal. */
int cr_ranks_compare(struct cr_ranks *ranks, uint64_t word);

/* True if `flag` is true on any rank; all ranks call it. */
bool cr_ranks_any(struct cr_ranks *ranks, bool flag);

/* Fails if less than 4 MiB of memory are left for what MPI allocates during exchanges.  An MPI whose allocation fails
 * may wait for ever.  `path` is for the message. */
int cr_ranks_check_memory(const struct cr_ranks *ranks, const char *path, struct cr_error *error);

/* Delays the error message of a failed rank.  If several ranks fail for the same reason, the first
 * one then prints the error and ends the others.  `ranks` is null in a process that has not
 * joined. */
void cr_ranks_wait_to_fail(const struct cr_ranks *ranks);

/* Ends all processes that were launched together, with this status if the launcher can; this process has not joined
 * the others, and ends with the status if the call returns.  Does nothing if it was not launched with others. */
void cr_ranks_end_launched(int status);

#endif
