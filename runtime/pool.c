/*
 * pool.c - a pool of threads that divide the items of a loop among them.
 *
 * Each worker has its own job.  cr_pool_parallel assigns jobs, does the caller's, takes back jobs
 * that no worker has begun, and waits for the others.  So a worker that sleeps, or that the system
 * has descheduled, delays nobody.  Workers poll for the next job for a millisecond, since the next
 * kernel usually follows immediately, and then sleep.
 */
#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#include "pool.h"

#ifndef CR_NO_THREADS
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

/* A job: a worker's share of a loop, the items begin .. end - 1. */
struct cr_job {
    cr_body *body;
    const void *args;
    long begin, end;
    float *scratch;
};

/* Returns job number `share` of a loop whose items are divided evenly among `shares` jobs. */
static struct cr_job cr_job_of(long items, long shares, long share, cr_body *body, const void *args,
                               float *scratch, long scratch_stride)
{
    return (struct cr_job){body, args, items * share / shares, items * (share + 1) / shares,
                           scratch ? scratch + share * scratch_stride : NULL};
}

static void cr_job_do(const struct cr_job *job)
{
    if (job->begin < job->end) {
        job->body(job->args, job->begin, job->end, job->scratch);
    }
}

#ifdef CR_NO_THREADS

struct cr_pool {
    int threads;
};

CR_API size_t cr_pool_bytes(int threads)
{
    (void)threads;
    return sizeof(struct cr_pool);
}

CR_API struct cr_pool *cr_pool_init(void *memory, int threads)
{
    struct cr_pool *pool = memory;
    if (threads < 1 || threads > CR_MAX_THREADS) {
        return NULL;
    }
    pool->threads = 1;
    return pool;
}

CR_API void cr_pool_stop(struct cr_pool *pool)
{
    (void)pool;
}

CR_API void cr_pool_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                             const void *args, float *scratch, long scratch_stride)
{
    const struct cr_job job = cr_job_of(items, 1, 0, body, args, scratch, scratch_stride);
    (void)pool, (void)shares;
    cr_job_do(&job);
}

#else

/*
 * Variables that threads poll.  TinyCC has no atomics: compiled by it, accesses are guarded by the
 * mutex (CR_ENTER), threads do not poll, and a sleeping thread is always woken.
 */
