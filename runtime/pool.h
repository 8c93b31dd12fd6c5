/*
 * pool.h - a pool of threads that share the items of a loop.
 *
 * If CR_NO_THREADS is defined, there is only the calling thread, and pthreads are not needed.
 */
#ifndef CR_POOL_H
#define CR_POOL_H

#include <stddef.h>

#include "api.h" /* only for crescent */
#include "runtime.h" /* only for crescent */

enum { CR_MAX_THREADS = 1024 };

/* An upper bound of the bytes of a pool of this many threads, as a constant expression. */
#define CR_POOL_BYTES(threads) (256 * (threads))

/* Returns the memory that a pool of this many threads needs, aligned as by malloc; it is fastest
 * when aligned to 64 bytes. */
CR_API size_t cr_pool_bytes(int threads);

/*
 * Makes a pool in the memory given.  The calling thread is one of the threads; fewer
 * are made if the system refuses more.  Null if threads is not in 1 .. CR_MAX_THREADS.
 */
CR_API struct cr_pool *cr_pool_init(void *memory, int threads);

/* Ends the threads of a pool made by cr_pool_init.  A process made by fork has the threads of no pool,
 * and neither runs nor stops one that it did not make itself. */
CR_API void cr_pool_stop(struct cr_pool *pool);

#ifndef CR_NO_MALLOC
/* cr_pool_new: like cr_pool_init, but allocates the memory; null also if memory is insufficient.
 * cr_pool_free: stops and frees it. */
CR_API struct cr_pool *cr_pool_new(int threads);
CR_API void cr_pool_free(struct cr_pool *pool);
#endif

/* Returns the number of threads, the calling one included; 1 for a null pool. */
CR_API int cr_pool_threads(const struct cr_pool *pool);

/*
 * Runs the body over items as `parallel` in runtime.h says.  One call at a time: not
 * from two threads at once and not from inside a body.
 */
CR_API void cr_pool_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                             const void *args, float *scratch, long scratch_stride);

#endif
