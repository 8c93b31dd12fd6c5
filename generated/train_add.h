/*
 * train_add - a step of a training, compiled to C by Crescent.
 *
 *   output f32 loss[]
 *
 * Tensors are row-major.  The state is the parameters and what the optimiser keeps, all
 * in one piece of memory as train_add_tensors says.  The caller owns all memory: a state,
 * or two, inputs, outputs and an arena.  States and arena are aligned to 64
 * bytes.  Nothing is allocated and no global changes: the next state is a function of the
 * old one and the inputs, the same to the last bit under every compiler and with any
 * number of threads.
 */
#ifndef TRAIN_ADD_H
#define TRAIN_ADD_H

/* Threads that share the work; more than 1 needs pthreads (compile both with the
 * same value, as in -DTRAIN_ADD_THREADS=4 -pthread). */
#ifndef TRAIN_ADD_THREADS
#define TRAIN_ADD_THREADS 1
#endif

#define TRAIN_ADD_POOL_BYTES (TRAIN_ADD_THREADS * 256L) /* of the memory of a pool */
#define TRAIN_ADD_TENSORS 18 /* of the state */
#define TRAIN_ADD_STATE_BYTES 35328L
#define TRAIN_ADD_TENSOR_BYTES 8192L /* the largest of them */
#define TRAIN_ADD_ARENA_BYTES (85568L + TRAIN_ADD_THREADS * 40960L)
#define TRAIN_ADD_OUT_LOSS_ELEMENTS 1L

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of the state: its name in a checkpoint, its shape, and where it begins, in
 * bytes.  Its elements are floats, or ints. */
struct train_add_tensor {
    const char *name;
    int is_param, is_int, rank;
    long shape[8];
    long elements;
    long offset;
};

/* The parameters, then the rest, in the order of a checkpoint of `crescent train`. */
extern const struct train_add_tensor train_add_tensors[];

/* Copy a tensor into a state, and out of it.  Return 0, or 1 for a null pointer or a wrong
 * number. */
int train_add_set_tensor(void *state, int tensor, const void *whole);
int train_add_get_tensor(const void *state, int tensor, void *whole);

/* Makes a step: reads `state`, writes all of `next` and the outputs.  `next` is `state`, and is
 * stored over it, or does not overlap it.  Returns 0, or 1 if a pointer is null or not aligned. */
int train_add_step(const void *state, void *next, float *out_loss, void *arena);

/* Starts a pool of threads, for the functions that take one; between their calls the threads
 * sleep.  `threads`, 1 to TRAIN_ADD_THREADS, counts the calling thread; there are fewer if the
 * system refuses some.  `memory` has TRAIN_ADD_POOL_BYTES, aligned to 64 bytes.  Returns null if
 * it is not aligned, or for another number of threads.  A pool serves one call at a time, in
 * the process that started it: not in a child that fork made. */
struct train_add_pool;
struct train_add_pool *train_add_pool_start(void *memory, int threads);

/* Ends the threads; the memory is the caller's again. */
void train_add_pool_stop(struct train_add_pool *pool);

/* Makes a step with the threads of a pool; with a null pool, on this thread. */
int train_add_step_with(struct train_add_pool *pool, const void *state, void *next, float *out_loss, void *arena);

#ifdef __cplusplus
}
#endif

#endif
