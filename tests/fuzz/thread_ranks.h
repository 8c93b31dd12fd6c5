/*
 * thread_ranks.h - ranks that are threads of this process, and exchange through its memory.
 */
#ifndef CR_FUZZ_THREAD_RANKS_H
#define CR_FUZZ_THREAD_RANKS_H

#include <pthread.h>

#include "runtime/ranks.h"

enum { CR_MOST_RANKS = 8 };

/* A group of ranks that are threads: a barrier, and memory for messages to all ranks and to a
 * single one. */
struct cr_thread_group {
    pthread_barrier_t barrier;
    const void *given[CR_MOST_RANKS];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const void *sent[CR_MOST_RANKS][CR_MOST_RANKS]; /* [from, to]: set until the message is received */
};

/* A rank of the group; `ranks` has its functions for exchanging data. */
struct cr_thread_rank {
    struct cr_ranks ranks;
    struct cr_thread_group *group;
    void (*work)(void *context); /* the function that the rank's thread runs */
    void *context;
};

/* Makes `count` ranks, runs `work` in a thread for each, with contexts[r] for rank r, and waits for
 * all. */
void cr_run_thread_ranks(int count, void (*work)(void *context), void *const *contexts,
                         struct cr_thread_rank *ranks);

#endif
