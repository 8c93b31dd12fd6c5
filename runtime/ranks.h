/*
 * ranks.h - processes that work together, the *ranks*, and the functions by which they exchange
 * data.
 *
 * All ranks of a group call its collective functions (all_gather, broadcast, barrier) in the same
 * order with the same sizes.  A call returns when the rank may use its memory again.  No function
 * returns an error: if an exchange is impossible, for example because a rank has ended, all ranks
 * end.
 */
#ifndef CR_RANKS_H
#define CR_RANKS_H

#include <stddef.h>

/* A message that a rank sends to another one, or receives from it. */
struct cr_message {
    void *data; /* only read if the message is sent */
    size_t bytes;
    int other, is_received;
};

struct cr_ranks {
    /* Gathers a block from every rank on every rank: the `bytes` bytes at `from` on rank r are
     * copied to `to` + r * stride.  It is the first member, because compiled models declare only
     * this one; models for several ranks declare `rank`, too. */
    void (*gather_blocks)(struct cr_ranks *ranks, void *to, const void *from, long bytes, long stride);

    int rank, count; /* 0 <= rank < count */
    long long sent;  /* the bytes that this rank has sent through any function, counted once for
                        each receiving rank */

    int differ; /* 1 if the ranks' files or options were compared and differ; a run would mix
                   them */

    /* Gathers the parts of `data` in place.  Before the call each rank r has written the bytes
     * first[r] .. first[r + 1] - 1, possibly none; afterwards it has the parts of all ranks.
     * `first` has count + 1 items, the same on all ranks. */
    void (*all_gather)(struct cr_ranks *ranks, void *data, const size_t *first);

    /* Copies data from rank `from` to all others. */
    void (*broadcast)(struct cr_ranks *ranks, void *data, size_t bytes, int from);

    /* Send data from this rank to another one, which has to receive the same number of bytes. */
    void (*send)(struct cr_ranks *ranks, const void *data, size_t bytes, int to);
    void (*receive)(struct cr_ranks *ranks, void *data, size_t bytes, int from);

    /* Sends and receives several messages at the same time.  The lists of any two ranks must have
     * the messages between them in the same order.  No message may overlap one that is received. */
    void (*exchange)(struct cr_ranks *ranks, const struct cr_message *messages, int n);

    /* Returns when all ranks have called it. */
    void (*barrier)(struct cr_ranks *ranks);

    /* Ends all ranks with an exit status, and does not return.  In a group of one rank it does
     * nothing and returns, so that the caller ends the process. */
    void (*abort)(struct cr_ranks *ranks, int status);

    /* Leaves the group.  Each rank calls it before it ends with status 0.  Afterwards the pointer
     * is invalid. */
    void (*close)(struct cr_ranks *ranks);
};

/* The name of the function in the shared object that joins the group, and its type.  The function
 * returns null if it cannot join. */
#define CR_RANKS_JOIN "cr_ranks_join_mpi"
typedef struct cr_ranks *cr_ranks_join(void);

/* Returns the first of `n` items that a rank owns.  It owns the items from there up to the next
 * rank's first item. */
static inline long cr_first_of_rank(long n, int rank, int count)
{
    return (long)((long long)n * rank / count);
}

#endif
