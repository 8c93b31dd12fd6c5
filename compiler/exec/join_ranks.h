/* join_ranks.h - joins this process with the other ranks that a launcher such as mpirun started;
 * see runtime/ranks.h. */
#ifndef CR_JOIN_RANKS_H
#define CR_JOIN_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/error.h"
#include "runtime/ranks.h"

/* Returns the number of ranks that a launcher (mpirun, srun) states in the environment; 1 without
 * a launcher. */
int cr_launched_ranks(void);

/*
 * Joins the launched ranks.  For one rank, nothing is loaded.  For more, loads the shared object
 * for the launcher's MPI, which `make MPI=1` builds beside the program; $CRESCENT_MPI names
 * another file. Fails if there is none.  A process can join only once.
 */
int cr_ranks_open(struct cr_ranks **ranks, struct cr_error *error);

/* Leaves the group and frees `ranks`, which may be null. */
void cr_ranks_close(struct cr_ranks *ranks);

/* Compares a word across ranks; all ranks must call it.  Returns the first rank whose word
 * differs from the word of rank 0, or -1 if all are equal. */
int cr_ranks_compare(struct cr_ranks *ranks, uint64_t word);

/* True if `flag` is true on any rank; all ranks must call it. */
bool cr_ranks_any(struct cr_ranks *ranks, bool flag);

/* Fails if less than 4 MiB of memory are left for MPI's allocations during exchanges: if one
 * fails, MPI may wait forever.  `path` is for the message. */
int cr_ranks_check_memory(const struct cr_ranks *ranks, const char *path, struct cr_error *error);

/* Waits on a rank that is about to fail.  If several ranks fail for the same reason, the first
 * one then prints its error and ends the others.  `ranks` is null if this process has not
 * joined. */
void cr_ranks_wait_to_fail(const struct cr_ranks *ranks);

/* Ends all processes that were launched together, with this status if the launcher supports that.
 * For a process that has not joined the others; if the call returns, the process must end with
 * the status itself.  Does nothing if the process was launched alone. */
void cr_ranks_end_launched(int status);

#endif
