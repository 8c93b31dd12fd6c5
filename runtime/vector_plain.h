/*
 * vector_plain.h - the vectors of the template runtime.inc for plain C: one float.
 *
 * This is C for any compiler and any machine.  It defines, bit for bit, what the other instruction
 * sets must compute.
 */
#ifndef CR_VECTOR_PLAIN_H
#define CR_VECTOR_PLAIN_H

/* Compiled with -O1 on x86: only processors without fma run these functions, and the fastest of
 * them wait for fma, which is emulated; -O2 would take half as long again to compile them. */
#if CR_X86 && defined(__OPTIMIZE__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O1")
#define CR_TARGET 1
#endif

#define CR_ISA "plain"
#define CR_NAME(name) name##_plain
#define VF float
#define CR_W 1 /* floats in a vector */
#define CR_MOST_ROWS 4 /* the greatest height of a tile of gemm */
#define CR_TILE_VECTORS 2 /* the preferred width of a tile */
#define CR_BESIDE 1 /* exponentials computed at the same time */
/* Tiles of 3 and 4 vectors have one row, as higher ones take long to compile. */
#define CR_TILES_1(T) CR_HEIGHTS_4(T, 1) /* only for few_rows, uneven_columns */
#define CR_TILES_2(T) CR_HEIGHTS_4(T, 2)
#define CR_TILES_3(T) T(1, 3)
#define CR_TILES_4(T) T(1, 4)
#define CR_HALF_VECTORS 2 /* only for bf16, f16 */
#define CR_HALF_TILES(T) CR_TILES_2(T) /* only for bf16, f16 */

#define v_load(p) (*(const cr_float *)(p))
#define v_load_low(p) bf16_value_plain((p)[0]) /* only for bf16 */
#define v_load_high(p) bf16_value_plain((p)[1]) /* only for bf16 */
#define v_load_f16(p) f16_value_plain((p)[0]) /* only for f16, q8, q4 */
#define v_store(p, x) ((void)(*(cr_float *)(p) = (x)))
#define v_stream(p, x) v_store(p, x)
#define v_stream_end() ((void)0)
#define v_set1(x) ((float)(x))
#define v_fma(a, b, c) fmaf(a, b, c)
#define v_lane0(x) (x)
#define v_fold(OP, x) ((void)0)
#define v_transpose(t) ((void)(t))

/* Load and store only the first n lanes; a vector of one lane is always whole. */
#define v_load_n(p, n) ((void)(n), v_load(p))
#define v_load_or(p, n, fill) ((void)(n), v_load(p))
#define v_store_n(p, x, n) ((void)(n), v_store(p, x))

#define v_nan_or(x, other) ((x) == (x) ? (other) : (x))
#define v_ordered_or(a, b, other) ((a) == (a) && (b) == (b) ? (other) : (a) + (b))

#define CR_ONE 1.0f
#define CR_FLOAT(a) (a)
#define CR_ABS(a) fabsf(a)
#define CR_SQRT(a) sqrtf(a)
#define CR_LT(a, b) ((a) < (b) ? 1.0f : 0.0f)
#define CR_LE(a, b) ((a) <= (b) ? 1.0f : 0.0f)
#define CR_EQ(a, b) ((a) == (b) ? 1.0f : 0.0f)
#define v_if_negative(a, b, c) ((a) < 0.0f ? (b) : (c))
#define CR_SELECT(a, b, c) ((a) != 0.0f ? (b) : (c))

/* A float, and access to its bits. */
union cr_bits {
    float f;
    uint32_t u;
};

/* Returns b if the operands are equal or unordered, like the instruction of x86. */
CR_INLINE float v_min_plain(float a, float b)
{
    return a < b ? a : b;
}

CR_INLINE float v_max_plain(float a, float b)
{
    return a > b ? a : b;
}

CR_INLINE float v_and_plain(float a, float b)
{
    union cr_bits x = {a}, y = {b};
    x.u &= y.u;
    return x.f;
}

CR_INLINE float v_or_plain(float a, float b)
{
    union cr_bits x = {a}, y = {b};
    x.u |= y.u;
    return x.f;
}

CR_INLINE float v_copysign_plain(float magnitude, float sign)
{
    union cr_bits m = {magnitude}, s = {sign};
    m.u = (m.u & 0x7fffffffu) | (s.u & 0x80000000u);
    return m.f;
}

CR_INLINE float v_pow2_plain(float t)
{
    union cr_bits bits = {t};
    bits.u = (bits.u << 23) + 0x3f800000u;
    return bits.f;
}

/* Splits x > 0 that is normal into m 2^e with m between sqrt(1/2) and sqrt(2); returns m. */
CR_INLINE float v_split_plain(float x, float *e)
{
    union cr_bits bits = {x};
    uint32_t above = bits.u - 0x3f3504f3u; /* sqrt(1/2) */
    bits.u = (above & 0x007fffffu) + 0x3f3504f3u;
    *e = (float)((int32_t)above >> 23);
    return bits.f;
}

#define v_min(a, b) v_min_plain(a, b)
#define v_max(a, b) v_max_plain(a, b)
#define v_and(a, b) v_and_plain(a, b)
#define v_or(a, b) v_or_plain(a, b)
#define v_copysign(m, s) v_copysign_plain(m, s)
#define v_pow2(t) v_pow2_plain(t)
#define v_split(x, e) v_split_plain(x, e)

#endif
