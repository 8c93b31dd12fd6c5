/*
 * ranks.h - processes that work together, the *ranks*, and what they exchange.
 *
 * All ranks of a group call its collective functions (all_gather, broadcast, barrier) in the same order
 * with the same sizes.  A call returns when the rank may use its memory again.  No function fails: where
 * an exchange is impossible, because a rank has ended, say, all ranks end.
 */
#ifndef CR_RANKS_H
#define CR_RANKS_H

#include <stddef.h>

/* A message that a rank sends to another one, or receives from it. */
struct cr_message {
    void *data; /* only read if it is sent */
    size_t bytes;
    int other, is_received;
};

struct cr_ranks {
    /* Gathers a block from every rank on every rank: the `bytes` bytes at `from` on rank r are
     * copied to `to` + r * stride.  It is the first member, because compiled models declare only
     * this one; models for several ranks declare `rank`, too. */
    void (*gather_blocks)(struct cr_ranks *ranks, void *to, const void *from, long bytes, long stride);

    int rank, count; /* 0 <= rank < count */
    long long sent;  /* bytes that this rank has sent through each function, counted once for
                        each receiving rank */

    int differ; /* 1: what ranks were given has been compared, and differs; a run would mix it */

    /* Gathers the parts of `data` in place: each rank r has written the bytes first[r] ..
     * first[r + 1] - 1, possibly none, and receives the parts of all other ranks.  `first` has
     * count + 1 members, the same on all ranks. */
    void (*all_gather)(struct cr_ranks *ranks, void *data, const size_t *first);

    /* Copies data from rank `from` to all others. */
    void (*broadcast)(struct cr_ranks *ranks, void *data, size_t bytes, int from);

    /* Send data from this rank to another one, which receives the same number of bytes. */
    void (*send)(struct cr_ranks *ranks, const void *data, size_t bytes, int to);
    void (*receive)(struct cr_ranks *ranks, void *data, size_t bytes, int from);

    /* Sends and receives messages side by side.  Messages between two ranks are in the same order in the lists of
     * both, and no message overlaps one that is received. */
    void (*exchange)(struct cr_ranks *ranks, const struct cr_message *messages, int n);

    /* Returns when all ranks have called it. */
    void (*barrier)(struct cr_ranks *ranks);

    /* Ends all ranks with this exit status, and does not return.  In a group of one rank it does nothing and
     * returns: the caller ends the process. */
    void (*abort)(struct cr_ranks *ranks, int status);

    /* Leaves the group; each rank calls it before it ends with status 0.  The pointer is invalid
     * from then on. */
    void (*close)(struct cr_ranks *ranks);
};

/* The name of the function of the shared object that joins the group, and its type.  The
 * function returns null if it cannot join. */
#define CR_RANKS_JOIN "cr_ranks_join_mpi"
typedef struct cr_ranks *cr_ranks_join(void);

/* Returns the first of `n` items that a rank owns: it owns those up to the next rank's first
 * item. */
static inline long cr_first_of_rank(long n, int rank, int count)
{
    return (long)((long long)n * rank / count);
}

#endif
