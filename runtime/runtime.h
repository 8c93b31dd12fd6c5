/*
 * runtime.h - the functions that generated code calls.
 *
 * A *tile* is a matrix of `rows` x `cols` floats; row r begins at p + r * ld.  A row stride
 * (ld) of 0 repeats one row.  The name of a function has a letter for each operand: `v` for a
 * tile, `s` for an operand with one value for each row, which is p[r * ld] for row r.  A tile
 * of i32 has ints in place of floats; its functions are rt->i32->NAME.
 *
 * Same bits everywhere: each function below fixes the order of its floating-point
 * operations, whatever the instruction set.  The rounding error of one long
 * sum grows at least with the square root of its length, so long sums are made in blocks:
 *   - A dot product over k is split into blocks of 256 elements (CR_SUM_BLOCK).  The sum of a
 *     block is a chain of fused multiply-adds that starts at zero, in the order of k; the sums
 *     of the blocks are added in order.  What is added to a product, such as a bias, is added to the total.
 *   - A reduction uses 16 lanes: element i belongs to lane i % 16.  A block is 4096 elements,
 *     256 for each lane; each lane starts at the identity and combines its elements in order.
 *     The results of the blocks are combined in order, lane by lane.  Then lane l + 8 is
 *     combined into lane l, then l + 4, l + 2 and l + 1.
 */
#ifndef CR_RUNTIME_H
#define CR_RUNTIME_H

#include "elementwise.h"
#include "i32.h" /* only for i32 */
#include "reductions.h"
#include "types.h"

/*
 * A *level* is AVX-512 with additional instructions that only a few functions use: "vnni" has
 * AVX512_VNNI, and "amx" also has tiles (AMX-INT8, AMX-BF16).  A level has the functions of AVX-512,
 * except those in rows CR_FUNCTION_BY_LEVEL(vnni, amx, name, result, parameters).  In such a row, the
 * arguments `vnni` and `amx` name the implementation that each level uses: avx512, vnni or amx; see
 * vnni.inc and amx.inc.
 */
#define CR_FUNCTION_BY_LEVEL(vnni, amx, name, type, list) CR_FUNCTION(name, type, list)

