/*
 * test_bf16_product.c - the arithmetic bf16: how rows are rounded, and in which order products are
 * summed.
 *
 * Every instruction set has to give the bits of a definition written out here, block by block, of
 * numbers of any size, and so have AMX's tiles, in plain C if this machine lacks them.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tests/isas.h"
#include "tests/tiles.h"

#include "runtime/bf16_product.h"

/* The functions with tiles, which replace functions of plain C. */
#define CR_NAME(name) name##_below
#undef CR_LEVEL
#define CR_LEVEL(name) name##_tiles
#define CR_LEAST(a, b) ((a) < (b) ? (a) : (b))
#define CR_MOST(a, b) ((a) > (b) ? (a) : (b))
#define CR_PREFETCH(p) ((void)(p))
#define CR_PREFETCH_FAR(p) ((void)(p))

static void cr_gemm_bf16_bf16_below(long M, long N, long K, const unsigned short *a, long lda,
                                    const unsigned short *b, long panel_stride, float *c, long ldc,
                                    long ahead)
{
    cr_runtime_select("plain")->gemm_bf16_bf16(M, N, K, a, lda, b, panel_stride, c, ldc, ahead);
}

static void cr_copy_strided(long rows, long cols, float *y, long ry, long cy, const float *x,
                            long rx, long cx)
{
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < cols; c++)
            y[r * ry + c * cy] = x[r * rx + c * cx];
}

#include "runtime/amx_bf16.inc"

/* The instruction sets, followed by the tiles. */
enum { WAYS = ISAS + 1, MOST_ROWS = 70, MOST_COLS = 100, MOST_K = 1100, LDC = MOST_COLS + 3 };

static const struct cr_runtime *plain;

static const char *way_name(int way)
{
    return way < ISAS ? isas[way] : "tiles in C";
}

/* ---- numbers ---- */

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static float uniform(uint32_t *state)
{
    return (float)draw(state) * 0x1p-23f - 1;
}

/* Of what size numbers are. */
enum size { ORDINARY, SMALL, BORDER, ANY, SIZES };

/* Returns a random number.  SMALL: products are near 2^-126.  BORDER: few bits, so that sums are
 * exactly 2^-126.  ANY: all floats, NaN and infinities included. */
static float number(enum size size, uint32_t *state)
{
    static const float strange[] = {0.0f,      -0.0f,        0x1p-126f, -0x1p-126f, 0x1p-127f,
                                    0x1p-133f, -0x1.8p-130f, 0x1p127f,  -0x1p100f,  0x1p-126f};
    float x = uniform(state);
    switch (size) {
    case ORDINARY:
        return x;
    case SMALL:
        return ldexpf(x, -58 - (int)(draw(state) % 10));
    case BORDER:
        return ldexpf(x < 0 ? -1.0f - (float)(draw(state) % 4) / 128 : 1,
                      -(int)(draw(state) % 25) - 52);
    default:
        if (draw(state) % 1000 == 0)
            return draw(state) % 3 ? INFINITY : NAN;
        return draw(state) % 4 ? ldexpf(x, (int)(draw(state) % 250) - 125)
                               : strange[draw(state) % (sizeof strange / sizeof *strange)];
    }
}

/* ---- a product ---- */

static struct {
    unsigned short a[MOST_ROWS * (MOST_K + 32)], b[(MOST_COLS + 32) * (MOST_K + 1)];
    float want[MOST_ROWS * LDC], got[MOST_ROWS * LDC];
    long lda, panel_stride;
} now;

static void make_product(long M, long N, long K, enum size size, uint32_t seed)
{
    static float x[MOST_ROWS * MOST_K], w[MOST_K * MOST_COLS];
    uint32_t state = seed;
    for (long i = 0; i < M * K; i++)
        x[i] = number(size, &state);
    for (long i = 0; i < K * N; i++)
        w[i] = number(size, &state);
    now.lda = (K + 31) / 32 * 32;
    now.panel_stride = (K + 1) / 2 * 2 * CR_PANEL;
    memset(now.b, 0xff, sizeof now.b);
    plain->round_bf16(M, K, now.a, now.lda, x, K, 1);
    plain->pack_bf16(K, N, now.b, now.panel_stride, 0, 1, w, N, 1);
}

