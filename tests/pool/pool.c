/*
 * pool.c - tests of the emitted C of model.lua with a pool of threads; pool.sh compiles it.
 *
 * Every number of threads up to MODEL_THREADS gives the bits of the calling thread alone, run after
 * run, with two pools at the same time, and after a rest; a pool at rest takes no processor time,
 * and one that was stopped has left no thread behind.  Says what is not so, and returns 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"

#if MODEL_THREADS > 1
#include <pthread.h>
#endif
#ifdef __linux__
#include <dirent.h>
#endif

enum { ROUNDS = 6 };

/* The memory of one caller; all callers share the weights. */
struct caller {
    struct model_pool *pool;
    void *arena, *room; /* of the pool */
    int threads, wrong;
    float y[MODEL_OUT_FORWARD_Y_ELEMENTS], dx[MODEL_OUT_BACKWARD_DX_ELEMENTS], loss;
};

static float x[MODEL_IN_X_ELEMENTS], target[MODEL_IN_TARGET_ELEMENTS];
static void *weights;
static struct caller alone;
static int wrong;

static void check(int holds, const char *what)
{
    if (!holds)
        puts(what);
    wrong |= !holds;
}

static void make_up(float *numbers, long n)
{
    static unsigned state = 1;
    for (long i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}

/* Allocates memory that is not freed before the program ends. */
static void *room_for(size_t bytes)
{
    void *room = aligned_alloc(64, bytes);
    if (!room)
        exit(1);
    return room;
}

static void load(void)
{
    weights = room_for(MODEL_PARAM_BYTES);
    for (int i = 0; i < MODEL_PARAMS; i++) {
        float *tensor = room_for((size_t)(model_params[i].elements * 4 + 63) / 64 * 64);
        make_up(tensor, model_params[i].elements);
        model_load(weights, i, tensor);
        free(tensor);
    }
    make_up(x, MODEL_IN_X_ELEMENTS);
    make_up(target, MODEL_IN_TARGET_ELEMENTS);
}

static struct caller open_caller(int threads)
{
    struct caller c;
    memset(&c, 0, sizeof c);
    c.threads = threads;
    c.arena = room_for(MODEL_ARENA_BYTES);
    c.room = room_for(MODEL_POOL_BYTES);
    c.pool = threads ? model_pool_start(c.room, threads) : NULL;
    check(!threads || c.pool, "a pool was not started");
    return c;
}

static void close_caller(struct caller *c)
{
    model_pool_stop(c->pool);
    free(c->arena);
    free(c->room);
}

/* Runs both entries, whose outputs are overwritten before, and compares them with a run on one
 * thread. */
static void run(struct caller *c)
{
    memset(c->y, 0x55, sizeof c->y);
    memset(c->dx, 0x55, sizeof c->dx);
    c->wrong |= model_forward_run_with(c->pool, weights, x, c->y, c->arena);
    c->wrong |= model_backward_run_with(c->pool, weights, x, target, c->dx, &c->loss, c->arena);
    c->wrong |= memcmp(c->y, alone.y, sizeof c->y) != 0 ||
                memcmp(c->dx, alone.dx, sizeof c->dx) != 0 ||
                memcmp(&c->loss, &alone.loss, sizeof c->loss) != 0;
}

static void rest(long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

/* Runs often, with rests so long that the pool's threads fall asleep, and so short that they do
 * not. */
static void *run_often(void *argument)
{
    struct caller *c = argument;
    for (int i = 0; i < ROUNDS; i++) {
        run(c);
        rest(i % 3 * 200000);
    }
    return NULL;
}

static void check_threads(int threads)
{
    struct caller c = open_caller(threads);
    run_often(&c);
    check(!c.wrong, "other bits, or a run that failed");
    if (c.wrong)
        printf("... with %d threads\n", threads);
    close_caller(&c);
}

/* Runs without a pool: the emitted function starts threads of its own. */
static void check_own(void)
{
    struct caller c = open_caller(0);
    c.wrong |= model_forward_run(weights, x, c.y, c.arena);
    c.wrong |= model_backward_run(weights, x, target, c.dx, &c.loss, c.arena);
    check(!c.wrong && memcmp(c.y, alone.y, sizeof c.y) == 0 &&
              memcmp(c.dx, alone.dx, sizeof c.dx) == 0,
          "other bits without a pool");
    close_caller(&c);
}

static void check_refusals(void)
{
    struct caller c = open_caller(0);
    check(!model_pool_start(c.room, 0), "no threads were started");
    check(!model_pool_start(c.room, MODEL_THREADS + 1), "more threads than there is scratch for");
    check(!model_pool_start(NULL, 1), "a pool in no memory");
    check(!model_pool_start((char *)c.room + 8, 1), "a pool in memory that is not aligned");
    check(model_forward_run_with(NULL, weights, x, c.y, (char *)c.arena + 8) == 1,
          "an arena that is not aligned");
    close_caller(&c);
}

#if MODEL_THREADS > 1

static void check_two_pools(void)
{
    static struct caller callers[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        callers[i] = open_caller(2 + i);
        check(pthread_create(&threads[i], NULL, run_often, &callers[i]) == 0, "no thread");
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        check(!callers[i].wrong, "other bits of one of two pools");
        close_caller(&callers[i]);
    }
}

/* Checks that an idle pool takes no processor time; polling threads would take seconds. */
static void check_idle(void)
{
    struct caller c = open_caller(2);
    run(&c);
    clock_t before = clock();
    rest(999999999);
    check((double)(clock() - before) / CLOCKS_PER_SEC < 0.1, "a pool at rest takes processor time");
    run(&c);
    check(!c.wrong, "other bits after a rest");
    close_caller(&c);
}

#endif

#ifdef __linux__

/* Counts the threads of the process; a joined thread may still be listed for a moment. */
static int count_threads(void)
{
    int n = 0;
    for (int tries = 0; tries < 100 && n != 1; tries++) {
        DIR *tasks = opendir("/proc/self/task");
        struct dirent *entry;
        if (!tasks)
            return 1;
        for (n = 0; (entry = readdir(tasks));)
            n += *entry->d_name != '.';
        closedir(tasks);
        rest(n == 1 ? 0 : 10000000);
    }
    return n;
}

#endif

int main(void)
{
    static const int numbers[] = {1, 2, 3, 7};
    load();
    alone = open_caller(0);
    alone.wrong |= model_forward_run_with(NULL, weights, x, alone.y, alone.arena);
    alone.wrong |= model_backward_run_with(NULL, weights, x, target, alone.dx, &alone.loss,
                                           alone.arena);
    check(!alone.wrong && alone.loss == alone.loss, "a run without a pool");
    for (int i = 0; i < 4 && numbers[i] <= MODEL_THREADS; i++)
        check_threads(numbers[i]);
    check_own();
    check_refusals();
#if MODEL_THREADS > 1
    check_two_pools();
    check_idle();
#endif
#if defined(__linux__) && !defined(WATCHED)
    check(count_threads() == 1, "threads are left of pools that were stopped");
#endif
    close_caller(&alone);
    free(weights);
    return wrong;
}
