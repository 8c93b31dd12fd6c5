/* types.h - the types and constants of generated code, except for the functions of the runtime. */
#ifndef CR_TYPES_H
#define CR_TYPES_H

enum {
    CR_PANEL = 32,     /* columns of a packed panel */
    CR_SUM_BLOCK = 256 /* the length of the chains that a sum over k is split into; see runtime.h */
};

#define CR_INFINITY (1.0f / 0.0f)
#define CR_MINUS_INFINITY (-1.0f / 0.0f)
#define CR_NAN (0.0f / 0.0f)

/* Returns the number of the matrix that a run has chosen among n, or 0 if the number is out of
 * range: then the kernel stores NaN. */
static inline long cr_chosen(int number, long n)
{
    return number >= 0 && number < n ? number : 0;
}

/* y = op(a, ...) on a tile; y may be the same tile as an operand. */
typedef void cr_map1(long rows, long cols, float *y, long ldy, const float *a, long lda);
typedef void cr_map2(long rows, long cols, float *y, long ldy, const float *a, long lda,
                     const float *b, long ldb);
typedef void cr_map3(long rows, long cols, float *y, long ldy, const float *a, long lda,
                     const float *b, long ldb, const float *c, long ldc);

/* y[r] = the reduction of the row a[r, :]; for an empty row, the identity. */
typedef void cr_reduce(long rows, long cols, float *y, const float *a, long lda);

/*
 * A reduction down the columns, in several calls, each for a tile of rows.  The number of rows is a
 * multiple of 16 except in the last call.  lanes[r % 16, :] = combine(lanes[r % 16, :], a[r, :]),
 * where `lanes` is 16 x cols and initialised with the identity.  At the end cr_reduce_lanes
 * combines the lanes, and row 0 has the results.
 */
typedef void cr_reduce_down(long rows, long cols, float *lanes, const float *a, long lda);
typedef void cr_reduce_lanes(long cols, float *lanes);

/* The body of a parallel loop: processes the items begin <= i < end with its own scratch memory. */
typedef void cr_body(const void *args, long begin, long end, float *scratch);

struct cr_pool;

/*
 * Runs `body` over the items 0 <= i < items, divided into contiguous shares: at most `shares`, and
 * no more than the pool has threads.  If the pool is null, the calling thread does all of them.
 * Share t uses scratch + t * scratch_stride.  Returns when all items are done.
 */
typedef void cr_parallel(struct cr_pool *pool, long items, long shares, cr_body *body,
                         const void *args, float *scratch, long scratch_stride);

#endif
