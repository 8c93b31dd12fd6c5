/*
 * thread_ranks.h - ranks that are threads of this process, and exchange through its memory.
 */
#ifndef CR_FUZZ_THREAD_RANKS_H
#define CR_FUZZ_THREAD_RANKS_H

#include <pthread.h>

#include "runtime/ranks.h"

enum { CR_MOST_RANKS = 5 };

/* Ranks that are threads and meet at a barrier, with the memory through which each sends to all
 * and to one other. */
struct cr_thread_group {
    pthread_barrier_t barrier;
    const void *given[CR_MOST_RANKS];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const void *sent[CR_MOST_RANKS][CR_MOST_RANKS]; /* from, to: until it is received */
};

/* A rank of the group; `ranks` has its functions for exchanges. */
struct cr_thread_rank {
    struct cr_ranks ranks;
    struct cr_thread_group *group;
    void (*work)(void *context); /* what cr_run_thread_ranks lets it do */
    void *context;
};

/* Makes `count` ranks, lets each work at the same time, rank r with contexts[r], and waits for all. */
void cr_run_thread_ranks(int count, void (*work)(void *context), void *const *contexts,
                         struct cr_thread_rank *ranks);

#endif
