/*
 * vector_neon.h - the vectors of the template runtime.inc for NEON: 4 floats in a register.
 *
 * Every aarch64 has these instructions, so functions need no target attribute.  The 16 lanes of a
 * reduction are four registers.
 */
#ifndef CR_VECTOR_NEON_H
#define CR_VECTOR_NEON_H

#define CR_ISA "neon"
#define CR_NAME(name) name##_neon
#define VF float32x4_t
#define CR_W 4
#define CR_MOST_ROWS 12 /* the greatest height of a tile of gemm */
#define CR_TILE_VECTORS 4 /* the preferred width of a tile */
#define CR_BESIDE 4 /* exponentials computed at the same time */
#define CR_TILES_1(T) CR_HEIGHTS_4(T, 1)
#define CR_TILES_2(T) CR_HEIGHTS_12(T, 2)
#define CR_TILES_3(T) CR_HEIGHTS_8(T, 3)
#define CR_TILES_4(T) CR_HEIGHTS_6(T, 4)
#define CR_HALF_VECTORS 4 /* only for bf16, f16 */
#define CR_HALF_TILES(T) CR_TILES_4(T) /* only for bf16, f16 */

/* A vector that may alias any element, and is aligned only as an element is. */
typedef float32x4_t __attribute__((may_alias, aligned(4))) cr_floats_4;
typedef uint32x4_t __attribute__((may_alias, aligned(4))) cr_words_4;

#define v_load(p) (*(const cr_floats_4 *)(p))
#define v_words(p) vreinterpretq_u32_u16(vld1q_u16(p)) /* only for bf16 */
#define v_high vdupq_n_u32(0xffff0000u) /* only for bf16 */
#define v_load_low(p) vreinterpretq_f32_u32(vshlq_n_u32(v_words(p), 16)) /* only for bf16 */
#define v_load_high(p) vreinterpretq_f32_u32(vandq_u32(v_words(p), v_high)) /* only for bf16 */
#define v_load_f16(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))) /* only for f16, q8, q4 */
#define v_store(p, x) ((void)(*(cr_floats_4 *)(p) = (x)))
#define v_stream(p, x) v_store(p, x)
#define v_stream_end() ((void)0)
#define v_set1(x) vdupq_n_f32(x)
#define v_fma(a, b, c) vfmaq_f32(c, a, b)
/* Return b if the operands are equal or unordered, like the instructions of x86. */
#define v_min(a, b) vbslq_f32(vcltq_f32(a, b), a, b)
#define v_max(a, b) vbslq_f32(vcgtq_f32(a, b), a, b)
/* Return NaN if either operand is NaN; +0 is larger than -0. */
#define v_smaller(a, b) vminq_f32(a, b)
#define v_larger(a, b) vmaxq_f32(a, b)
#define v_nan_or(x, other) vbslq_f32(vceqq_f32(x, x), other, x)

/* Load and store the first n lanes, at least one. */
#define v_load_n(p, n) v_load_or_neon(p, n, vdupq_n_f32(0.0f))
#define v_load_or(p, n, fill) v_load_or_neon(p, n, fill)
#define v_store_n(p, x, n) v_store_n_neon(p, x, n)

#define CR_ONE vdupq_n_f32(1.0f)
#define CR_FLOAT(a) (a)
#define CR_ABS(a) vabsq_f32(a)
#define CR_SQRT(a) vsqrtq_f32(a)
#define CR_LT(a, b) v_one_if_neon(vcltq_f32(a, b))
#define CR_LE(a, b) v_one_if_neon(vcleq_f32(a, b))
#define CR_EQ(a, b) v_one_if_neon(vceqq_f32(a, b))
#define v_if_negative(a, b, c) vbslq_f32(vcltzq_f32(a), b, c)
#define CR_SELECT(a, b, c) vbslq_f32(vceqzq_f32(a), c, b)

/* Returns 1 in the lanes of a mask, 0 in the others. */
CR_INLINE float32x4_t v_one_if_neon(uint32x4_t mask)
{
    return vreinterpretq_f32_u32(vandq_u32(mask, vreinterpretq_u32_f32(CR_ONE)));
}

