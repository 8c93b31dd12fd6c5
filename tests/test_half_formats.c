/* test_half_formats.c - weights in bf16 and f16: how they are rounded, packed, read back, gathered and
 * multiplied, by every instruction set. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/select_runtime.h"

enum { ROWS = 15, K = 301, N = 70, COLUMNS = 96, FIRST = 7, STRIDE = (K + 1) * CR_PANEL };

static const char *const isas[] = {"plain", "avx2", "avx512", "neon"};
enum { ISAS = sizeof isas / sizeof *isas };

/* The runtime's functions for a format. */
struct half {
    void (*pack)(long, long, unsigned short *, long, long, int, const float *, long, long);
    void (*unpack)(long, long, float *, long, const unsigned short *, long);
    void (*gemm)(long, long, long, const float *, long, long, const unsigned short *, long, float *,
                 long, const float *, long, const float *, long, long);
    void (*gather)(long, long, float *, long, const unsigned short *, long, long, const int *);
};

/* Returns the runtime of the instruction set of test i, and sets its format; null if the machine lacks
 * it. */
static const struct cr_runtime *select_runtime_and_format(int i, struct half *half)
{
    const struct cr_runtime *rt = cr_runtime_select(isas[i / 2]);
    if (rt && i % 2)
        *half = (struct half){rt->pack_f16, rt->unpack_f16, rt->gemm_f16, rt->gather_f16};
    else if (rt)
        *half = (struct half){rt->pack_bf16, rt->unpack_bf16, rt->gemm_bf16, rt->gather_bf16};
    return rt;
}

/* ---- rounding ---- */

/* A binary32, and the same number rounded to bf16 and to f16. */
static const uint32_t rounded[][3] = {
    {0x3f800000, 0x3f80, 0x3c00},                               /* 1 */
    {0x3f808000, 0x3f80, 0x3c04},                               /* bf16: a tie, to even, below */
    {0x3f818000, 0x3f82, 0x3c0c},                               /* ... to the even above */
    {0x3f808001, 0x3f81, 0x3c04}, {0xbf818000, 0xbf82, 0xbc0c},
    {0x3f801000, 0x3f80, 0x3c00},                               /* f16: half-way, below */
    {0x3f803000, 0x3f80, 0x3c02},                               /* ... above */
    {0x3f801001, 0x3f80, 0x3c01}, {0x80000000, 0x8000, 0x8000},
    {0x38800000, 0x3880, 0x0400},                               /* 2^-14 */
    {0x387fffff, 0x3880, 0x0400}, {0x33800000, 0x3380, 0x0001}, /* 2^-24 */
    {0x33000000, 0x3300, 0x0000}, {0x33000001, 0x3300, 0x0001}, {0xb3c00000, 0xb3c0, 0x8002},
    {0x477fefff, 0x4780, 0x7bff}, {0x477ff000, 0x4780, 0x7c00}, /* 65520 */
    {0x00000001, 0x0000, 0x0000}, {0x00018000, 0x0002, 0x0000}, {0x7f7fffff, 0x7f80, 0x7c00},
    {0x7f800000, 0x7f80, 0x7c00}, {0xff800000, 0xff80, 0xfc00}, {0x7f800001, 0x7fc0, 0x7e00},
    {0xffc00000, 0xffc0, 0xfe00}, {0x7fa02000, 0x7fe0, 0x7f01},
};

START_TEST(rounds_to_nearest_even)
{
    struct half half;
    unsigned short panel[2 * CR_PANEL];
    float x;
    for (size_t i = 0; select_runtime_and_format(_i, &half) && i < sizeof rounded / sizeof *rounded; i++) {
        memcpy(&x, &rounded[i][0], sizeof x);
        half.pack(1, 1, panel, sizeof panel / sizeof *panel, 0, 1, &x, 0, 0);
        ck_assert_msg(panel[0] == rounded[i][1 + _i % 2], "%#x becomes %#x, expected %#x",
                      (unsigned)rounded[i][0], panel[0], (unsigned)rounded[i][1 + _i % 2]);
    }
}
END_TEST

/* Every number of 16 bits is rounded to itself, except signalling NaNs. */
START_TEST(rounding_keeps_numbers)
{
    struct half half;
    int infinity = _i % 2 ? 0x7c00 : 0x7f80, quiet = _i % 2 ? 0x200 : 0x40;
    for (int x = 0; select_runtime_and_format(_i, &half) && x < 1 << 16; x++) {
        unsigned short panel[2 * CR_PANEL] = {(unsigned short)x}, again[2 * CR_PANEL];
        float value;
        if ((x & 0x7fff) > infinity && !(x & quiet))
            continue;
        half.unpack(1, 1, &value, 1, panel, 2 * CR_PANEL);
        half.pack(1, 1, again, 2 * CR_PANEL, 0, 1, &value, 0, 0);
        ck_assert_msg(again[0] == x, "%#x is read as %g and becomes %#x", x, value, again[0]);
    }
}
END_TEST

/* ---- panels ---- */

static float number(int i)
{
    return i % 211 == 3 ? (i % 2 ? NAN : -INFINITY) : sinf((float)i) * (i % 7 ? 3 : 1e-6f);
}

