/*
 * runtime.h - the functions that generated code calls.
 *
 * A *tile* is `rows` x `cols` floats, row r at p + r * ld.  A row stride (ld) of
 * 0 repeats one row.  An operand whose variant letter is `v` is such a tile; an
 * operand with the letter `s` holds one value a row, row r's at p[r * ld].  A tile of
 * i32 has ints in place of floats, of the same size; its functions are rt->i32->NAME.
 *
 * Same bits everywhere: each function below fixes the order of its floating-point
 * operations, whatever the instruction set.  The error of one long sum grows with the
 * square root of its length at best, so long sums are made in blocks:
 *   - A dot product is cut into blocks of 256 k (CR_SUM_BLOCK).  Each is one chain of fused
 *     multiply-adds from zero, in order; the sums of the blocks are added in order.
 *   - A reduction uses 16 lanes: element i goes to lane i % 16.  A block is 4096 elements, 256 of each
 *     lane, from the identity on; lane by lane the blocks are combined in order.  Then lane l + 8 is
 *     added to lane l, l + 4 to l, l + 2, l + 1.
 */
#ifndef CR_RUNTIME_H
#define CR_RUNTIME_H

#include "elementwise.h"
#include "i32.h" /* only for i32 */
#include "reductions.h"
#include "types.h"

/*
 * A *level* is AVX-512 with further instructions, which serve a few functions alone: "vnni" with
 * AVX512_VNNI, "amx" with tiles, too (AMX-INT8, AMX-BF16).  Its functions are those of AVX-512 but for
 * rows CR_FUNCTION_BY_LEVEL(vnni, amx, name, result, parameters): in place of vnni and amx stands
 * whose implementation each of them has, avx512, vnni or amx; see vnni.inc and amx.inc.
 */
#define CR_FUNCTION_BY_LEVEL(vnni, amx, name, type, list) CR_FUNCTION(name, type, list)

/* The table of functions that are no elementwise ops or reductions: CR_FUNCTION(name, result, parameters)
 * and a description.  Each is defined as CR_NAME(cr_NAME) in a file that runtime.inc includes. */
