/*
 * vector.h - definitions that the templates for all instruction sets share.
 *
 * A template (*.inc) is written in terms of the vector types of vector_*.h and compiled once with
 * each of them.  It calls fma where it means one; the compiler must not fuse or reorder other
 * operations.
 */
#ifndef CR_VECTOR_H
#define CR_VECTOR_H

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || __FINITE_MATH_ONLY__
#error "options such as -ffast-math and -Ofast change the bits of results: this needs arithmetic as it is written"
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__TINYC__)
#pragma GCC optimize("fp-contract=off")
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__TINYC__)
#define CR_X86 1
#include <immintrin.h> /* only for avx512 */
#include "intrinsics_avx2.h" /* only for avx2_alone */
#else
#define CR_X86 0
#endif
#if defined(__aarch64__) && defined(__ARM_NEON) && defined(__GNUC__) && !defined(__TINYC__)
#define CR_NEON 1
#include <arm_neon.h> /* only for neon */
#else
#define CR_NEON 0
#endif
#include <math.h>
#include <stdint.h>

/* Declares functions that are always inlined and may be unused. */
#if defined(__GNUC__) && !defined(__TINYC__)
#define CR_INLINE static inline __attribute__((always_inline, unused))
#else
#define CR_INLINE static inline
#endif

/* A float and a 32-bit word that may alias elements of either type, f32 or i32. */
#if defined(__GNUC__) && !defined(__TINYC__)
typedef float __attribute__((may_alias)) cr_float;
typedef uint32_t __attribute__((may_alias)) cr_word;
#else
typedef float cr_float;
typedef uint32_t cr_word;
#endif

/* Pragmas that unroll loops: over a constant number of vectors, and over very many items. */
#if defined(__clang__)
#define CR_UNROLL _Pragma("clang loop unroll(full)")
#define CR_UNROLL_BY_4 _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__) && !defined(__TINYC__)
#define CR_UNROLL _Pragma("GCC unroll 16")
#define CR_UNROLL_BY_4 _Pragma("GCC unroll 4")
#else
#define CR_UNROLL
#define CR_UNROLL_BY_4
#endif

#define CR_LEVEL(name) CR_NAME(name) /* only for gemm_bf16_bf16, gemm_q8_int8, gemm_q4_int8 */

/* 1.5 2^23.  For a small x, x + CR_ROUND has the integer n nearest to x in its low bits.  v_pow2(x
 * + CR_ROUND) returns 2^n, as it shifts n into the exponent. */
#define CR_ROUND 0x1.8p+23f
/* ln 2 as the sum of a float with few bits, whose small multiples are exact, and a remainder. */
#define CR_LN2_HIGH 0x1.62e4p-1f
#define CR_LN2_LOW 0x1.7f7d1cp-20f

#endif