/* Returns element (k, n) of the weights; beyond the last k it is 0. */
static const unsigned char *weight(long K, long k, long n)
{
    static const unsigned char zero[2];
    const unsigned short *panel = now.b + n / CR_PANEL * now.panel_stride;
    return k < K ? (const unsigned char *)(panel + (k / 2 * CR_PANEL + n % CR_PANEL) * 2 + k % 2)
                 : zero;
}

/* Computes the expected product by the definition in runtime.h. */
static void define(long M, long N, long K)
{
    for (long m = 0; m < M; m++)
        for (long n = 0; n < N; n++) {
            float sum = 0;
            for (long block = 0; block < K; block += 32) {
                float chain[2] = {0, 0};
                for (long k = block; k < block + 32; k++) {
                    float x = tile_bf16((const unsigned char *)(now.a + m * now.lda + k));
                    chain[k % 2] = tile_fma(x, tile_bf16(weight(K, k, n)), chain[k % 2]);
                }
                sum = tile_add(sum, tile_add(chain[0], chain[1]));
            }
            now.want[m * LDC + n] = sum;
        }
}

/* Computes the product with one set of functions; returns false if the machine lacks them. */
static int multiply(int way, long M, long N, long K)
{
    const struct cr_runtime *rt = way < ISAS ? cr_runtime_select(isas[way]) : plain;
    if (!rt)
        return 0;
    for (int i = 0; i < MOST_ROWS * LDC; i++)
        now.got[i] = 7;
    (way < ISAS ? rt->gemm_bf16_bf16 : cr_gemm_bf16_bf16_tiles)(
        M, N, K, now.a, now.lda, now.b, now.panel_stride, now.got, LDC, 4096);
    return 1;
}