/* clang-format off */
#define CR_FUNCTIONS \
    CR_FUNCTION(load, void, (long rows, long cols, float *y, long ldy, const float *x, long rs, long cs)) \
        /* y[r, c] = x[r * rs + c * cs] */ \
    CR_FUNCTION(fetch, void, (long rows, long cols, const float *x, long rs)) \
        /* Prefetches rows of x, rs apart. */ \
    CR_FUNCTION(store, void, (long rows, long cols, float *y, long rs, long cs, const float *x, long ldx)) \
        /* y[r * rs + c * cs] = x[r, c] */ \
    CR_FUNCTION(random, void, (long rows, long cols, float *y, long ldy, const int *seed, long stream, \
                               long base, long rs, long cs)) \
        /* y[r, c] = number base + r * rs + c * cs, uniform in 0 <= y < 1, of a stream of the seed */ \
    CR_FUNCTION(mul_sigmoid, void, (long rows, long cols, float *y, long ldy, const float *a, long lda, \
                                    const float *b, long ldb)) \
        /* y = a sigmoid(b), as sigmoid and mul give it one after the other */ \
    CR_FUNCTION(odd_cubic, void, (long rows, long cols, float *y, long ldy, const float *a, long lda, \
                                  float cube, float slope)) \
        /* y = a fma(cube, a a, slope): about cube a^3 + slope a */ \
    CR_FUNCTION(hide, void, (long rows, long cols, float *y, long ldy, long begin, long end, float value)) \
        /* y[r, c] = value where c lies outside begin + r <= c < end + r */ \
    CR_FUNCTION(hide_rows, void, (long rows, long cols, float *y, long ldy, long first, long last, \
                                  long begin, long end, float value)) \
        /* hide in rows first <= r < last alone; last may be beyond the rows */ \
    CR_FUNCTION(finite, int, (long rows, long cols, const float *x, long rs, long cs)) \
        /* 1 if no x[r * rs + c * cs] is NaN or infinite, else 0 */ \
    CR_FUNCTION(least, int, (long n, const int *x, long step)) \
        /* Returns the least x[i * step] of i < n, where n > 0. */ \
    CR_FUNCTION(greatest, int, (long n, const int *x, long step)) \
        /* Returns the greatest x[i * step] of i < n, where n > 0. */ \
    CR_FUNCTION(gather, void, (long rows, long cols, float *y, long ldy, const float *table, long ldt, \
                               long table_rows, const int *index)) \
        /* y[r, :] = table[index[r], :]; an index outside 0 <= i < table_rows yields a row of NaN */ \
    CR_FUNCTION(gather_panels, void, (long rows, long cols, float *y, long ldy, const float *panels, \
                                      long panel_stride, long table_rows, const int *index)) \
        /* gather from a table whose rows are the columns of panels */ \
    CR_FUNCTION(lookup, void, (long rows, long cols, float *y, long ldy, const float *table, long ldt, \
                               long table_rows, const int *index, long ldi)) \
        /* y[r, c] = table[index[r, c] * ldt]; an index outside 0 <= i < table_rows yields NaN */ \
    CR_FUNCTION(scatter_add, void, (long rows, long cols, float *y, long ldy, long first, long n, \
                                    const float *x, long ldx, const int *index)) \
        /* y[r, :] = sum of the rows i of x, i < n, in order, for which index[i] is first + r */ \
    CR_FUNCTION(scatter_tile, void, (long rows, long cols, float *y, long n, const float *x, long ldx, \
                                     const int *index, long ldi)) \
        /* y[index[r, c]] += x[r, c] where 0 <= index[r, c] < n: the columns of a row, row after row; of \
         * columns 16 i to 16 i + 15, if all are there and have one index, their sum is added */ \
    CR_FUNCTION(cumsum, void, (long rows, long cols, float *y, long ldy, const float *x, long ldx)) \
        /* y[r, :] = the sum of x[0, :] to x[r, :]: rows in blocks of CR_SUM_BLOCK, of which each is one chain of \
         * sums in order, to which the sum of the blocks before it, in order, is added */ \
    CR_FUNCTION(pack, void, (long K, long N, float *y, long panel_stride, const float *b, long rs, long cs)) \
        /* Lays a K x N matrix, element (k, n) at b[k * rs + n * cs], into panels of CR_PANEL columns: \
         * panel p, at y + p * panel_stride, holds columns from p * CR_PANEL on, k by k, columns past N \
         * as zeros.  panel_stride is at least K * CR_PANEL floats. */ \
    CR_FUNCTION(pack_stream, void, (long K, long N, float *y, long panel_stride, const float *b, long rs, long cs)) \
        /* pack by stores that go past the caches, for what is not read soon; y and the \
         * panels behind it are at multiples of 64 bytes. */ \
    CR_FUNCTION(gemm, void, (long M, long N, long K, const float *a, long rs, long cs, const float *b, \
                             long panel_stride, float *c, long ldc, const float *start, long lds, long columns, \
                             long ahead)) \
        /* c[M, N] = start[M, N] + a[M, K] b[K, N].  Element (m, k) of a is at a[m * rs + k * cs]; b is \
         * packed; row m of start is at start + m * lds (so that an lds of 0 adds one row to all), and a \
         * null start stands for nothing.  k is cut into blocks of CR_SUM_BLOCK, of which each is one chain of \
         * fma in order, from zero on; the sums of the blocks are added to start, in order.  So a product cut \
         * between blocks gives the same bits if each part starts with the c of the one before. \
         * `columns` (of 2 to 4 vectors, or 0 for the choice of the instruction set) is how wide the tiles \
         * are that stay in registers, and `ahead` how many floats of weights are read until those that are \
         * prefetched: both are for speed, no bit depends on them. */ \
    CR_FUNCTION(pack_bf16, void, (long K, long N, unsigned short *y, long panel_stride, long first, int last, \
                                  const float *b, long rs, long cs)) \
        /* Lays a K x N matrix, element (k, n) at b[k * rs + n * cs], into columns first .. first + N - 1 \
         * of panels of bf16, rounded to the nearest, of two the even one; NaN stays NaN, and becomes \
         * quiet.  Two rows take 64 units: column n of row k is number k / 2 * 64 + n * 2 + k % 2 of its \
         * panel; an odd K is made even by zeros.  Columns beside them stay as they are, but if `last` \
         * is not 0, those behind them in their panel become zeros. */ \
    CR_FUNCTION(unpack_bf16, void, (long K, long N, float *y, long ldy, const unsigned short *b, \
                                    long panel_stride)) \
        /* y[k, n] = element (k, n) of such panels. */ \
    CR_FUNCTION(gemm_bf16, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                  const unsigned short *b, long panel_stride, float *c, long ldc, \
                                  const float *start, long lds, long columns, \
                                  long ahead)) \
        /* gemm with b in bf16: the same bits as gemm with what unpack_bf16 makes of b. */ \
    CR_FUNCTION(round_bf16, void, (long M, long K, unsigned short *y, long ldy, const float *x, long rs, long cs)) \
        /* y[m, k] = x[m * rs + k * cs] rounded as pack_bf16 does it; K is made a multiple of 32 by zeros. */ \
    CR_FUNCTION(read_bf16, void, (long K, float *y, const unsigned short *row)) \
        /* y[k] = row[k] */ \
    CR_FUNCTION_BY_LEVEL(avx512, amx, gemm_bf16_bf16, void, \
                         (long M, long N, long K, const unsigned short *a, long lda, \
                          const unsigned short *b, long panel_stride, float *c, long ldc, \
                          const float *start, long lds, long ahead)) \
        /* c[M, N] = start[M, N] + a[M, K] b[K, N], rows a being those of round_bf16, b panels of bf16, start \
         * as of gemm.  K is made a multiple of 32 by zeros, and cut into blocks of 32: \
         *     even = chain of fma from 0 on over k = 0, 2, .. 30 of a block, odd = the same over 1, 3, .. 31 \
         *     c = c + (even + odd), block by block, from start on \
         * Each operand and each result of an fma or a sum that is not normal becomes a zero of its sign; a \
         * result that is not, if 24 bits of it, rounded without regard to its exponent, are less than 2^-126. */ \
    CR_FUNCTION(gather_bf16, void, (long rows, long cols, float *y, long ldy, \
                                    const unsigned short *panels, long panel_stride, long table_rows, \
                                    const int *index)) \
        /* gather_panels with such panels. */ \
    CR_FUNCTION(pack_f16, void, (long K, long N, unsigned short *y, long panel_stride, long first, int last, \
                                  const float *b, long rs, long cs)) \
        /* Lays a K x N matrix, element (k, n) at b[k * rs + n * cs], into columns first .. first + N - 1 \
         * of panels of f16, rounded to the nearest, of two the even one; NaN stays NaN, and becomes \
         * quiet; what is at least 65520 becomes infinite.  Rows lie one after another: column n of row k is \
         * number k * 32 + n of its panel.  Columns beside them stay as they are, but if `last` \
         * is not 0, those behind them in their panel become zeros. */ \
    CR_FUNCTION(unpack_f16, void, (long K, long N, float *y, long ldy, const unsigned short *b, \
                                    long panel_stride)) \
        /* y[k, n] = element (k, n) of such panels. */ \
    CR_FUNCTION(gemm_f16, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                  const unsigned short *b, long panel_stride, float *c, long ldc, \
                                  const float *start, long lds, long columns, \
                                  long ahead)) \
        /* gemm with b in f16: the same bits as gemm with what unpack_f16 makes of b. */ \
    CR_FUNCTION(gather_f16, void, (long rows, long cols, float *y, long ldy, \
                                    const unsigned short *panels, long panel_stride, long table_rows, \
                                    const int *index)) \
        /* gather_panels with such panels. */ \
    CR_FUNCTION(pack_q8, void, (long K, long N, unsigned char *y, long panel_stride, long first, int last, \
                                const float *b, long rs, long cs)) \
        /* Lays a K x N matrix, element (k, n) at b[k * rs + n * cs], into columns first .. first + N - 1 \
         * of panels of q8.  32 rows of a column are a block of numbers d q, where d is a binary16 and q \
         * an int8: d is max |w| / 127 rounded to binary16, q is w / d rounded to the nearest integer, of \
         * two the even one, at most 127 in size; if d is 0, so is q.  A block that has a number that is \
         * not finite, or whose d overflows, gets a NaN for d.  A panel's blocks take 1088 bytes: q + 128 of \
         * row k and column n is byte k / 4 * 128 + n * 4 + k % 4, and d is the 16 bits at 1024 + 2 n.  Rows \
         * that the last block lacks are zeros.  Columns beside them stay as they are, but if `last` is not \
         * 0, those behind them in their panel become zeros. */ \
    CR_FUNCTION(unpack_q8, void, (long K, long N, float *y, long ldy, const unsigned char *b, \
                                  long panel_stride)) \
        /* y[k, n] = element (k, n) of such panels. */ \
    CR_FUNCTION(gemm_q8, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                const unsigned char *b, long panel_stride, float *c, long ldc, \
                                const float *start, long lds, long columns, \
                                long ahead)) \
        /* gemm with b in q8: the same bits as gemm with what unpack_q8 makes of b. */ \
    CR_FUNCTION(gather_q8, void, (long rows, long cols, float *y, long ldy, \
                                  const unsigned char *panels, long panel_stride, long table_rows, \
                                  const int *index)) \
        /* gather_panels with such panels. */ \
    CR_FUNCTION(pack_q4, void, (long K, long N, unsigned char *y, long panel_stride, long first, int last, \
                                const float *b, long rs, long cs)) \
        /* The same of q4: a block has numbers fma(d, q, m) with q from 0 to 15; q4.inc says how d, q and m \
         * are found.  A panel's blocks take 640 bytes: q of row k and column n is in byte k / 8 * 128 + \
         * n * 4 + k % 4, in the high half of it where k % 8 is at least 4; d is the 16 bits at 512 + 2 n, m \
         * those at 576 + 2 n. */ \
    CR_FUNCTION(unpack_q4, void, (long K, long N, float *y, long ldy, const unsigned char *b, \
                                  long panel_stride)) \
        /* y[k, n] = element (k, n) of such panels. */ \
    CR_FUNCTION(gemm_q4, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                const unsigned char *b, long panel_stride, float *c, long ldc, \
                                const float *start, long lds, long columns, \
                                long ahead)) \
        /* gemm with b in q4: the same bits as gemm with what unpack_q4 makes of b. */ \
    CR_FUNCTION(gather_q4, void, (long rows, long cols, float *y, long ldy, \
                                  const unsigned char *panels, long panel_stride, long table_rows, \
                                  const int *index)) \
        /* gather_panels with such panels. */ \
    CR_FUNCTION(gemm_stream, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                    const float *b, long panel_stride, float *c, long ldc, \
                                    long columns, long ahead)) \
        /* c = a b with the same bits, for a c so large that it will not be read from a cache: rows that \
         * are aligned to cache lines are written by non-temporal stores, which spares reading them \
         * first.  Other threads see them after stream_end, to be called at the end of a body. */ \
    CR_FUNCTION(stream_end, void, (void)) \
    CR_FUNCTION(round_int8, void, (long M, long K, int *y, long ldy, const float *x, long rs, long cs)) \
        /* Rounds M rows of K floats, element (m, k) at x[m * rs + k * cs], to integers of 8 bits, row m at \
         * y + m * ldy.  With B = (K + 31) / 32 blocks a row takes 11 B ints: 32 B bytes, integer k at byte \
         * k, 0 past K; then B floats a, B ints -128 s and B floats t, all by block.  Of the block, with \
         * T = max |x|:  a = T / 127, r = 127 / T, integer = x r rounded to the nearest, of two the even \
         * one; s is the sum of its integers, t = a s.  If T is less than 2^-100 all of these are 0; if an \
         * x is NaN or infinite, the integers are 0, a and t are NaN.  Each operation is rounded. */ \
    CR_FUNCTION(read_int8, void, (long K, float *y, const int *row)) \
        /* y[k] = a times integer k of a rounded row. */ \
    CR_FUNCTION_BY_LEVEL(vnni, amx, gemm_q8_int8, void, (long M, long N, long K, const int *a, long lda, \
                                     const unsigned char *b, long panel_stride, float *c, long ldc, \
                                     const float *start, long lds, long ahead)) \
        /* c[M, N] = start[M, N] + a[M, K] b[K, N], of rows that round_int8 made, lda ints apart, by panels \
         * in q8; start and ahead are as for gemm.  c begins with start or 0; then for each block of 32 k in \
         * order, I = the sum of its products of integers (a sum without rounding: |I| < 2^19), \
         *     c = fma(I, a d, c) \
         * with the scale a of the row's block and d of the column's; a d is rounded. */ \
    CR_FUNCTION_BY_LEVEL(vnni, amx, gemm_q4_int8, void, (long M, long N, long K, const int *a, long lda, \
                                     const unsigned char *b, long panel_stride, float *c, long ldc, \
                                     const float *start, long lds, long ahead)) \
        /* The same by panels in q4, whose minimum m of the column's block is added after each block: \
         *     c = fma(I, a d, c);  c = fma(m, t, c) */ \
    CR_FUNCTION(gemm_scaled, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                    const float *b, long panel_stride, float *c, long ldc, \
                                    const float *scale, long begin, long end, long columns, \
                                    long ahead)) \
        /* c[m, :] = c[m, :] * scale[m] + a b, K being CR_SUM_BLOCK at most.  a[m, k] is 0 and b finite \
         * where k lies outside begin + m <= k < end + m, so that it may be skipped there.  What that could \
         * change is the sign of a 0, and +0 is stored for both. */ \
    CR_FUNCTION(gemm_band, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                  const float *b, long panel_stride, float *c, long ldc, \
                                  long begin, long end)) \
        /* c[m, n] = that of a b where begin + m <= n < end + m; elsewhere it may be computed or not. */ \
    CR_FUNCTION(dots, void, (long M, long K, float *y, const float *a, long lda, const float *x)) \
        /* y[m] = sum of a[m, k] x[k], in blocks of k as gemm sums them */ \
    CR_FUNCTION(softmax_row, void, (long n, float *s, float factor, float *m, float *l, float *scale)) \
        /* softmax_block for one query, whose n scores lie in a row: the same bits */ \
    CR_FUNCTION(add_rows, void, (long rows, long cols, float *y, const float *p, const float *x, long ldx, \
                                 const float *scale)) \
        /* y[:] = y[:] * *scale + sum of p[r] x[r, :], the sum being one chain of fma over r in order, as \
         * gemm_scaled does it; there are CR_SUM_BLOCK rows at most */ \
    CR_FUNCTION(softmax_block, void, (long rows, long cols, float *s, long lds, float factor, float *m, \
                                      float *l, float *scale)) \
        /* One block of an online softmax over columns (Milakov & Gimelshein 2018): s[r, c] is the score \
         * of query c for key r.  On entry m and l hold each query's running maximum and sum (-inf and 0 \
         * at first); factor is positive. \
         *     m' = max(m, factor max_r s[r, c]);  scale = exp(m - m') \
         *     s = exp(fma(factor, s, -m'));  l = fma(l, scale, sum_r s[r, c]);  m = m' \
         * The sum is that of a row reduction with s transposed.  A query that has seen nothing but -inf \
         * so far gets s = 0 and scale = 1. */
/* clang-format on */

#define CR_MEMBERS CR_VARIANTS CR_FUNCTIONS

#include "members.h" /* only for crescent */

#endif
