/*
 * peak_rates.c - measures the machine's peak rates; see peak_rates.h.
 *
 * Independent chains of fma in registers, enough of them to hide the latency of an fma, reach the
 * peak of arithmetic.  Loads with only as much work as keeps the compiler from removing them
 * reach the peak of reading.
 */
#include "peak_rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__aarch64__) && defined(__ARM_NEON)
#define NEON 1
#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#else
#define NEON 0
#endif

/* ---- multiplying and adding ---- */

enum { CHAINS = 12, ROUNDS = 400000 };

/* A function that runs chains of fma.  It returns the number of floating-point operations, and
 * adds the result to *sink so that the compiler does not remove the chains. */
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
/* There are twice as many chains here, because some processors start four such instructions in a
 * cycle. */
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

/* Returns the function whose chains use the widest vectors of this machine. */
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
        abort(); /* never reached; keeps the compiler from removing the chains */
    return operations;
}

/* ---- products of integers, and of bf16 ---- */

/* A function that multiplies integers or bf16.  It returns the number of operations, two for each
 * product, and writes the result to *sink. */
typedef double products_function(int *sink);

#if defined(__x86_64__)
#define START_I512(i) __m512i a##i = _mm512_set1_epi32(i);
#define START_I256(i) __m256i a##i = _mm256_set1_epi32(i);
#define ADD_I512(i) sum = _mm512_add_epi32(sum, a##i);
#define ADD_I256(i) sum = _mm256_add_epi32(sum, a##i);

#define STEP_VNNI(i) a##i = _mm512_dpbusd_epi32(a##i, x, y);

__attribute__((target("avx512f,avx512vnni"))) static double products_vnni(int *sink)
{
    __m512i x = _mm512_set1_epi32(0x01020304), y = _mm512_set1_epi32(*sink), sum = y;
    EACH_CHAIN(START_I512)
    for (int i = 0; i < ROUNDS; i++) {
        EACH_CHAIN(STEP_VNNI)
        __asm__ volatile("" : "+v"(x));
    }
    EACH_CHAIN(ADD_I512)
    *sink = _mm_cvtsi128_si32(_mm512_castsi512_si128(sum));
    return 2.0 * 64 * CHAINS * ROUNDS;
}

/* Multiplies pairs of 16-bit integers, adds each pair, and adds the sums to 32-bit accumulators. */
#define STEP_PAIRS_512(i) a##i = _mm512_add_epi32(a##i, _mm512_madd_epi16(a##i, y));

__attribute__((target("avx512f,avx512bw"))) static double products_avx512(int *sink)
{
    __m512i y = _mm512_set1_epi32(*sink), sum = y;
    EACH_CHAIN(START_I512)
    for (int i = 0; i < ROUNDS; i++) {
        EACH_CHAIN(STEP_PAIRS_512)
        __asm__ volatile("" : "+v"(y));
    }
    EACH_CHAIN(ADD_I512)
    *sink = _mm_cvtsi128_si32(_mm512_castsi512_si128(sum));
    return 2.0 * 32 * CHAINS * ROUNDS;
}

/* The barrier keeps the compiler from reordering the steps, which would need more than sixteen
 * registers. */
