/*
 * runtime.h - all that generated code may call.
 *
 * This text is laid in front of every generated program: as declarations when
 * TinyCC compiles it in memory, followed by the runtime's source when it is
 * written out as a standalone file.  It therefore includes nothing.
 *
 * A *tile* is `rows` x `cols` floats, row r at p + r * ld.  A row stride (ld) of
 * 0 repeats one row.  An operand whose variant letter is `v` is such a tile; an
 * operand with the letter `s` holds one value a row, row r's at p[r * ld].  A tile of
 * i32 has ints in place of floats, of the same size; its functions are rt->i32.
 *
 * Same bits everywhere: each function below fixes the order of its floating-point
 * operations, whatever the instruction set.  A dot product is one chain of fused
 * multiply-adds over k in order; a row reduction uses 16 lanes (element i goes to
 * lane i % 16) and then adds lane l + 8 to lane l, l + 4 to l, l + 2, l + 1.
 */
#ifndef CR_RUNTIME_H
#define CR_RUNTIME_H

#include "elementwise.h"
#include "i32.h" /* only for i32 */

enum { CR_PANEL = 32 /* columns of a packed panel */ };

#define CR_INFINITY (1.0f / 0.0f)
#define CR_MINUS_INFINITY (-1.0f / 0.0f)
#define CR_NAN (0.0f / 0.0f)

/* y = op(a, ...) on a tile; y may be one of the operands. */
typedef void cr_map1(long rows, long cols, float *y, long ldy, const float *a, long lda);
typedef void cr_map2(long rows, long cols, float *y, long ldy, const float *a, long lda,
                     const float *b, long ldb);
typedef void cr_map3(long rows, long cols, float *y, long ldy, const float *a, long lda,
                     const float *b, long ldb, const float *c, long ldc);

/* y[r] = reduction over the row a[r, :] (the empty sum is 0, the empty maximum -inf). */
typedef void cr_reduce(long rows, long cols, float *y, const float *a, long lda);

/* The body of a parallel loop: does items begin <= i < end with a scratch of its own. */
typedef void cr_body(const void *args, long begin, long end, float *scratch);

struct cr_pool;

#define CR_MEMBER_1(name) cr_map1 *name##_v;
#define CR_MEMBER_2(name) cr_map2 *name##_vv, *name##_vs, *name##_sv;
#define CR_MEMBER_3(name)                                                                          \
    cr_map3 *name##_vvv, *name##_vvs, *name##_vsv, *name##_vss, *name##_svv, *name##_svs,          \
        *name##_ssv;
#define CR_MEMBER(name, arity, rule, expression, description, gradient) CR_MEMBER_##arity(name)

/* The runtime for one instruction set. */
struct cr_runtime {
    const char *isa; /* "avx512", "avx2" or "plain" */

    CR_ELEMENTWISE(CR_MEMBER)
    struct cr_runtime_i32 i32; /* only for i32 */

    /* of two zeros the larger is +0 */
    cr_reduce *sum, *max;

    /*
     * The same down the columns, tile after tile of 16 k rows (the last may be cut):
     * lanes[r % 16, :] = op(lanes[r % 16, :], a[r, :]).  lanes is 16 x cols and begins as
     * zeros or -inf; at the end ..._lanes folds them, and row 0 has the reductions.
     */
    void (*sum_down)(long rows, long cols, float *lanes, const float *a, long lda);
    void (*max_down)(long rows, long cols, float *lanes, const float *a, long lda);
    void (*sum_lanes)(long cols, float *lanes);
    void (*max_lanes)(long cols, float *lanes);

    /* y[r, c] = x[r * rs + c * cs] */
    void (*load)(long rows, long cols, float *y, long ldy, const float *x, long rs, long cs);
    /* Prefetches rows of x, rs apart. */
    void (*fetch)(long rows, long cols, const float *x, long rs);
    /* y[r * rs + c * cs] = x[r, c] */
    void (*store)(long rows, long cols, float *y, long rs, long cs, const float *x, long ldx);
    /* y[r, c] = number base + r * rs + c * cs, uniform in 0 <= y < 1, of a stream of the seed */
    void (*random)(long rows, long cols, float *y, long ldy, const int *seed, long stream,
                   long base, long rs, long cs);
    /* y[r, c] = value where c lies outside begin + r <= c < end + r */
    void (*hide)(long rows, long cols, float *y, long ldy, long begin, long end, float value);
    /* 1 if no x[r * rs + c * cs] is NaN or infinite, else 0 */
    int (*finite)(long rows, long cols, const float *x, long rs, long cs);
    /* y[r, :] = table[index[r], :]; an index outside 0 <= i < table_rows yields a row of NaN */
    void (*gather)(long rows, long cols, float *y, long ldy, const float *table, long ldt,
                   long table_rows, const int *index);

    /* y[r, :] = sum of the rows i of x, i < n, in order, for which index[i] is first + r */
    void (*scatter_add)(long rows, long cols, float *y, long ldy, long first, long n,
                        const float *x, long ldx, const int *index);

    /*
     * Lays a K x N matrix, element (k, n) at b[k * rs + n * cs], into panels of
     * CR_PANEL columns: panel p, at y + p * panel_stride, holds columns from
     * p * CR_PANEL on, k by k, columns past N as zeros.  panel_stride is at least
     * K * CR_PANEL floats.
     */
    void (*pack)(long K, long N, float *y, long panel_stride, const float *b, long rs, long cs);

    /*
     * c[M, N] = start[M, N] + a[M, K] b[K, N].  Element (m, k) of a is at a[m * rs + k * cs];
     * b is packed; row m of start is at start + m * lds (so that an lds of 0 adds one row to
     * all), and a null start stands for zeros.  Each element is one chain of fma over k in
     * order, from start on: a product cut along k gives the same bits if each part starts
     * with the c of the one before.
     */
    void (*gemm)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
                 long panel_stride, float *c, long ldc, const float *start, long lds);

    /*
     * c = a b with the same bits, for a c so large that it will not be read from a cache: rows
     * that are aligned to cache lines are written by non-temporal stores, which spares reading
     * them first.  Other threads see them after stream_end, to be called at the end of a body.
     */
    void (*gemm_stream)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
                        long panel_stride, float *c, long ldc);
    void (*stream_end)(void);

    /* c[m, :] = c[m, :] * scale[m] + a b: the chain begins with c * scale. */
    void (*gemm_scaled)(long M, long N, long K, const float *a, long rs, long cs, const float *b,
                        long panel_stride, float *c, long ldc, const float *scale);

    /*
     * One block of an online softmax over columns (Milakov & Gimelshein 2018): s[r, c] is the
     * score of query c for key r.  On entry m and l hold each query's running maximum and
     * sum (-inf and 0 at first); factor is positive.
     *     m' = max(m, factor max_r s[r, c]);  scale = exp(m - m')
     *     s = exp(fma(factor, s, -m'));  l = fma(l, scale, sum_r s[r, c]);  m = m'
     * The sum is that of a row reduction with s transposed.  A query that has seen nothing but
     * -inf so far gets s = 0 and scale = 1.
     */
    void (*softmax_block)(long rows, long cols, float *s, long lds, float factor, float *m,
                          float *l, float *scale);

    /*
     * Runs body over 0 <= i < items, in contiguous shares, one a thread of the
     * pool (which may be null: then this thread does it all).  Thread t gets
     * scratch + t * scratch_stride.  Returns when all is done.
     */
    void (*parallel)(struct cr_pool *pool, long items, cr_body *body, const void *args,
                     float *scratch, long scratch_stride);
};

#endif
