/*
 * pool.h - a pool of threads that divide the items of a loop among them.
 *
 * If CR_NO_THREADS is defined, there is only the calling thread, and pthreads are not needed.
 */
#ifndef CR_POOL_H
#define CR_POOL_H

#include <stddef.h>

#include "api.h" /* only for crescent */
#include "runtime.h" /* only for crescent */

enum { CR_MAX_THREADS = 1024 };

/* An upper bound of the bytes of a pool with so many threads, as a constant expression. */
#define CR_POOL_BYTES(threads) (256 * (threads))

/* Returns the bytes that a pool with so many threads needs.  The memory must be aligned as by
 * malloc; the pool is fastest if it is aligned to 64 bytes. */
CR_API size_t cr_pool_bytes(int threads);

/*
 * Makes a pool in the given memory.  The calling thread is one of the threads; there are fewer if
 * the system refuses to start more.  Returns null unless 1 <= threads <= CR_MAX_THREADS.
 */
CR_API struct cr_pool *cr_pool_init(void *memory, int threads);

/* Ends the threads of a pool made by cr_pool_init.  A process made by fork does not have the
 * threads of a pool, and must neither use nor stop a pool that it did not make itself. */
CR_API void cr_pool_stop(struct cr_pool *pool);

#ifndef CR_NO_MALLOC
/* cr_pool_new does the same as cr_pool_init, but allocates the memory; returns null also if there
 * is not enough. cr_pool_free stops the pool and frees the memory. */
CR_API struct cr_pool *cr_pool_new(int threads);
CR_API void cr_pool_free(struct cr_pool *pool);
#endif

/* Returns the number of threads, including the calling one; 1 for a null pool. */
CR_API int cr_pool_threads(const struct cr_pool *pool);

/*
 * Runs the body over all items, as runtime.h describes for `parallel`.  Only one call at a time is
 * allowed: not from two threads at once, and not from inside a body.
 */
CR_API void cr_pool_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                             const void *args, float *scratch, long scratch_stride);

#endif
