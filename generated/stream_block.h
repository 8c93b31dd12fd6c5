/*
 * stream_block - a model compiled to C by Crescent.
 *
 *   input  f32 x[2, 8, 48]
 *   output f32 y[2, 8, 48]
 *
 * Tensors are row-major.  The caller owns all memory: weights (filled once, by
 * stream_block_load), inputs, outputs and an arena for intermediate values.  Weights and
 * arena are aligned to 64 bytes.  Nothing is allocated and no global changes, so
 * calls with different arenas may run at the same time.
 */
#ifndef STREAM_BLOCK_H
#define STREAM_BLOCK_H

/* Threads that share the work; more than 1 needs pthreads (compile both with the
 * same value, as in -DSTREAM_BLOCK_THREADS=4 -pthread). */
#ifndef STREAM_BLOCK_THREADS
#define STREAM_BLOCK_THREADS 1
#endif

#define STREAM_BLOCK_POOL_BYTES (STREAM_BLOCK_THREADS * 256L) /* of the memory of a pool */
#define STREAM_BLOCK_PARAM_BYTES 131520L /* bytes of the weights as stream_block_load packs them */
#define STREAM_BLOCK_ARENA_BYTES (15360L + STREAM_BLOCK_THREADS * 9280L)
#define STREAM_BLOCK_PARAMS 12
#define STREAM_BLOCK_IN_X_ELEMENTS 768L
#define STREAM_BLOCK_OUT_Y_ELEMENTS 768L

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter: its name and shape in a state dict, and where in the weights it
 * begins, in bytes; -1 if the model does not need it. */
struct stream_block_param {
    const char *name;
    int rank;
    long shape[8];
    long elements;
    long offset;
};

extern const struct stream_block_param stream_block_params[];

/* Puts parameter `index` of stream_block_params, a row-major tensor, into the weights, packed
 * as the kernels read it.  Returns 0, or 1 if there is no such parameter. */
int stream_block_load(void *weights, int index, const float *tensor);

/* Computes the outputs.  Returns 0, or 1 if a pointer is null or not aligned. */
int stream_block_run(const void *weights, const float *in_x, float *out_y, void *arena);

/* Starts a pool of threads, for the functions that take one; between their calls the threads
 * sleep.  `threads`, 1 to STREAM_BLOCK_THREADS, counts the calling thread; there are fewer if the
 * system refuses some.  `memory` has STREAM_BLOCK_POOL_BYTES, aligned to 64 bytes.  Returns null if
 * it is not aligned, or for another number of threads.  A pool serves one call at a time, in
 * the process that started it: not in a child that fork made. */
struct stream_block_pool;
struct stream_block_pool *stream_block_pool_start(void *memory, int threads);

/* Ends the threads; the memory is the caller's again. */
void stream_block_pool_stop(struct stream_block_pool *pool);

/* Computes the outputs with the threads of a pool; with a null pool, on this thread. */
int stream_block_run_with(struct stream_block_pool *pool, const void *weights, const float *in_x, float *out_y, void *arena);

#ifdef __cplusplus
}
#endif

#endif
