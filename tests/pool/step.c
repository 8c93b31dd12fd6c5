/* step.c - a training with a pool of threads gives the same results as one without:
 * generated/train_add.c.  Prints a difference and returns 1 if there is one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generated/train_add.h"

enum { STEPS = 20 };

static void *room_for(size_t bytes)
{
    void *room = aligned_alloc(64, bytes);
    if (!room)
        exit(1);
    return room;
}

/* Allocates a training state: made-up parameters, and zeros. */
static char *begin(void)
{
    char *state = room_for(TRAIN_ADD_STATE_BYTES);
    memset(state, 0, TRAIN_ADD_STATE_BYTES);
    for (int i = 0; i < TRAIN_ADD_TENSORS; i++) {
        const struct train_add_tensor *t = &train_add_tensors[i];
        float *numbers = (float *)(void *)(state + t->offset);
        for (long k = 0; t->is_param && k < t->elements; k++)
            numbers[k] = (float)(k * 7919 % 1000) / 4000.0f - 0.125f;
    }
    return state;
}

/* Returns the state after some steps on a pool of some threads (0: without a pool); the caller
 * frees it. */
static char *train(int threads)
{
    char *state = begin(), *next = begin(), *old;
    void *arena = room_for(TRAIN_ADD_ARENA_BYTES), *room = room_for(TRAIN_ADD_POOL_BYTES);
    struct train_add_pool *pool = threads ? train_add_pool_start(room, threads) : NULL;
    float loss;
    int status = threads && !pool;
    for (int i = 0; i < STEPS && !status; i++) {
        status = pool ? train_add_step_with(pool, state, next, &loss, arena)
                      : train_add_step(state, next, &loss, arena);
        old = state;
        state = next;
        next = old;
    }
    train_add_pool_stop(pool);
    if (status || !(loss == loss))
        exit(1);
    free(room);
    free(arena);
    free(next);
    return state;
}

int main(void)
{
    char *expected = train(0);
    int wrong = 0;
    for (int threads = 1; threads <= TRAIN_ADD_THREADS; threads++) {
        char *state = train(threads);
        if (memcmp(state, expected, TRAIN_ADD_STATE_BYTES) != 0) {
            printf("other bits with %d threads\n", threads);
            wrong = 1;
        }
        free(state);
    }
    free(expected);
    return wrong;
}