#define STEP_PAIRS_256(i)                                                                          \
    a##i = _mm256_add_epi32(a##i, _mm256_madd_epi16(a##i, y));                                     \
    __asm__ volatile("" : "+x"(a##i));

__attribute__((target("avx2"))) static double products_avx2(int *sink)
{
    __m256i y = _mm256_set1_epi32(*sink), sum = y;
    EACH_CHAIN(START_I256)
    for (int i = 0; i < ROUNDS; i++) {
        EACH_CHAIN(STEP_PAIRS_256)
        __asm__ volatile("" : "+x"(y));
    }
    EACH_CHAIN(ADD_I256)
    *sink = _mm_cvtsi128_si32(_mm256_castsi256_si128(sum));
    return 2.0 * 16 * CHAINS * ROUNDS;
}

enum { TILE_ROUNDS = ROUNDS / 16, TILE_ROWS = 16, TILE_BYTES = 64 };

/* Accumulators are tiles 0 to 3, operands tiles 4 to 7.  The runtime for AMX has already
 * requested the kernel's permission. */
#define TILES(product, name, extension)                                                            \
    __attribute__((target("amx-tile," extension))) static double name(int *sink)                   \
    {                                                                                              \
        struct {                                                                                   \
            unsigned char palette, start, zero[14];                                                \
            unsigned short bytes[16];                                                              \
            unsigned char rows[16];                                                                \
        } config = {.palette = 1};                                                                 \
        int sums[TILE_ROWS * TILE_BYTES / sizeof(int)] = {*sink};                                  \
        for (int i = 0; i < 8; i++) {                                                              \
            config.bytes[i] = TILE_BYTES;                                                          \
            config.rows[i] = TILE_ROWS;                                                            \
        }                                                                                          \
        _tile_loadconfig(&config);                                                                 \
        _tile_zero(0);                                                                             \
        _tile_zero(1);                                                                             \
        _tile_zero(2);                                                                             \
        _tile_zero(3);                                                                             \
        _tile_loadd(4, sums, TILE_BYTES);                                                          \
        _tile_loadd(5, sums, TILE_BYTES);                                                          \
        _tile_loadd(6, sums, TILE_BYTES);                                                          \
        _tile_loadd(7, sums, TILE_BYTES);                                                          \
        for (int i = 0; i < TILE_ROUNDS; i++) {                                                    \
            product(0, 4, 6);                                                                      \
            product(1, 4, 7);                                                                      \
            product(2, 5, 6);                                                                      \
            product(3, 5, 7);                                                                      \
        }                                                                                          \
        _tile_stored(0, sums, TILE_BYTES);                                                         \
        _tile_release();                                                                           \
        *sink = sums[0];                                                                           \
        return 2.0 * TILE_ROWS * TILE_ROWS * 4 * TILE_ROUNDS;                                      \
    }

TILES(_tile_dpbssd, tiles_of_int8, "amx-int8")
TILES(_tile_dpbf16ps, tiles_of_bf16, "amx-bf16")

/* Runs the tile products and returns the number of multiplications and additions.  A row of a
 * tile, which the loop counts as one element, has 64 elements of 8 bits or 32 of 16 bits. */
static double products_amx(int *sink)
{
    return tiles_of_int8(sink) * TILE_BYTES;
}

static double bf16_amx(int *sink)
{
    return tiles_of_bf16(sink) * (TILE_BYTES / 2);
}
#endif

#if NEON
#if !defined(__clang__) || __clang_major__ >= 16 || defined(__ARM_FEATURE_DOTPROD)
#define SDOT 1
#else
#define SDOT 0
#endif

#if SDOT
#define START_DOT(i) int32x4_t a##i = vdupq_n_s32(i), b##i = a##i;
#define STEP_DOT(i) a##i = vdotq_s32(a##i, x, y), b##i = vdotq_s32(b##i, x, y);
#define ADD_DOT(i) sum = vaddq_s32(sum, vaddq_s32(a##i, b##i));
#if defined(__clang__)
#define TARGET_DOT __attribute__((target("dotprod")))
#else
#define TARGET_DOT __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

/* Adds four 8-bit products to each accumulator, by SDOT. */
TARGET_DOT static double products_sdot(int *sink)
{
    int8x16_t x = vdupq_n_s8(3), y = vdupq_n_s8((signed char)*sink);
    int32x4_t sum = vdupq_n_s32(0);
    EACH_CHAIN(START_DOT)
    for (int i = 0; i < ROUNDS; i++) {
        EACH_CHAIN(STEP_DOT)
        __asm__ volatile("" : "+w"(x));
    }
    EACH_CHAIN(ADD_DOT)
    *sink = vgetq_lane_s32(sum, 0);
    return 2.0 * 16 * 2 * CHAINS * ROUNDS;
}
#endif

#define START_LONG(i) int32x4_t a##i = vdupq_n_s32(i);
#define STEP_LONG(i) a##i = vpadalq_s16(a##i, vmull_s8(x, vget_low_s8(vreinterpretq_s8_s32(a##i))));
#define ADD_LONG(i) sum = vaddq_s32(sum, a##i);

/* Multiplies 8-bit integers to 16-bit products, and adds pairs of these to 32-bit accumulators. */
static double products_smull(int *sink)
{
    int8x8_t x = vdup_n_s8((signed char)*sink);
    int32x4_t sum = vdupq_n_s32(0);
    EACH_CHAIN(START_LONG)
    for (int i = 0; i < ROUNDS; i++) {
        EACH_CHAIN(STEP_LONG)
        __asm__ volatile("" : "+w"(x));
    }
    EACH_CHAIN(ADD_LONG)
    *sink = vgetq_lane_s32(sum, 0);
    return 2.0 * 8 * CHAINS * ROUNDS;
}

static products_function *products_neon(void)
{
#if SDOT && defined(__linux__)
    if (getauxval(AT_HWCAP) >> 20 & 1) /* HWCAP_ASIMDDP */
        return products_sdot;
#elif SDOT && defined(__ARM_FEATURE_DOTPROD)
    return products_sdot;
#endif
    return products_smull;
}
#endif

/* Multiplies in 32 bits, in plain C. */
static double products_plain(int *sink)
{
    enum { LANES = 32, TIMES = ROUNDS / 4 };
    unsigned a[LANES], x = 3, y = (unsigned)*sink;
    for (unsigned i = 0; i < LANES; i++)
        a[i] = i;
    for (int round = 0; round < TIMES; round++)
        for (int i = 0; i < LANES; i++)
            a[i] = a[i] * x + y;
    for (int i = 0; i < LANES; i++)
        *sink += (int)(a[i] & 1);
    return 2.0 * LANES * TIMES;
}

/* Returns the function for the products of an instruction set; null for bf16 without AMX, which
 * has no product instruction and uses fma. */
static products_function *products_of(const char *isa, int bf16)
{
#if defined(__x86_64__)
    if (strcmp(isa, "amx") == 0)
        return bf16 ? bf16_amx : products_amx;
    if (!bf16 && strcmp(isa, "vnni") == 0)
        return products_vnni;
    if (!bf16 && strcmp(isa, "avx512") == 0)
        return products_avx512;
    if (!bf16 && strcmp(isa, "avx2") == 0)
        return products_avx2;
#endif
#if NEON
    if (!bf16 && strcmp(isa, "neon") == 0)
        return products_neon();
#else
    (void)isa;
#endif
    return bf16 ? NULL : products_plain;
}

double cr_peak_products(const char *isa, int bf16)
{
    products_function *products = products_of(isa, bf16);
    volatile int sink = 1;
    int some = sink;
    double operations = products ? products(&some) : cr_peak_work();
    sink = some;
    return operations;
}

/* ---- reading ---- */

/* Reads `steps` steps of memory; returns a value that depends on every bit. */
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
    volatile int sink = widest_reader()(buffer, steps); /* volatile, so that the reads are not
                                                         * removed */
    (void)sink;
}
