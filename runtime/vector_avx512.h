/*
 * vector_avx512.h - the vectors of the template runtime.inc for AVX-512: 16 floats in a register.
 *
 * From here to vector_end.h, functions are compiled for AVX-512, whatever the flags of the compiler
 * are.
 */
#ifndef CR_VECTOR_AVX512_H
#define CR_VECTOR_AVX512_H

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma"))),    \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,fma")
#endif
#define CR_TARGET 1
#define CR_LEVELS 1 /* vnni.inc and amx.inc are compiled, too */ /* only for vnni, amx */

#define CR_ISA "avx512"
#define CR_NAME(name) name##_avx512
#define VF __m512
#define CR_W 16
#define CR_MOST_ROWS 12 /* the greatest height of a tile of gemm */
#define CR_TILE_VECTORS (__builtin_cpu_is("amd") ? 2 : 4) /* the preferred width of a tile */
#define CR_BESIDE 4 /* exponentials computed at the same time */
#define CR_TILES_1(T) CR_HEIGHTS_8(T, 1)
#define CR_TILES_2(T) CR_HEIGHTS_12(T, 2)
#define CR_TILES_3(T) CR_HEIGHTS_8(T, 3)
#define CR_TILES_4(T) CR_HEIGHTS_6(T, 4)
#define CR_HALF_VECTORS 2 /* only for bf16, f16 */
#define CR_HALF_TILES(T) CR_TILES_2(T) /* only for bf16, f16 */

#define v_load(p) _mm512_loadu_ps(p)
#define v_words(p) _mm512_loadu_si512(p) /* only for bf16 */
#define v_high _mm512_set1_epi32(-65536) /* only for bf16 */
#define v_load_low(p) _mm512_castsi512_ps(_mm512_slli_epi32(v_words(p), 16)) /* only for bf16 */
#define v_load_high(p) _mm512_castsi512_ps(_mm512_and_si512(v_words(p), v_high)) /* only for bf16 */
#define v_load_f16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p))) /* only for f16, q8, q4 */
#define v_store(p, x) _mm512_storeu_ps(p, x)
#define v_stream(p, x) _mm512_stream_ps(p, x) /* a non-temporal store, to an aligned address */
#define v_stream_end() _mm_sfence()
#define v_set1(x) _mm512_set1_ps(x)
#define v_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define v_min(a, b) _mm512_min_ps(a, b) /* b if either is NaN */
#define v_max(a, b) _mm512_max_ps(a, b) /* b if either is NaN */
#define v_nan_or(x, other) _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x)
#define v_ordered_or(a, b, other)                                                                  \
    _mm512_mask_add_ps(other, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), a, b)
#define v_and(a, b) _mm512_and_ps(a, b)
#define v_or(a, b) _mm512_or_ps(a, b)

#define v_first(n) ((__mmask16)((1u << (n)) - 1))
#define v_load_n(p, n) _mm512_maskz_loadu_ps(v_first(n), p)
#define v_load_or(p, n, fill) _mm512_mask_loadu_ps(fill, v_first(n), p)
#define v_store_n(p, x, n) _mm512_mask_storeu_ps(p, v_first(n), x)

#define CR_ONE _mm512_set1_ps(1.0f)
#define CR_FLOAT(a) (a)
#define CR_ABS(a) _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a)
#define CR_SQRT(a) _mm512_sqrt_ps(a)
#define CR_LT(a, b) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), CR_ONE)
#define CR_LE(a, b) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_LE_OQ), CR_ONE)
#define CR_EQ(a, b) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), CR_ONE)
#define CR_SELECT(a, b, c)                                                                         \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_NEQ_UQ), c, b)

/* Returns b in lanes where a < 0, else c. */
#define v_if_negative(a, b, c)                                                                     \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_LT_OQ), c, b)

CR_INLINE __m512 v_copysign_avx512(__m512 magnitude, __m512 sign)
{
    __m512 bit = _mm512_set1_ps(-0.0f);
    return _mm512_or_ps(_mm512_andnot_ps(bit, magnitude), _mm512_and_ps(bit, sign));
}