static int is_same(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* Checks a product; memory beside the result must not change. */
static void check_product(int way, long M, long N, long K)
{
    for (long m = 0; m < MOST_ROWS; m++)
        for (long n = 0; n < LDC; n++) {
            float want = m < M && n < N ? now.want[m * LDC + n] : 7;
            ck_assert_msg(is_same(now.got[m * LDC + n], want),
                          "%s, %ld x %ld x %ld: [%ld, %ld] is %a, not %a", way_name(way), M, N, K,
                          m, n, (double)now.got[m * LDC + n], (double)want);
        }
}

/* ---- tests ---- */

static const struct {
    long M, N, K;
} shapes[] = {
    {1, 1, 1},    {1, 96, 64},  {1, 100, 1100}, {2, 33, 31},  {2, 100, 70},  {3, 64, 96},
    {3, 20, 33},  {4, 40, 65},  {5, 32, 32},    {6, 64, 128}, {7, 97, 191},  {13, 50, 40},
    {16, 64, 64}, {16, 96, 35}, {17, 33, 64},   {23, 65, 97}, {32, 32, 160}, {33, 31, 2},
    {40, 64, 63}, {64, 96, 64}, {70, 100, 129},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

START_TEST(gives_the_bits_of_its_definition)
{
    long M = shapes[_i / SIZES].M, N = shapes[_i / SIZES].N, K = shapes[_i / SIZES].K;
    make_product(M, N, K, (enum size)(_i % SIZES), (uint32_t)_i + 1);
    define(M, N, K);
    for (int way = 0; way < WAYS; way++)
        if (multiply(way, M, N, K))
            check_product(way, M, N, K);
}
END_TEST

/* Some sums in the numbers of make_product are flushed to zero and some are not; otherwise the test
 * would prove nothing. */
START_TEST(numbers_lie_about_the_border)
{
    int zeros = 0, least = 0;
    for (uint32_t seed = 1; seed < 4000; seed++) {
        uint32_t state = seed;
        float a = number(BORDER, &state), b = number(BORDER, &state), c = number(BORDER, &state);
        float exact = fmaf(a, b, c * 0x1p-60f);
        zeros += exact != 0 && tile_fma(a, b, c * 0x1p-60f) == 0;
        least += tile_fma(a, b, c * 0x1p-60f) == 0x1p-126f;
    }
    ck_assert_int_gt(zeros, 100);
    ck_assert_int_gt(least, 0);
}
END_TEST

/* A sum is flushed if it is below 2^-126 when rounded to 24 bits with an unbounded exponent: the
 * first two are.  Rounded to denormals, which are 2^-149 apart, all four would be 2^-126. */
START_TEST(flushes_after_rounding)
{
    static const struct {
        float part;
        float want;
    } cases[] = {{-0x1p-76f, 0}, {-0x1.8p-77f, 0}, {-0x1p-77f, 0x1p-126f}, {-0x1p-78f, 0x1p-126f}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float x[] = {0x1p-60f, 0, cases[i].part, 0}, w[] = {0x1p-66f, 0, 0x1p-74f, 0};
        now.lda = 32;
        now.panel_stride = 4 * CR_PANEL;
        for (int m = 0; m < 8; m++)
            plain->round_bf16(1, 4, now.a + m * 32, 32, x, 4, 1);
        plain->pack_bf16(4, 1, now.b, now.panel_stride, 0, 1, w, 1, 1);
        for (long M = 1; M <= 8; M += 7)
            for (int way = 0; way < WAYS; way++)
                if (multiply(way, M, 1, 4))
                    ck_assert_msg(is_same(now.got[0], cases[i].want), "%s, case %d: %a",
                                  way_name(way), (int)i, (double)now.got[0]);
    }
}
END_TEST

/* A row's bits do not depend on how many rows there are. */
START_TEST(rows_do_not_see_each_other)
{
    enum { M = 40, N = 64, K = 100 };
    make_product(M, N, K, ANY, 5);
    define(M, N, K);
    for (long rows = 1; rows <= M; rows++)
        if (multiply(_i, rows, N, K))
            check_product(_i, rows, N, K);
}
END_TEST

/* Rows are rounded to the nearest bf16, as weights are when they are packed. */
START_TEST(rounds_rows)
{
    static const uint32_t rounded[][2] = {
        {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
        {0x80000000, 0x8000}, {0x00008000, 0x0000}, {0x00008001, 0x0001}, {0x007fffff, 0x0080},
        {0x7f7fffff, 0x7f80}, {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, {0xffc00000, 0xffc0},
    };
    enum { COUNT = sizeof rounded / sizeof *rounded, K = 5 * COUNT };
    const struct cr_runtime *rt = cr_runtime_select(isas[_i]);
    float x[2][K][3], back[K];
    unsigned short y[2][96];
    for (int i = 0; rt && i < 2 * K; i++)
        memcpy(&x[i / K][i % K][0], &rounded[i % COUNT][0], sizeof(float));
    for (int step = 1; rt && step <= 3; step += 2) {
        memset(y, 0xff, sizeof y);
        for (int k = 0; k < K && step == 1; k++)
            memcpy(&x[0][0][0] + k, &rounded[k % COUNT][0], sizeof(float));
        rt->round_bf16(1, K, y[0], 96, &x[0][0][0], 0, step);
        rt->read_bf16(K, back, y[0]);
        for (int k = 0; k < 96; k++)
            if (k < 64)
                ck_assert_uint_eq(y[0][k], k < K ? rounded[k % COUNT][1] : 0);
            else
                ck_assert_uint_eq(y[0][k], 0xffff);
        for (int k = 0; k < K; k++)
            ck_assert(is_same(back[k], tile_bf16((const unsigned char *)&y[0][k])));
        for (int i = 0; i < 2 * K; i++)
            memcpy(&x[i / K][i % K][0], &rounded[i % COUNT][0], sizeof(float));
    }
}
END_TEST

int main(void)
{
    plain = cr_runtime_select("plain");
    report_missing_isas("test_bf16_product");
    Suite *suite = suite_create("bf16_product");
    TCase *tests = tcase_create("bf16_product");
    SRunner *runner = srunner_create(suite);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, gives_the_bits_of_its_definition, 0, SHAPES * SIZES);
    tcase_add_test(tests, numbers_lie_about_the_border);
    tcase_add_test(tests, flushes_after_rounding);
    tcase_add_loop_test(tests, rows_do_not_see_each_other, 0, WAYS);
    tcase_add_loop_test(tests, rounds_rows, 0, ISAS);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
