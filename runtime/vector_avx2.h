/*
 * vector_avx2.h - the vectors of the template runtime.inc for AVX2: 8 floats in a register.
 *
 * From here to vector_end.h, functions are compiled for AVX2, FMA and F16C, whatever the flags of
 * the compiler are.
 */
#ifndef CR_VECTOR_AVX2_H
#define CR_VECTOR_AVX2_H

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#define CR_TARGET 1

#define CR_ISA "avx2"
#define CR_NAME(name) name##_avx2
#define VF __m256
#define CR_W 8
#define CR_MOST_ROWS 6 /* the greatest height of a tile of gemm */
#define CR_TILE_VECTORS 4 /* the preferred width of a tile: a panel of 32 columns */
#define CR_BESIDE 4 /* exponentials computed at the same time */
/* A product by a band needs no tiles of one vector: their fma wait for one another, so tiles of two
 * take as long. */
#define CR_TILES_1(T) CR_HEIGHTS_4(T, 1) /* only for few_rows, uneven_columns */
#define CR_TILES_2(T) CR_HEIGHTS_6(T, 2)
#define CR_TILES_3(T) CR_HEIGHTS_4(T, 3)
#define CR_TILES_4(T) CR_HEIGHTS_3(T, 4)
#define CR_HALF_VECTORS 2 /* only for bf16, f16 */
#define CR_HALF_TILES(T) CR_TILES_2(T) /* only for bf16, f16 */

#define v_load(p) _mm256_loadu_ps(p)
#define v_words(p) _mm256_loadu_si256((const void *)(p)) /* only for bf16 */
#define v_high _mm256_loadu_si256(bf16_high_avx2()) /* only for bf16 */
#define v_load_low(p) _mm256_castsi256_ps(_mm256_slli_epi32(v_words(p), 16)) /* only for bf16 */
#define v_load_high(p) _mm256_castsi256_ps(_mm256_and_si256(v_words(p), v_high)) /* only for bf16 */
#define v_load_f16(p) _mm256_cvtph_ps(_mm_loadu_si128((const void *)(p))) /* only for f16, q8, q4 */
/* Names the instruction explicitly: gcc, which may choose among three forms of fma, would move sums
 * between registers and memory. */
#define v_fma_into(sum, x, w)                                                                      \
    __asm__("vfmadd231ps {%2, %1, %0|%0, %1, %2}" : "+x"(sum) : "x"(x), "x"(w))
#define v_store(p, x) _mm256_storeu_ps(p, x)
#define v_stream(p, x) _mm256_stream_ps(p, x) /* a non-temporal store, to an aligned address */
#define v_stream_end() _mm_sfence()
#define v_set1(x) _mm256_set1_ps(x)
#define v_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define v_min(a, b) _mm256_min_ps(a, b) /* b if either is NaN */
#define v_max(a, b) _mm256_max_ps(a, b) /* b if either is NaN */
#define v_nan_or(x, other) _mm256_blendv_ps(other, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q))
#define v_ordered_or(a, b, other)                                                                  \
    _mm256_blendv_ps(other, (a) + (b), _mm256_cmp_ps(a, b, _CMP_UNORD_Q))
#define v_and(a, b) _mm256_and_ps(a, b)
#define v_or(a, b) _mm256_or_ps(a, b)

#define v_first(n) v_first_avx2((int)(n))
#define v_load_n(p, n) _mm256_maskload_ps(p, v_first(n))
#define v_load_or(p, n, fill) v_load_or_avx2(p, v_first(n), fill)
#define v_store_n(p, x, n) _mm256_maskstore_ps(p, v_first(n), x)

#define CR_ONE _mm256_set1_ps(1.0f)
#define CR_FLOAT(a) (a)
#define CR_ABS(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define CR_SQRT(a) _mm256_sqrt_ps(a)
#define CR_LT(a, b) _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ), CR_ONE)
#define CR_LE(a, b) _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_LE_OQ), CR_ONE)
#define CR_EQ(a, b) _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ), CR_ONE)
#define CR_SELECT(a, b, c)                                                                         \
    _mm256_blendv_ps(c, b, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_NEQ_UQ))

/* Returns b in lanes where a < 0, else c. */
#define v_if_negative(a, b, c)                                                                     \
    _mm256_blendv_ps(c, b, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_LT_OQ))

/* Returns a mask of the first n lanes. */
CR_INLINE __m256i v_first_avx2(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

CR_INLINE __m256 v_load_or_avx2(const float *p, __m256i first, __m256 fill)
{
    return _mm256_blendv_ps(fill, _mm256_maskload_ps(p, first), _mm256_castsi256_ps(first));
}

CR_INLINE __m256 v_copysign_avx2(__m256 magnitude, __m256 sign)
{
    __m256 bit = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(bit, magnitude), _mm256_and_ps(bit, sign));
}

CR_INLINE __m256 v_pow2_avx2(__m256 t)
{
    __m256i bits = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_set1_epi32(0x3f800000)));
}

/* Splits a normal x > 0 into m 2^e with m between sqrt(1/2) and sqrt(2); returns m. */
CR_INLINE __m256 v_split_avx2(__m256 x, __m256 *e)
{
    __m256i root = _mm256_set1_epi32(0x3f3504f3); /* sqrt(1/2) */
    __m256i above = _mm256_sub_epi32(_mm256_castps_si256(x), root);
    __m256i mantissa = _mm256_and_si256(above, _mm256_set1_epi32(0x007fffff));
    *e = _mm256_cvtepi32_ps(_mm256_srai_epi32(above, 23));
    return _mm256_castsi256_ps(_mm256_add_epi32(mantissa, root));
}

/* Transposes 8 x 8 floats: first inside squares of 4 x 4, then the squares. */
CR_INLINE void v_transpose_avx2(__m256 *t)
{
    __m256d pair[8];
    CR_UNROLL
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_castps_pd(_mm256_unpacklo_ps(t[i], t[i + 1]));
        pair[i + 1] = _mm256_castps_pd(_mm256_unpackhi_ps(t[i], t[i + 1]));
    }
    __m256 four[8];
    CR_UNROLL
    for (int i = 0; i < 8; i += 4) {
        four[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(pair[i], pair[i + 2]));
        four[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(pair[i], pair[i + 2]));
        four[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(pair[i + 1], pair[i + 3]));
        four[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(pair[i + 1], pair[i + 3]));
    }
    CR_UNROLL
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x31);
    }
}

#define v_copysign(m, s) v_copysign_avx2(m, s)
#define v_pow2(t) v_pow2_avx2(t)
#define v_split(x, e) v_split_avx2(x, e)
#define v_transpose(t) v_transpose_avx2(t)

#define v_lane0(x) _mm256_cvtss_f32(x)

/* Reduces x: lane l is combined with lane l + 4, then l + 2, then l + 1 by OP; the result is in
 * lane 0. */
#define v_fold(OP, x)                                                                              \
    do {                                                                                           \
        x = OP(x, _mm256_permute2f128_ps(x, x, 0x11));                                             \
        x = OP(x, _mm256_permute_ps(x, 0xee));                                                     \
        x = OP(x, _mm256_permute_ps(x, 0x55));                                                     \
    } while (0)

#endif
