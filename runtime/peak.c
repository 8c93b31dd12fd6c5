/*
 * peak.c - the machine's limit; see peak.h.
 *
 * Enough independent chains of fma to hide its latency, all in registers: the fastest
 * a program can multiply and add.
 */
#include "peak.h"

#include <math.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { CHAINS = 12, ROUNDS = 400000 };

/* Returns how many floating-point operations it did.  What they came to goes to *sink, so
 * that it is not left out. */
typedef double chains_function(float *sink);

#define EACH_CHAIN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

#if defined(__x86_64__)
#define START_512(i) __m512 a##i = _mm512_set1_ps((float)i);
#define STEP_512(i) a##i = _mm512_fmadd_ps(a##i, x, y);
#define ADD_512(i) sum = _mm512_add_ps(sum, a##i);

__attribute__((target("avx512f"))) static double chains_avx512(float *sink)
{
    __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(*sink), sum = y;
    EACH_CHAIN(START_512)
    for (int i = 0; i < ROUNDS; i++) {
        EACH_CHAIN(STEP_512)
        __asm__ volatile("" : "+v"(x));
    }
    EACH_CHAIN(ADD_512)
    *sink = _mm512_cvtss_f32(sum);
    return 2.0 * 16 * CHAINS * ROUNDS;
}

#define START_256(i) __m256 a##i = _mm256_set1_ps((float)i);
#define STEP_256(i) a##i = _mm256_fmadd_ps(a##i, x, y);
#define ADD_256(i) sum = _mm256_add_ps(sum, a##i);

__attribute__((target("avx2,fma"))) static double chains_avx2(float *sink)
{
    __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(*sink), sum = y;
    EACH_CHAIN(START_256)
    for (int i = 0; i < ROUNDS; i++) {
        EACH_CHAIN(STEP_256)
        __asm__ volatile("" : "+x"(x));
    }
    EACH_CHAIN(ADD_256)
    *sink = _mm256_cvtss_f32(sum);
    return 2.0 * 8 * CHAINS * ROUNDS;
}
#endif

enum { PLAIN_LANES = 32, PLAIN_ROUNDS = ROUNDS / 4 };

static double chains_plain(float *sink)
{
    float a[PLAIN_LANES], x = 0.5f, y = *sink;
    for (int i = 0; i < PLAIN_LANES; i++)
        a[i] = (float)i;
    for (int round = 0; round < PLAIN_ROUNDS; round++)
        for (int i = 0; i < PLAIN_LANES; i++)
            a[i] = fmaf(a[i], x, y);
    for (int i = 0; i < PLAIN_LANES; i++)
        *sink += a[i];
    return 2.0 * PLAIN_LANES * PLAIN_ROUNDS;
}

static chains_function *widest(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return chains_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return chains_avx2;
#endif
    return chains_plain;
}

double cr_peak_work(void)
{
    float sink = 1e-6f;
    double operations = widest()(&sink);
    if (sink > 1e30f)
        abort(); /* it never is; asking keeps the chains alive */
    return operations;
}