/* Packs columns of b, or of its transpose, into panels from column FIRST on; the panels are filled
 * with another number before. */
static void pack(const struct half *half, unsigned short *panels, int last, int transposed)
{
    static float b[K * N];
    for (int i = 0; i < K * N; i++)
        b[transposed ? i % N * K + i / N : i] = number(i);
    memset(panels, 0x3c, STRIDE * COLUMNS / CR_PANEL * sizeof *panels);
    half->pack(K, N, panels, STRIDE, FIRST, last, b, transposed ? 1 : N, transposed ? K : 1);
}

START_TEST(keeps_what_is_beside)
{
    struct half half;
    static unsigned short panels[STRIDE * COLUMNS / CR_PANEL], again[sizeof panels / 2];
    static float y[K * COLUMNS];
    int last = _i / 2 % 2;
    if (!select_runtime_and_format(_i % 2 + _i / 4 * 2, &half))
        return;
    pack(&half, panels, last, 0);
    pack(&half, again, last, 1);
    ck_assert_mem_eq(panels, again, sizeof panels);
    half.unpack(K, COLUMNS, y, COLUMNS, panels, STRIDE);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < COLUMNS; n++) {
            float x = number(k * N + n - FIRST), got = y[k * COLUMNS + n];
            if (n >= FIRST + N && last)
                ck_assert_float_eq(got, 0);
            else if (n < FIRST || n >= FIRST + N)
                ck_assert(got > 0.01f && got < 2);
            else if (isfinite(x))
                ck_assert_float_le(fabsf(got - x), fabsf(x) / 256 + 3e-8f);
            else
                ck_assert(isnan(x) ? isnan(got) : got == x);
        }
}
END_TEST

/* A row of a table is gathered from a column of the panels; an index out of range gives NaN. */
START_TEST(gathers_columns)
{
    struct half half;
    static unsigned short panels[STRIDE * COLUMNS / CR_PANEL];
    static float y[K * COLUMNS], rows[5 * K];
    const int index[5] = {95, 0, -1, 33, 96};
    if (!select_runtime_and_format(_i, &half))
        return;
    pack(&half, panels, 1, 0);
    half.unpack(K, COLUMNS, y, COLUMNS, panels, STRIDE);
    half.gather(5, K, rows, K, panels, STRIDE, COLUMNS, index);
    for (int r = 0; r < 5; r++)
        for (int k = 0; k < K; k++) {
            float x = index[r] < 0 || index[r] >= COLUMNS ? NAN : y[k * COLUMNS + index[r]];
            ck_assert(isnan(x) ? isnan(rows[r * K + k]) : rows[r * K + k] == x);
        }
}
END_TEST

/* Computes some rows of a product by both instruction sets and compares their bits; any NaN is
 * equal to any other. */
static void multiply(const struct cr_runtime *rt, const struct half *half,
                     const unsigned short *panels, const float *wide, long rows, long cols, long k,
                     const float *bias)
{
    static float a[ROWS * K], c[ROWS * COLUMNS], d[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * K; i++)
        a[i] = sinf((float)i * 0.3f);
    half->gemm(rows, cols, k, a, K, 1, panels, STRIDE, c, COLUMNS, NULL, 0, bias, 0, 64);
    rt->gemm(rows, cols, k, a, K, 1, wide, K * CR_PANEL, d, COLUMNS, NULL, 0, bias, 0, 64);
    for (long i = 0; i < rows * COLUMNS; i++)
        if (i % COLUMNS < cols && !(isnan(c[i]) && isnan(d[i])))
            ck_assert_mem_eq(c + i, d + i, sizeof *c);
}

START_TEST(multiplies_as_gemm_does)
{
    struct half half;
    static unsigned short panels[STRIDE * COLUMNS / CR_PANEL];
    static float wide[K * COLUMNS];
    float bias[COLUMNS];
    const struct cr_runtime *rt = select_runtime_and_format(_i, &half);
    if (!rt)
        return;
    pack(&half, panels, 1, 0);
    for (int p = 0; p < COLUMNS / CR_PANEL; p++)
        half.unpack(K, CR_PANEL, wide + p * K * CR_PANEL, CR_PANEL, panels + p * STRIDE, STRIDE);
    for (int i = 0; i < COLUMNS; i++)
        bias[i] = number(i * i + 1);
    for (long rows = 1; rows <= ROWS; rows++)
        for (long cols = 1; cols <= COLUMNS; cols += 19)
            for (long k = K - 1; k <= K; k++)
                multiply(rt, &half, panels, wide, rows, cols, k, cols % 2 ? bias : NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("half_formats");
    TCase *tests = tcase_create("half");
    SRunner *runner = srunner_create(suite);
    tcase_add_loop_test(tests, rounds_to_nearest_even, 0, 2 * ISAS);
    tcase_add_loop_test(tests, rounding_keeps_numbers, 0, 2 * ISAS);
    tcase_add_loop_test(tests, keeps_what_is_beside, 0, 4 * ISAS);
    tcase_add_loop_test(tests, gathers_columns, 0, 2 * ISAS);
    tcase_add_loop_test(tests, multiplies_as_gemm_does, 0, 2 * ISAS);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