CR_INLINE float32x4_t v_load_or_neon(const cr_float *p, long n, float32x4_t fill)
{
    if (n >= CR_W) {
        return v_load(p);
    }
    fill = vsetq_lane_f32(p[0], fill, 0);
    fill = n > 1 ? vsetq_lane_f32(p[1], fill, 1) : fill;
    return n > 2 ? vsetq_lane_f32(p[2], fill, 2) : fill;
}

/* Stores the first n lanes; the memory at p may end behind the last of them. */
CR_INLINE void v_store_n_neon(cr_float *p, float32x4_t x, long n)
{
    if (n >= CR_W) {
        v_store(p, x);
        return;
    }
    p[0] = vgetq_lane_f32(x, 0);
    if (n > 1) {
        p[1] = vgetq_lane_f32(x, 1);
    }
    if (n > 2) {
        p[2] = vgetq_lane_f32(x, 2);
    }
}

CR_INLINE float32x4_t v_copysign_neon(float32x4_t magnitude, float32x4_t sign)
{
    return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude);
}

CR_INLINE float32x4_t v_pow2_neon(float32x4_t t)
{
    uint32x4_t bits = vshlq_n_u32(vreinterpretq_u32_f32(t), 23);
    return vreinterpretq_f32_u32(vaddq_u32(bits, vdupq_n_u32(0x3f800000u)));
}

/* Splits a normal x > 0 into m 2^e with m between sqrt(1/2) and sqrt(2); returns m. */
CR_INLINE float32x4_t v_split_neon(float32x4_t x, float32x4_t *e)
{
    uint32x4_t root = vdupq_n_u32(0x3f3504f3u); /* sqrt(1/2) */
    uint32x4_t above = vsubq_u32(vreinterpretq_u32_f32(x), root);
    uint32x4_t mantissa = vandq_u32(above, vdupq_n_u32(0x007fffffu));
    *e = vcvtq_f32_s32(vshrq_n_s32(vreinterpretq_s32_u32(above), 23));
    return vreinterpretq_f32_u32(vaddq_u32(mantissa, root));
}

/* Returns the even 64-bit halves of a and b; the next function returns the odd ones. */
CR_INLINE float32x4_t v_even_halves_neon(float32x4_t a, float32x4_t b)
{
    return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}

CR_INLINE float32x4_t v_odd_halves_neon(float32x4_t a, float32x4_t b)
{
    return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
}

/* Transposes 4 x 4 floats: first inside squares of 2 x 2, then the squares. */
CR_INLINE void v_transpose_neon(float32x4_t *t)
{
    float32x4_t even_top = vtrn1q_f32(t[0], t[1]), odd_top = vtrn2q_f32(t[0], t[1]);
    float32x4_t even_low = vtrn1q_f32(t[2], t[3]), odd_low = vtrn2q_f32(t[2], t[3]);
    t[0] = v_even_halves_neon(even_top, even_low);
    t[1] = v_even_halves_neon(odd_top, odd_low);
    t[2] = v_odd_halves_neon(even_top, even_low);
    t[3] = v_odd_halves_neon(odd_top, odd_low);
}

#define v_copysign(m, s) v_copysign_neon(m, s)
#define v_pow2(t) v_pow2_neon(t)
#define v_split(x, e) v_split_neon(x, e)
#define v_transpose(t) v_transpose_neon(t)

#define v_lane0(x) vgetq_lane_f32(x, 0)

/* Reduces x: lane l is combined with lane l + 2, then l + 1 by OP; the result is in lane 0. */
#define v_fold(OP, x)                                                                              \
    do {                                                                                           \
        x = OP(x, vextq_f32(x, x, 2));                                                             \
        x = OP(x, vextq_f32(x, x, 1));                                                             \
    } while (0)

/*
 * x w + sum for a number x in lane 0 of a register: fmla by element.  The number is loaded by an
 * instruction that the compiler cannot change.  Otherwise the compiler may load it into all lanes
 * at once (ld1r), which occupies the multiplier's port, or load it early, which takes registers
 * that a tile of gemm needs.
 */
#define VS float32x4_t
#define v_number(p) v_number_neon(p)
#define v_fma_by(x, w, sum) vfmaq_laneq_f32(sum, w, x, 0)

CR_INLINE float32x4_t v_number_neon(const cr_float *p)
{
    float32x4_t x;
    __asm__("ldr %s0, %1" : "=w"(x) : "m"(*p));
    return x;
}

#endif
