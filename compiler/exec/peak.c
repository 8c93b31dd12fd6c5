/*
 * peak.c - the machine's limits; see peak.h.
 *
 * Independent chains of fma, enough to hide its latency, all in registers: the fastest that a
 * program can multiply and add.  And loads with the least work that keeps the compiler from
 * removing them: the fastest that it can read.
 */
#include "peak.h"

#include <math.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__aarch64__) && defined(__ARM_NEON)
#define NEON 1
#include <arm_neon.h>
#else
#define NEON 0
#endif

/* ---- multiplying and adding ---- */

enum { CHAINS = 12, ROUNDS = 400000 };

/* Returns the number of floating-point operations.  Their result goes to *sink, so that the
 * compiler does not remove them. */
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

#if NEON
/* Twice the chains: there are processors that begin four of them in a cycle. */
#define START_128(i) float32x4_t a##i = vdupq_n_f32((float)i), b##i = a##i;
#define STEP_128(i) a##i = vfmaq_f32(a##i, x, y), b##i = vfmaq_f32(b##i, x, y);
#define ADD_128(i) sum = vaddq_f32(sum, vaddq_f32(a##i, b##i));

static double chains_neon(float *sink)
{
    float32x4_t x = vdupq_n_f32(0.5f), y = vdupq_n_f32(*sink), sum = y;
    EACH_CHAIN(START_128)
    for (int i = 0; i < ROUNDS; i++) {
        EACH_CHAIN(STEP_128)
        __asm__ volatile("" : "+w"(x));
    }
    EACH_CHAIN(ADD_128)
    *sink = vgetq_lane_f32(sum, 0);
    return 2.0 * 4 * 2 * CHAINS * ROUNDS;
}
#endif

#if !NEON
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
#endif

/* The chains of the widest vectors of this machine. */
static chains_function *widest(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return chains_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return chains_avx2;
#endif
#if NEON
    return chains_neon;
#else
    return chains_plain;
#endif
}

double cr_peak_work(void)
{
    float sink = 1e-6f;
    double operations = widest()(&sink);
    if (sink > 1e30f)
        abort(); /* never: the test keeps the compiler from removing the chains */
    return operations;
}

/* ---- reading ---- */

/* Returns the bits of everything it read, ored together, in some form. */
typedef int reader_function(const char *p, long steps);

#define EACH_LOAD(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)

#if defined(__x86_64__)
#define CLEAR_512(i) __m512i a##i = _mm512_setzero_si512();
#define LOAD_512(i) a##i = _mm512_or_si512(a##i, _mm512_load_si512(p + 64 * i));
#define OR_512(i) all = _mm512_or_si512(all, a##i);

__attribute__((target("avx512f"))) static int read_avx512(const char *p, long steps)
{
    EACH_LOAD(CLEAR_512)
    __m512i all = _mm512_setzero_si512();
    for (; steps > 0; steps--, p += CR_READ_STEP) {
        EACH_LOAD(LOAD_512)
    }
    EACH_LOAD(OR_512)
    return _mm512_test_epi32_mask(all, all);
}

#define CLEAR_256(i) __m256i a##i = _mm256_setzero_si256();
#define LOAD_256(i) a##i = _mm256_or_si256(a##i, _mm256_load_si256((const __m256i *)(p + 32 * i)));
#define OR_256(i) all = _mm256_or_si256(all, a##i);

__attribute__((target("avx2"))) static int read_avx2(const char *p, long steps)
{
    EACH_LOAD(CLEAR_256)
    __m256i all = _mm256_setzero_si256();
    for (steps *= 2; steps > 0; steps--, p += CR_READ_STEP / 2) {
        EACH_LOAD(LOAD_256)
    }
    EACH_LOAD(OR_256)
    return _mm256_movemask_epi8(all);
}
#endif

static int read_plain(const char *p, long steps)
{
    const unsigned long long *words = (const void *)p;
    unsigned long long all[8] = {0};
    for (long i = steps * (CR_READ_STEP / 64); i > 0; i--, words += 8)
        for (int j = 0; j < 8; j++)
            all[j] |= words[j];
    for (int j = 1; j < 8; j++)
        all[0] |= all[j];
    return (int)(all[0] >> 32 | all[0]);
}

static reader_function *widest_reader(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return read_avx512;
    if (__builtin_cpu_supports("avx2"))
        return read_avx2;
#endif
    return read_plain;
}

void cr_read_work(const void *buffer, long steps)
{
    volatile int sink = widest_reader()(buffer, steps); /* what is stored has to be read */
    (void)sink;
}