#ifdef __TINYC__
#define CR_ENTER(pool) pthread_mutex_lock(&(pool)->mutex)
#define CR_LEAVE(pool) pthread_mutex_unlock(&(pool)->mutex)
#define CR_LOAD(p) (*(p))
#define CR_STORE(p, value) ((void)(*(p) = (value)))
#define CR_SWAP(p, from, to) (*(p) == (from) ? (*(p) = (to), 1) : 0)
#define CR_SLEEPS(p) 1
#else
#define CR_ENTER(pool) ((void)0)
#define CR_LEAVE(pool) ((void)0)
#define CR_LOAD(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define CR_STORE(p, value) __atomic_store_n(p, value, __ATOMIC_SEQ_CST)
#define CR_SWAP(p, from, to)                                                                       \
    (CR_LOAD(p) == (from) &&                                                                       \
     __atomic_compare_exchange_n(p, &(int){from}, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
#define CR_SLEEPS(p) CR_LOAD(p)
#endif

/* Tells the processor that the thread is in a waiting loop. */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__TINYC__)
#define CR_RELAX() __builtin_ia32_pause()
#else
#define CR_RELAX() ((void)0)
#endif

/* CR_POLLS: the polls before a thread sleeps, about a millisecond.  If other programs use the
 * machine, the shares of a kernel end some 100 microseconds apart, and waking a virtual processor
 * takes as long.  CR_POLLS_BETWEEN: the polls between two calls of sched_yield, which lets the
 * awaited thread run if it needs this processor. */
enum { CR_POLLS = 50000, CR_POLLS_BETWEEN = 128 };

/* Waits a moment between two polls; `polls` is the number of polls so far. */
static void cr_pause_poll(int polls)
{
    if (polls % CR_POLLS_BETWEEN == CR_POLLS_BETWEEN - 1) {
        sched_yield();
    } else {
        CR_RELAX();
    }
}

/* The states of a worker's job. */
enum {
    CR_IDLE,  /* there is no job, or it is done */
    CR_OPEN,  /* the job waits for a thread to take it */
    CR_TAKEN, /* the worker does the job */
    CR_STOP   /* the worker is to end */
};

/* A worker.  The fields that start it come first, in one cache line, because the line moves between
 * two processors. */
struct cr_worker {
    struct cr_job job;
    int state;
    int asleep; /* it waits, or is about to wait, for `begun` */
    struct cr_pool *pool;
    pthread_t thread;
    pthread_cond_t begun;
};

struct cr_pool {
    pthread_mutex_t mutex; /* held only to sleep and to wake a thread */
    pthread_cond_t done;
    int waiting; /* the caller waits, or is about to wait, for `done` */
    int polls;   /* CR_POLLS; 0 if there are fewer cores than threads */
    int threads;
};

/* The memory of a pool: the pool itself, then a worker for each thread except the calling one. */
union cr_worker_slot {
    struct cr_pool pool;
    struct cr_worker worker;
    char room[CR_POOL_BYTES(1)];
};

/* Compilation fails here if CR_POOL_BYTES is wrong. */
typedef char cr_pool_is_small[sizeof(union cr_worker_slot) == CR_POOL_BYTES(1) ? 1 : -1];

/* Returns worker t, 1 <= t < threads, which does share t of a loop. */
static struct cr_worker *cr_pool_worker(struct cr_pool *pool, long t)
{
    return &((union cr_worker_slot *)(void *)pool)[t].worker;
}

/* Changes the state of a worker to `to` if it is `from`; returns true if it was. */
static int cr_worker_change(struct cr_worker *worker, int from, int to)
{
    int changed;
    CR_ENTER(worker->pool);
    changed = CR_SWAP(&worker->state, from, to);
    CR_LEAVE(worker->pool);
    return changed;
}

/*
 * Sets the state of an idle worker, and wakes the worker if it sleeps.  Either this thread sees
 * that the worker is about to sleep, or the worker sees the new state, because each stores before
 * it loads.
 */
static void cr_worker_signal(struct cr_worker *worker, int state)
{
    cr_worker_change(worker, CR_IDLE, state);
    if (CR_SLEEPS(&worker->asleep)) {
        pthread_mutex_lock(&worker->pool->mutex);
        CR_STORE(&worker->asleep, 0);
        pthread_cond_signal(&worker->begun);
        pthread_mutex_unlock(&worker->pool->mutex);
    }
}

/* Waits until the worker has a job.  May return early: a worker that was woken polls again, because
 * another job will follow soon, even if the caller did this one meanwhile. */
static void cr_worker_wait(struct cr_worker *worker)
{
    struct cr_pool *pool = worker->pool;
    for (int i = 0; i < pool->polls; i++) {
        if (CR_LOAD(&worker->state) != CR_IDLE) {
            return;
        }
        cr_pause_poll(i);
    }
    pthread_mutex_lock(&pool->mutex);
    CR_STORE(&worker->asleep, 1);
    while (CR_LOAD(&worker->asleep) && CR_LOAD(&worker->state) == CR_IDLE) {
        pthread_cond_wait(&worker->begun, &pool->mutex);
    }
    CR_STORE(&worker->asleep, 0);
    pthread_mutex_unlock(&pool->mutex);
}

/* Marks a worker's job as done and wakes the caller if it sleeps.  As in cr_worker_signal, both
 * sides store before they load. */
static void cr_worker_finish(struct cr_worker *worker)
{
    struct cr_pool *pool = worker->pool;
    cr_worker_change(worker, CR_TAKEN, CR_IDLE);
    if (CR_SLEEPS(&pool->waiting)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static void *cr_worker_main(void *argument)
{
    struct cr_worker *self = argument;
    do {
        cr_worker_wait(self);
        if (cr_worker_change(self, CR_OPEN, CR_TAKEN)) {
            cr_job_do(&self->job);
            cr_worker_finish(self);
        }
    } while (!cr_worker_change(self, CR_STOP, CR_IDLE));
    return NULL;
}

/* Waits until a worker has done the job that it has taken. */
static void cr_pool_wait(struct cr_pool *pool, struct cr_worker *worker)
{
    for (int i = 0; i < pool->polls; i++) {
        if (CR_LOAD(&worker->state) == CR_IDLE) {
            return;
        }
        cr_pause_poll(i);
    }
    pthread_mutex_lock(&pool->mutex);
    CR_STORE(&pool->waiting, 1);
    while (CR_LOAD(&worker->state) != CR_IDLE) {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    CR_STORE(&pool->waiting, 0);
    pthread_mutex_unlock(&pool->mutex);
}

/* A share always goes to the same worker, so that data that a thread wrote in one loop are in its
 * cache in the next loop.  But if the worker has not begun when the caller has finished its own
 * share, the caller does that share, too. */
CR_API void cr_pool_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                             const void *args, float *scratch, long scratch_stride)
{
    long threads = cr_pool_threads(pool);
    struct cr_job own;
    assert(items <= LONG_MAX / CR_MAX_THREADS);
    shares = shares < threads ? shares : threads;
    shares = shares < items ? shares : items;
    shares = shares > 1 ? shares : 1;
    for (long t = 1; t < shares; t++) {
        struct cr_worker *worker = cr_pool_worker(pool, t);
        worker->job = cr_job_of(items, shares, t, body, args, scratch, scratch_stride);
        cr_worker_signal(worker, CR_OPEN);
    }
    own = cr_job_of(items, shares, 0, body, args, scratch, scratch_stride);
    cr_job_do(&own);
    for (long t = 1; t < shares; t++) {
        struct cr_worker *worker = cr_pool_worker(pool, t);
        if (cr_worker_change(worker, CR_OPEN, CR_IDLE)) {
            cr_job_do(&worker->job);
        } else {
            cr_pool_wait(pool, worker);
        }
    }
}

CR_API size_t cr_pool_bytes(int threads)
{
    return CR_POOL_BYTES(threads > 1 && threads <= CR_MAX_THREADS ? (size_t)threads : 1);
}

/* Starts a worker's thread; returns 0, or an error number of the system. */
static int cr_worker_start(struct cr_worker *worker, struct cr_pool *pool)
{
    worker->pool = pool;
    worker->state = CR_IDLE;
    worker->asleep = 0;
    pthread_cond_init(&worker->begun, NULL);
    int status = pthread_create(&worker->thread, NULL, cr_worker_main, worker);
    if (status) {
        pthread_cond_destroy(&worker->begun);
    }
    return status;
}

CR_API struct cr_pool *cr_pool_init(void *memory, int threads)
{
    struct cr_pool *pool = memory;
    int n = 1;
    if (threads < 1 || threads > CR_MAX_THREADS) {
        return NULL;
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->waiting = 0;
    pool->polls = 0;
#ifndef __TINYC__
    if (threads <= sysconf(_SC_NPROCESSORS_ONLN)) {
        pool->polls = CR_POLLS;
    }
#endif
    while (n < threads && cr_worker_start(cr_pool_worker(pool, n), pool) == 0) {
        n++;
    }
    pool->threads = n;
    return pool;
}

CR_API void cr_pool_stop(struct cr_pool *pool)
{
    for (int t = 1; t < pool->threads; t++) {
        cr_worker_signal(cr_pool_worker(pool, t), CR_STOP);
    }
    for (int t = 1; t < pool->threads; t++) {
        pthread_join(cr_pool_worker(pool, t)->thread, NULL);
        pthread_cond_destroy(&cr_pool_worker(pool, t)->begun);
    }
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->mutex);
}

#endif

CR_API int cr_pool_threads(const struct cr_pool *pool)
{
    return pool ? pool->threads : 1;
}

#ifndef CR_NO_MALLOC

CR_API struct cr_pool *cr_pool_new(int threads)
{
    void *memory = aligned_alloc(64, cr_pool_bytes(threads));
    struct cr_pool *pool = memory ? cr_pool_init(memory, threads) : NULL;
    if (!pool) {
        free(memory);
    }
    return pool;
}

CR_API void cr_pool_free(struct cr_pool *pool)
{
    if (pool) {
        cr_pool_stop(pool);
        free(pool);
    }
}

#endif
