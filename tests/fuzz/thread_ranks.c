/* Ranks that are threads and exchange data through memory; see thread_ranks.h. */
#include "thread_ranks.h"

#include <stdlib.h>
#include <string.h>

static struct cr_thread_group *group_of(struct cr_ranks *ranks)
{
    return ((struct cr_thread_rank *)(void *)ranks)->group;
}

static void gather_blocks(struct cr_ranks *ranks, void *to, const void *from, long bytes, long stride)
{
    struct cr_thread_group *group = group_of(ranks);
    group->given[ranks->rank] = from;
    pthread_barrier_wait(&group->barrier);
    for (int r = 0; r < ranks->count; r++)
        memcpy((char *)to + r * stride, group->given[r], (size_t)bytes);
    pthread_barrier_wait(&group->barrier); /* others may still be reading this rank's data */
}

static void all_gather(struct cr_ranks *ranks, void *data, const size_t *first)
{
    struct cr_thread_group *group = group_of(ranks);
    group->given[ranks->rank] = data;
    pthread_barrier_wait(&group->barrier);
    for (int r = 0; r < ranks->count; r++)
        if (r != ranks->rank)
            memcpy((char *)data + first[r], (const char *)group->given[r] + first[r], first[r + 1] - first[r]);
    pthread_barrier_wait(&group->barrier);
}

static void broadcast(struct cr_ranks *ranks, void *data, size_t bytes, int from)
{
    struct cr_thread_group *group = group_of(ranks);
    if (ranks->rank == from)
        group->given[from] = data;
    pthread_barrier_wait(&group->barrier);
    if (ranks->rank != from)
        memcpy(data, group->given[from], bytes);
    pthread_barrier_wait(&group->barrier);
}

/* Waits until a message is present (`there`), or until it is taken. */
static void wait_for(struct cr_thread_group *group, const void *const *message, int there)
{
    while ((*message != NULL) != there)
        pthread_cond_wait(&group->changed, &group->mutex);
}

static void send_to(struct cr_ranks *ranks, const void *data, size_t bytes, int to)
{
    struct cr_thread_group *group = group_of(ranks);
    const void **message = &group->sent[ranks->rank][to];
    (void)bytes;
    pthread_mutex_lock(&group->mutex);
    *message = data;
    pthread_cond_broadcast(&group->changed);
    wait_for(group, message, 0);
    pthread_mutex_unlock(&group->mutex);
}

static void receive(struct cr_ranks *ranks, void *data, size_t bytes, int from)
{
    struct cr_thread_group *group = group_of(ranks);
    const void **message = &group->sent[from][ranks->rank];
    pthread_mutex_lock(&group->mutex);
    wait_for(group, message, 1);
    memcpy(data, *message, bytes);
    *message = NULL;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->mutex);
}

/* Sends and receives messages one by one.  There is no deadlock: the earliest message that is not
 * done is the next one of both its ranks. */
static void exchange(struct cr_ranks *ranks, const struct cr_message *messages, int n)
{
    for (const struct cr_message *m = messages; m < messages + n; m++)
        if (m->is_received)
            receive(ranks, m->data, m->bytes, m->other);
        else
            send_to(ranks, m->data, m->bytes, m->other);
}

static void barrier(struct cr_ranks *ranks)
{
    pthread_barrier_wait(&group_of(ranks)->barrier);
}

/* Does nothing: the thread ends when its work returns. */
static void close_rank(struct cr_ranks *ranks)
{
    (void)ranks;
}

static void *begin(void *argument)
{
    struct cr_thread_rank *rank = argument;
    rank->work(rank->context);
    return NULL;
}

void cr_run_thread_ranks(int count, void (*work)(void *context), void *const *contexts,
                         struct cr_thread_rank *ranks)
{
    pthread_t threads[CR_MOST_RANKS];
    struct cr_thread_group group = {.given = {NULL}};
    pthread_barrier_init(&group.barrier, NULL, (unsigned)count);
    pthread_mutex_init(&group.mutex, NULL);
    pthread_cond_init(&group.changed, NULL);
    for (int r = 0; r < count; r++)
        ranks[r] = (struct cr_thread_rank){.ranks = {.gather_blocks = gather_blocks,
                                                     .rank = r,
                                                     .count = count,
                                                     .all_gather = all_gather,
                                                     .broadcast = broadcast,
                                                     .send = send_to,
                                                     .receive = receive,
                                                     .exchange = exchange,
                                                     .barrier = barrier,
                                                     .close = close_rank},
                                           .group = &group,
                                           .work = work,
                                           .context = contexts[r]};
    for (int r = 0; r < count; r++)
        if (pthread_create(&threads[r], NULL, begin, &ranks[r]))
            abort();
    for (int r = 0; r < count; r++)
        pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&group.barrier);
    pthread_mutex_destroy(&group.mutex);
    pthread_cond_destroy(&group.changed);
}