/* The table of functions other than elementwise ops and reductions: CR_FUNCTION(name, result, parameters)
 * and a description, which an emitted file has at the members of struct cr_runtime.  A file that
 * runtime.inc includes defines each one as CR_NAME(cr_NAME). */
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
        /* y[r, c] = number base + r * rs + c * cs of a random stream of the seed, uniform in 0 <= y < 1 */ \
    CR_FUNCTION(mul_sigmoid, void, (long rows, long cols, float *y, long ldy, const float *a, long lda, \
                                    const float *b, long ldb)) \
        /* y = a sigmoid(b), with the bits of sigmoid followed by mul */ \
    CR_FUNCTION(odd_cubic, void, (long rows, long cols, float *y, long ldy, const float *a, long lda, \
                                  float cube, float slope)) \
        /* y = a fma(cube, a a, slope), which is about cube a^3 + slope a */ \
    CR_FUNCTION(hide, void, (long rows, long cols, float *y, long ldy, long begin, long end, float value)) \
        /* y[r, c] = value for c outside begin + r <= c < end + r */ \
    CR_FUNCTION(hide_rows, void, (long rows, long cols, float *y, long ldy, long first, long last, \
                                  long begin, long end, float value)) \
        /* Like hide, but only in rows first <= r < last; last may exceed the number of rows. */ \
    CR_FUNCTION(finite, int, (long rows, long cols, const float *x, long rs, long cs)) \
        /* 1 if no x[r * rs + c * cs] is NaN or infinite, else 0 */ \
    CR_FUNCTION(least, int, (long n, const int *x, long step)) \
        /* Returns the minimum of x[i * step] for i < n, where n > 0. */ \
    CR_FUNCTION(greatest, int, (long n, const int *x, long step)) \
        /* Returns the maximum of x[i * step] for i < n, where n > 0. */ \
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
        /* y[r, :] = the sum, in order, of the rows i < n of x with index[i] = first + r */ \
    CR_FUNCTION(scatter_tile, void, (long rows, long cols, float *y, long n, const float *x, long ldx, \
                                     const int *index, long ldi)) \
        /* y[index[r, c]] += x[r, c] where 0 <= index[r, c] < n, row after row and column after column.  If \
         * columns 16 i to 16 i + 15 exist and have one index, their sum is added at once. */ \
    CR_FUNCTION(cumsum, void, (long rows, long cols, float *y, long ldy, const float *x, long ldx)) \
        /* y[r, :] = the sum of x[0, :] to x[r, :].  Rows are split into blocks of CR_SUM_BLOCK. Within a \
         * block, sums are one chain in order; the sum of the blocks before it, also added in order, is added \
         * to each. */ \
    CR_FUNCTION(pack, void, (long K, long N, float *y, long panel_stride, const float *b, long rs, long cs)) \
        /* Packs a K x N matrix, element (k, n) at b[k * rs + n * cs], into panels of CR_PANEL columns: panel \
         * p begins at y + p * panel_stride, holds the columns from p * CR_PANEL on, row after row, and pads \
         * columns past N with zeros. panel_stride is at least K * CR_PANEL floats. */ \
    CR_FUNCTION(pack_stream, void, (long K, long N, float *y, long panel_stride, const float *b, long rs, long cs)) \
        /* Like pack, but by non-temporal stores that bypass the caches, for data that is not read soon. y \
         * and the panels after it must be aligned to 64 bytes. */ \
    CR_FUNCTION(gemm, void, (long M, long N, long K, const float *a, long rs, long cs, const float *b, \
                             long panel_stride, float *c, long ldc, const float *start, long lds, \
                             const float *bias, long columns, long ahead)) \
        /* c[M, N] = start[M, N] + a[M, K] b[K, N] + bias[N].  Element (m, k) of a is a[m * rs + k * cs]; b is \
         * packed; row m of start begins at start + m * lds; start and bias may be null.  The sum of each \
         * CR_SUM_BLOCK k is a chain of fma that starts at zero; these sums are added to start, in order, then \
         * the bias to the total.  So a product in parts of whole blocks, each of which starts with the result \
         * of the part before, has the same bits.  `columns`, the width of tiles (2 to 4 vectors, or 0 for the \
         * default), and `ahead`, the prefetch distance in floats of weights, change only the speed. */ \
    CR_FUNCTION(pack_bf16, void, (long K, long N, unsigned short *y, long panel_stride, long first, int last, \
                                  const float *b, long rs, long cs)) \
        /* Packs a K x N matrix, element (k, n) at b[k * rs + n * cs], into columns first .. first + N - 1 of \
         * panels of bf16.  Rounds to nearest, ties to even; a NaN becomes a quiet NaN. Two rows take 64 \
         * units: element (k, n) is unit k / 2 * 64 + n * 2 + k % 2 of its panel; an odd K is padded with a \
         * row of zeros.  Other columns of the panels do not change, except that if `last` is not 0, the \
         * columns after these in their panel become zeros. */ \
    CR_FUNCTION(unpack_bf16, void, (long K, long N, float *y, long ldy, const unsigned short *b, \
                                    long panel_stride)) \
        /* y[k, n] = element (k, n) of panels of pack_bf16. */ \
    CR_FUNCTION(gemm_bf16, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                  const unsigned short *b, long panel_stride, float *c, long ldc, \
                                  const float *start, long lds, const float *bias, long columns, \
                                  long ahead)) \
        /* Like gemm, with b in bf16: the same bits as gemm with the floats that unpack_bf16 makes of b. */ \
    CR_FUNCTION(round_bf16, void, (long M, long K, unsigned short *y, long ldy, const float *x, long rs, long cs)) \
        /* y[m, k] = x[m * rs + k * cs] rounded like pack_bf16; K is padded to a multiple of 32 with zeros. */ \
    CR_FUNCTION(read_bf16, void, (long K, float *y, const unsigned short *row)) \
        /* y[k] = row[k] */ \
    CR_FUNCTION_BY_LEVEL(avx512, amx, gemm_bf16_bf16, void, \
                         (long M, long N, long K, const unsigned short *a, long lda, \
                          const unsigned short *b, long panel_stride, float *c, long ldc, long ahead)) \
        /* c[M, N] = a[M, K] b[K, N], where a has rows of round_bf16, and b has panels of pack_bf16.  K is \
         * padded to a multiple of 32 with zeros, and split into blocks of 32: \
         *     even = chain of fma from 0 over k = 0, 2, .. 30 of a block; odd = the same over k = 1, 3, .. 31 \
         *     c = c + (even + odd), block after block, starting at 0 \
         * Operands and results that are subnormal are flushed to a zero of their sign.  A result counts as \
         * subnormal if it is less than 2^-126 when rounded to 24 bits without a limit on its exponent. */ \
    CR_FUNCTION(gather_bf16, void, (long rows, long cols, float *y, long ldy, \
                                    const unsigned short *panels, long panel_stride, long table_rows, \
                                    const int *index)) \
        /* Like gather_panels, from panels of pack_bf16. */ \
    CR_FUNCTION(pack_f16, void, (long K, long N, unsigned short *y, long panel_stride, long first, int last, \
                                  const float *b, long rs, long cs)) \
        /* Packs a K x N matrix, element (k, n) at b[k * rs + n * cs], into columns first .. first + N - 1 of \
         * panels of f16.  Rounds to nearest, ties to even; a NaN becomes a quiet NaN; numbers of 65520 or \
         * more become infinite.  Element (k, n) is unit k * 32 + n of its panel.  Other columns of the \
         * panels do not change, except that if `last` is not 0, the columns after these in their panel \
         * become zeros. */ \
    CR_FUNCTION(unpack_f16, void, (long K, long N, float *y, long ldy, const unsigned short *b, \
                                    long panel_stride)) \
        /* y[k, n] = element (k, n) of panels of pack_f16. */ \
    CR_FUNCTION(gemm_f16, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                  const unsigned short *b, long panel_stride, float *c, long ldc, \
                                  const float *start, long lds, const float *bias, long columns, \
                                  long ahead)) \
        /* Like gemm, with b in f16: the same bits as gemm with the floats that unpack_f16 makes of b. */ \
    CR_FUNCTION(gather_f16, void, (long rows, long cols, float *y, long ldy, \
                                    const unsigned short *panels, long panel_stride, long table_rows, \
                                    const int *index)) \
        /* Like gather_panels, from panels of pack_f16. */ \
    CR_FUNCTION(pack_q8, void, (long K, long N, unsigned char *y, long panel_stride, long first, int last, \
                                const float *b, long rs, long cs)) \
        /* Packs a K x N matrix, element (k, n) at b[k * rs + n * cs], into columns first .. first + N - 1 of \
         * panels of q8.  A block is 32 rows of a column; its elements are d q, with a binary16 d and int8 q: \
         * d is max |w| / 127 rounded to binary16, and q is w / d rounded to the nearest integer, ties to \
         * even, with |q| <= 127; if d is 0, so is q.  If an element is not finite or d overflows, d is NaN. \
         * 32 rows of a panel take 1088 bytes: q + 128 of row k and column n is byte k / 4 * 128 + n * 4 + k \
         * % 4, and d is the 16 bits at 1024 + 2 n.  Rows that the last block lacks are zeros.  Other columns \
         * of the panels do not change, except that if `last` is not 0, the columns after these in their \
         * panel become zeros. */ \
    CR_FUNCTION(unpack_q8, void, (long K, long N, float *y, long ldy, const unsigned char *b, \
                                  long panel_stride)) \
        /* y[k, n] = element (k, n) of panels of pack_q8. */ \
    CR_FUNCTION(gemm_q8, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                const unsigned char *b, long panel_stride, float *c, long ldc, \
                                const float *start, long lds, const float *bias, long columns, \
                                long ahead)) \
        /* Like gemm, with b in q8: the same bits as gemm with the floats that unpack_q8 makes of b. */ \
    CR_FUNCTION(gather_q8, void, (long rows, long cols, float *y, long ldy, \
                                  const unsigned char *panels, long panel_stride, long table_rows, \
                                  const int *index)) \
        /* Like gather_panels, from panels of pack_q8. */ \
    CR_FUNCTION(pack_q4, void, (long K, long N, unsigned char *y, long panel_stride, long first, int last, \
                                const float *b, long rs, long cs)) \
        /* Like pack_q8, for q4: the elements of a block are fma(d, q, m) with q from 0 to 15; q4.inc says \
         * how d, q and m are found. 32 rows of a panel take 640 bytes: q of row k and column n is in byte k \
         * / 8 * 128 + n * 4 + k % 4, in the high half if k % 8 >= 4; d is the 16 bits at 512 + 2 n, and m \
         * those at 576 + 2 n. */ \
    CR_FUNCTION(unpack_q4, void, (long K, long N, float *y, long ldy, const unsigned char *b, \
                                  long panel_stride)) \
        /* y[k, n] = element (k, n) of panels of pack_q4. */ \
    CR_FUNCTION(gemm_q4, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                const unsigned char *b, long panel_stride, float *c, long ldc, \
                                const float *start, long lds, const float *bias, long columns, \
                                long ahead)) \
        /* Like gemm, with b in q4: the same bits as gemm with the floats that unpack_q4 makes of b. */ \
    CR_FUNCTION(gather_q4, void, (long rows, long cols, float *y, long ldy, \
                                  const unsigned char *panels, long panel_stride, long table_rows, \
                                  const int *index)) \
        /* Like gather_panels, from panels of pack_q4. */ \
    CR_FUNCTION(gemm_stream, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                    const float *b, long panel_stride, float *c, long ldc, \
                                    long columns, long ahead)) \
        /* c = a b with the bits of gemm, for a c so large that it will not be read from a cache: rows that \
         * are aligned to cache lines are written by non-temporal stores, which need not read the lines \
         * first.  Other threads see them after stream_end, which must be called at the end of a body. */ \
    CR_FUNCTION(stream_end, void, (void)) \
    CR_FUNCTION(round_int8, void, (long M, long K, int *y, long ldy, const float *x, long rs, long cs)) \
        /* Rounds M rows of K floats, element (m, k) at x[m * rs + k * cs], to 8-bit integers; row m begins \
         * at y + m * ldy.  A row has B = (K + 31) / 32 blocks and takes 11 B ints: 32 B bytes, of which byte \
         * k is integer k, or 0 past K; then B floats a, B ints -128 s and B floats t, one for each block. \
         * With T = max |x| of the block: a = T / 127, r = 127 / T, integer = x r rounded to nearest, ties to \
         * even; s is the sum of its integers, t = a s.  If T is less than 2^-100, all of these are 0; if an \
         * x is NaN or infinite, the integers are 0, and a and t are NaN. Each operation is rounded. */ \
    CR_FUNCTION(read_int8, void, (long K, float *y, const int *row)) \
        /* y[k] = a times integer k of a row of round_int8. */ \
    CR_FUNCTION_BY_LEVEL(vnni, amx, gemm_q8_int8, void, (long M, long N, long K, const int *a, long lda, \
                                     const unsigned char *b, long panel_stride, float *c, long ldc, \
                                     long ahead)) \
        /* c[M, N] = a[M, K] b[K, N], where a has rows of round_int8, lda ints apart, and b has panels of q8; \
         * ahead is as for gemm. c starts as 0.  Then for each block of 32 k in order, where I is the sum of \
         * the products of its integers (exact: |I| < 2^19), \
         *     c = fma(I, a d, c) \
         * with the scale a of the row's block and the scale d of the column's block; a d is rounded. */ \
    CR_FUNCTION_BY_LEVEL(vnni, amx, gemm_q4_int8, void, (long M, long N, long K, const int *a, long lda, \
                                     const unsigned char *b, long panel_stride, float *c, long ldc, \
                                     long ahead)) \
        /* Like gemm_q8_int8, with panels of q4.  After each block, the minimum m of the column's block is \
         * added, too: \
         *     c = fma(I, a d, c);  c = fma(m, t, c) */ \
    CR_FUNCTION(gemm_scaled, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                    const float *b, long panel_stride, float *c, long ldc, \
                                    const float *scale, long begin, long end, long columns, \
                                    long ahead)) \
        /* c[m, :] = c[m, :] * scale[m] + a b, where K is at most CR_SUM_BLOCK. For k outside begin + m <= k \
         * < end + m, a[m, k] is 0 and b is finite, so those products may be skipped.  Skipping could only \
         * change the sign of a zero, and zeros are stored as +0. */ \
    CR_FUNCTION(gemm_band, void, (long M, long N, long K, const float *a, long rs, long cs, \
                                  const float *b, long panel_stride, float *c, long ldc, \
                                  long begin, long end)) \
        /* c[m, n] = (a b)[m, n] for begin + m <= n < end + m; other elements may or may not be computed. */ \
    CR_FUNCTION(dots, void, (long M, long K, long T, float *y, long ldy, const float *a, long lda, \
                             const float *x, long ldx)) \
        /* y[t, m] = the sum of a[m, k] x[t, k], in blocks of k and in the order of gemm */ \
    CR_FUNCTION(softmax_row, void, (long n, float *s, float factor, float *m, float *l, float *scale)) \
        /* Like softmax_block, with the same bits, for one query whose n scores are contiguous. */ \
    CR_FUNCTION(add_rows, void, (long rows, long cols, long T, float *y, long ldy, const float *p, long ldp, \
                                 const float *x, long ldx, const float *scale)) \
        /* y[t, :] = y[t, :] * scale[t] + the sum of p[t, r] x[r, :], which is one chain of fma over r in \
         * order, like that of gemm_scaled; there are at most CR_SUM_BLOCK rows */ \
    CR_FUNCTION(softmax_block, void, (long rows, long cols, float *s, long lds, float factor, float *m, \
                                      float *l, float *scale)) \
        /* One block of an online softmax over columns (Milakov & Gimelshein 2018): s[r, c] is the score of \
         * query c for key r.  On entry m and l hold the running maximum and sum of each query (-inf and 0 at \
         * first); factor is positive. \
         *     m' = max(m, factor max_r s[r, c]);  scale = exp(m - m') \
         *     s = exp(fma(factor, s, -m'));  l = fma(l, scale, sum_r s[r, c]);  m = m' \
         * The order of the sum is that of a row reduction of s transposed.  A query that has seen only -inf \
         * so far gets s = 0 and scale = 1. */
/* clang-format on */

#define CR_MEMBERS CR_VARIANTS CR_FUNCTIONS

#include "members.h" /* only for crescent */

#endif
