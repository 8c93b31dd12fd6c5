/*
 * pool.c - a pool of threads that share the items of a loop.
 *
 * A call of cr_pool_parallel publishes a job under a new number.  Workers poll for it for some
 * microseconds, since the next kernel usually follows at once, and then sleep.  All writes happen
 * under the mutex; only polling reads without it.
 */
#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#include "pool.h"

#ifndef CR_NO_THREADS
#include <pthread.h>
#include <unistd.h>
#endif

/* One loop to share. */
struct cr_job {
    cr_body *body;
    const void *args;
    long items;
    float *scratch;
    long scratch_stride;
};

/* Runs the share of thread t: the items from items * t / threads to items * (t + 1) / threads. */
static void cr_job_share(const struct cr_job *job, int t, int threads)
{
    long begin = job->items * t / threads;
    long end = job->items * (t + 1) / threads;
    if (begin < end) {
        job->body(job->args, begin, end,
                  job->scratch ? job->scratch + t * job->scratch_stride : NULL);
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

CR_API void cr_pool_parallel(struct cr_pool *pool, long items, cr_body *body, const void *args,
                             float *scratch, long scratch_stride)
{
    const struct cr_job job = {body, args, items, scratch, scratch_stride};
    (void)pool;
    cr_job_share(&job, 0, 1);
}

#else

/* Reads, and writes, a variable that is polled without the mutex. */
#ifdef __TINYC__ /* has no atomics: workers sleep at once and do not poll */
#define CR_PEEK(p) (*(p))
#define CR_POKE(p, value) ((void)(*(p) = (value)))
#else
#define CR_PEEK(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define CR_POKE(p, value) __atomic_store_n(p, value, __ATOMIC_RELEASE)
#endif

/* Tells the processor that this is a waiting loop. */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__TINYC__)
#define CR_RELAX() __builtin_ia32_pause()
#else
#define CR_RELAX() ((void)0)
#endif

/* How often to poll before sleeping: some 10 to 50 microseconds. */
enum { CR_LOOKS = 2000 };

struct cr_worker {
    struct cr_pool *pool;
    pthread_t thread;
    int index; /* of its share; the calling thread has 0 */
};

struct cr_pool {
    pthread_mutex_t mutex;
    pthread_cond_t begun, done;
    struct cr_job job;
    unsigned number; /* of the job */
    int running;     /* workers that have not finished it */
    int sleeping;    /* workers that wait for `begun` */
    int stop;
    int looks; /* CR_LOOKS, or 0 if there are fewer cores than threads */
    int threads;
    struct cr_worker workers[]; /* threads - 1 */
};

/* CR_POOL_BYTES is enough, or this does not compile. */
typedef char
    cr_pool_is_small[sizeof(struct cr_pool) <= 512 && sizeof(struct cr_worker) <= 64 ? 1 : -1];

/* Waits for a job other than `last`; returns its number. */
static unsigned cr_pool_wait(struct cr_pool *pool, unsigned last)
{
    for (int i = 0; i < pool->looks; i++) {
        unsigned number = CR_PEEK(&pool->number);
        if (number != last) {
            return number;
        }
        CR_RELAX();
    }
    pthread_mutex_lock(&pool->mutex);
    pool->sleeping++;
    while (pool->number == last) {
        pthread_cond_wait(&pool->begun, &pool->mutex);
    }
    pool->sleeping--;
    unsigned number = pool->number;
    pthread_mutex_unlock(&pool->mutex);
    return number;
}

/* The loop of a worker.  Job and stop do not change while the worker counts as running. */
static void *cr_worker_main(void *argument)
{
    struct cr_worker *self = argument;
    struct cr_pool *pool = self->pool;
    unsigned last = 0;
    for (;;) {
        last = cr_pool_wait(pool, last);
        if (pool->stop) {
            return NULL;
        }
        cr_job_share(&pool->job, self->index, pool->threads);
        pthread_mutex_lock(&pool->mutex);
        CR_POKE(&pool->running, pool->running - 1);
        if (pool->running == 0) {
            pthread_cond_signal(&pool->done);
        }
        pthread_mutex_unlock(&pool->mutex);
    }
}

/* Hands a job to all workers. */
static void cr_pool_start(struct cr_pool *pool, const struct cr_job *job, int stop)
{
    pthread_mutex_lock(&pool->mutex);
    pool->job = *job;
    pool->stop = stop;
    CR_POKE(&pool->running, pool->threads - 1);
    CR_POKE(&pool->number, pool->number + 1);
    if (pool->sleeping) {
        pthread_cond_broadcast(&pool->begun);
    }
    pthread_mutex_unlock(&pool->mutex);
}

/* Waits until no worker runs. */
static void cr_pool_finish(struct cr_pool *pool)
{
    for (int i = 0; i < pool->looks; i++) {
        if (CR_PEEK(&pool->running) == 0) {
            return;
        }
        CR_RELAX();
    }
    pthread_mutex_lock(&pool->mutex);
    while (pool->running > 0) {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}

CR_API void cr_pool_parallel(struct cr_pool *pool, long items, cr_body *body, const void *args,
                             float *scratch, long scratch_stride)
{
    const struct cr_job job = {body, args, items, scratch, scratch_stride};
    assert(items <= LONG_MAX / CR_MAX_THREADS);
    if (!pool || pool->threads == 1 || items <= 1) {
        cr_job_share(&job, 0, 1);
        return;
    }
    cr_pool_start(pool, &job, 0);
    cr_job_share(&job, 0, pool->threads);
    cr_pool_finish(pool);
}

CR_API size_t cr_pool_bytes(int threads)
{
    size_t workers = threads > 1 && threads <= CR_MAX_THREADS ? (size_t)threads - 1 : 0;
    return sizeof(struct cr_pool) + workers * sizeof(struct cr_worker);
}

/*
 * Workers start while no job has been published.  They read the final number of threads with the
 * first job.
 */
static void cr_pool_populate(struct cr_pool *pool, int threads)
{
    int n = 1;
    for (; n < threads; n++) {
        struct cr_worker *worker = &pool->workers[n - 1];
        worker->pool = pool;
        worker->index = n;
        if (pthread_create(&worker->thread, NULL, cr_worker_main, worker) != 0) {
            break;
        }
    }
    pthread_mutex_lock(&pool->mutex);
    pool->threads = n;
    pthread_mutex_unlock(&pool->mutex);
}

CR_API struct cr_pool *cr_pool_init(void *memory, int threads)
{
    struct cr_pool *pool = memory;
    const struct cr_job none = {NULL, NULL, 0, NULL, 0};
    if (threads < 1 || threads > CR_MAX_THREADS) {
        return NULL;
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->begun, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->job = none;
    pool->number = 0;
    pool->running = 0;
    pool->sleeping = 0;
    pool->stop = 0;
    pool->looks = 0;
#ifndef __TINYC__
    if (threads <= sysconf(_SC_NPROCESSORS_ONLN)) {
        pool->looks = CR_LOOKS;
    }
#endif
    pool->threads = 1;
    cr_pool_populate(pool, threads);
    return pool;
}

CR_API void cr_pool_stop(struct cr_pool *pool)
{
    const struct cr_job none = {NULL, NULL, 0, NULL, 0};
    cr_pool_start(pool, &none, 1);
    for (int n = 1; n < pool->threads; n++) {
        pthread_join(pool->workers[n - 1].thread, NULL);
    }
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->begun);
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
    void *memory = malloc(cr_pool_bytes(threads));
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