CR_INLINE __m512 v_pow2_avx512(__m512 t)
{
    __m512i bits = _mm512_slli_epi32(_mm512_castps_si512(t), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(bits, _mm512_set1_epi32(0x3f800000)));
}

/* Splits a normal x > 0 into m 2^e with m between sqrt(1/2) and sqrt(2); returns m. */
CR_INLINE __m512 v_split_avx512(__m512 x, __m512 *e)
{
    __m512i root = _mm512_set1_epi32(0x3f3504f3); /* sqrt(1/2) */
    __m512i above = _mm512_sub_epi32(_mm512_castps_si512(x), root);
    __m512i mantissa = _mm512_and_si512(above, _mm512_set1_epi32(0x007fffff));
    *e = _mm512_cvtepi32_ps(_mm512_srai_epi32(above, 23));
    return _mm512_castsi512_ps(_mm512_add_epi32(mantissa, root));
}

/* Select quarters, of 128 bits each, of a and then of b: quarters 0 and 2, and quarters 1 and 3. */
#define CR_EVEN_QUARTERS(a, b) _mm512_shuffle_f32x4(a, b, 0x88)
#define CR_ODD_QUARTERS(a, b) _mm512_shuffle_f32x4(a, b, 0xdd)

/* Transposes 16 x 16 floats: first inside squares of 4 x 4, then the squares. */
CR_INLINE void v_transpose_avx512(__m512 *t)
{
    __m512d pair[16];
    CR_UNROLL
    for (int i = 0; i < 16; i += 2) {
        pair[i] = _mm512_castps_pd(_mm512_unpacklo_ps(t[i], t[i + 1]));
        pair[i + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(t[i], t[i + 1]));
    }
    __m512 four[16];
    CR_UNROLL
    for (int i = 0; i < 16; i += 4) {
        four[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(pair[i], pair[i + 2]));
        four[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(pair[i], pair[i + 2]));
        four[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(pair[i + 1], pair[i + 3]));
        four[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(pair[i + 1], pair[i + 3]));
    }
    CR_UNROLL
    for (int i = 0; i < 4; i++) {
        __m512 even_top = CR_EVEN_QUARTERS(four[i], four[i + 4]);
        __m512 even_low = CR_EVEN_QUARTERS(four[i + 8], four[i + 12]);
        __m512 odd_top = CR_ODD_QUARTERS(four[i], four[i + 4]);
        __m512 odd_low = CR_ODD_QUARTERS(four[i + 8], four[i + 12]);
        t[i] = CR_EVEN_QUARTERS(even_top, even_low);
        t[i + 4] = CR_EVEN_QUARTERS(odd_top, odd_low);
        t[i + 8] = CR_ODD_QUARTERS(even_top, even_low);
        t[i + 12] = CR_ODD_QUARTERS(odd_top, odd_low);
    }
}

#define v_copysign(m, s) v_copysign_avx512(m, s)
#define v_pow2(t) v_pow2_avx512(t)
#define v_split(x, e) v_split_avx512(x, e)
#define v_transpose(t) v_transpose_avx512(t)
#define v_scale(x, t) _mm512_scalef_ps(x, t - v_set1(CR_ROUND)) /* x 2^n, rounded once, for t = n + CR_ROUND */

#define v_lane0(x) _mm512_cvtss_f32(x)

/* Reduces x: lane l is combined with lane l + 8, then l + 4, l + 2 and l + 1 by OP; the result is
 * in lane 0. */
#define v_fold(OP, x)                                                                              \
    do {                                                                                           \
        x = OP(x, _mm512_shuffle_f32x4(x, x, 0x4e));                                               \
        x = OP(x, _mm512_shuffle_f32x4(x, x, 0x55));                                               \
        x = OP(x, _mm512_permute_ps(x, 0xee));                                                     \
        x = OP(x, _mm512_permute_ps(x, 0x55));                                                     \
    } while (0)

#endif
