/*
 * test_int8_products.c - the arithmetic int8: rows rounded to 8 bits, products by weights in q8 and q4.
 *
 * Each function against its definition in runtime.h, done here one element at a time, for each
 * instruction set that the machine has; and AMX with tiles in plain C.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulated_tiles.h"
#include "tests/isas.h"

enum { M = 29, K = 199, N = 75, COLUMNS = 96, BLOCKS = (K + 31) / 32, ROW = 11 * BLOCKS };

/* The instruction sets of isas.h, followed by AMX with emulated tiles. */
enum { RUNTIMES = ISAS + 1 };

static const struct cr_runtime *runtime(int i)
{
    return i < ISAS ? cr_runtime_select(isas[i]) : emulated_amx();
}

/* Returns a number from -3 to 3; magnitudes vary. */
static float number(int i)
{
    return sinf((float)i) * (i % 7 ? 3.0f : 0.01f);
}

/* ---- rows ---- */

/* A row rounded to int8, by its parts. */
struct row {
    signed char integers[32 * BLOCKS];
    float scale[BLOCKS];
    int start[BLOCKS];
    float sum[BLOCKS];
};

_Static_assert(sizeof(struct row) == ROW * sizeof(int), "as round_int8 lays them out");

/* Rounds the row x to int8, as runtime.h defines round_int8. */
static void round_row(struct row *y, const float *x)
{
    memset(y, 0, sizeof *y);
    for (int b = 0; b < BLOCKS; b++) {
        float top = 0;
        int end = 32 * b + 32 < K ? 32 * b + 32 : K, sum = 0, lost = 0;
        for (int k = 32 * b; k < end; k++) {
            lost |= !isfinite(x[k]);
            top = fmaxf(top, fabsf(x[k]));
        }
        y->scale[b] = lost ? NAN : top < 0x1p-100f ? 0 : top / 127;
        for (int k = 32 * b; k < end && y->scale[b] > 0; k++) {
            volatile float product = x[k] * (127 / top);
            sum += y->integers[k] = (signed char)nearbyintf(product);
        }
        y->start[b] = -128 * sum;
        y->sum[b] = y->scale[b] * (float)sum;
    }
}

static float rows[M * K];

/* Fills the rows: blocks of zeros, of tiny and of huge numbers, and ties. */
static void make_rows(void)
{
    for (int i = 0; i < M * K; i++)
        rows[i] = number(i);
    for (int k = 0; k < 32; k++) {
        rows[1 * K + k] = k % 2 ? 0.0f : -0.0f;
        rows[2 * K + k] = number(k) * 0x1p-102f; /* too small to have a scale */
        rows[3 * K + k] = number(k) * 0x1p-99f;
        rows[4 * K + k] = number(k) * 0x1p126f;
        rows[5 * K + k] = (float)(k * 8) - 127 + 0.5f; /* of which some lie half-way */
        rows[6 * K + k] = k == 9 ? 0x1.fffffep127f : 1;
    }
    rows[5 * K + 3] = 127;
    rows[7 * K + 40] = NAN;
    rows[8 * K + K - 1] = INFINITY;
    rows[9 * K] = -INFINITY;
}

/* Returns true if two numbers have the same bits, or both are NaN. */
static bool alike(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void compare_rows(const struct row *a, const struct row *b, int m)
{
    ck_assert_msg(memcmp(a->integers, b->integers, sizeof a->integers) == 0, "row %d", m);
    ck_assert_mem_eq(a->start, b->start, sizeof a->start);
    for (int i = 0; i < BLOCKS; i++)
        ck_assert_msg(alike(a->scale[i], b->scale[i]) && alike(a->sum[i], b->sum[i]),
                      "row %d, block %d: %g %g, expected %g %g", m, i, (double)a->scale[i],
                      (double)a->sum[i], (double)b->scale[i], (double)b->sum[i]);
}

START_TEST(rows_are_rounded)
{
    const struct cr_runtime *rt = runtime(_i);
    static struct row y[M], expected;
    static float turned[K * M], back[K];
    make_rows();
    for (int i = 0; i < M * K; i++)
        turned[i % K * M + i / K] = rows[i];
    for (int way = 0; rt && way < 2; way++) {
        memset(y, 0x55, sizeof y);
        rt->round_int8(M, K, (int *)y, ROW, way ? turned : rows, way ? 1 : K, way ? M : 1);
        for (int m = 0; m < M; m++) {
            round_row(&expected, rows + m * K);
            compare_rows(&y[m], &expected, m);
        }
        rt->read_int8(K, back, (const int *)&y[0]);
        for (int k = 0; k < K; k++)
            ck_assert(alike(back[k], y[0].scale[k / 32] * (float)y[0].integers[k]));
    }
}
END_TEST

/* ---- products ---- */

static float half(const unsigned char *p)
{
    int bits = p[0] | p[1] << 8, exponent = bits >> 10 & 31;
    float size = ldexpf((float)(exponent ? (bits & 1023) | 1024 : bits & 1023),
                        exponent ? exponent - 25 : -24);
    size = exponent == 31 ? NAN : size;
    return bits >> 15 ? -size : size;
}

/* Returns element (k, n) of a panel's block, as an integer. */
static int weight(bool nibbles, const unsigned char *block, int k, int n)
{
    if (!nibbles)
        return block[k / 4 * 128 + n * 4 + k % 4] - 128;
    return block[k / 8 * 128 + n * 4 + k % 4] >> (k % 8 / 4 * 4) & 15;
}

static float product(bool nibbles, const struct row *row, const unsigned char *panel, int n)
{
    float c = 0;
    for (int b = 0; b < BLOCKS; b++) {
        const unsigned char *block = panel + b * (nibbles ? 640 : 1088);
        const unsigned char *scales = block + (nibbles ? 512 : 1024);
        volatile float scale = row->scale[b] * half(scales + 2 * n);
        int sum = 0;
        for (int k = 0; k < 32; k++)
            sum += row->integers[32 * b + k] * weight(nibbles, block, k, n);
        c = fmaf((float)sum, scale, c);
        if (nibbles)
            c = fmaf(half(scales + 64 + 2 * n), row->sum[b], c);
    }
    return c;
}

enum { PANEL = 1088 * BLOCKS };

/* Fills panels with random bytes, padding included, so that integers go down to -128; scales are of
 * every magnitude, some NaN. */
static void make_panels(bool nibbles, unsigned char *panels)
{
    unsigned state = 1;
    int bytes = nibbles ? 512 : 1024, block = bytes + (nibbles ? 128 : 64);
    for (int i = 0; i < COLUMNS / 32 * PANEL; i++) {
        state = state * 1664525u + 1013904223u;
        panels[i] = (unsigned char)(state >> 24);
    }
    for (int i = 0; i < COLUMNS / 32 * PANEL; i += PANEL)
        for (int b = 0; b < BLOCKS; b++)
            for (int s = i + b * block + bytes + 1; s < i + (b + 1) * block; s += 2)
                panels[s] = panels[s] == 77 ? 0x7e : panels[s] & 0xbf;
}

/* Checks a product of m rows and n columns; memory beside the result must not change. */
static void check_product(const struct cr_runtime *rt, bool nibbles, const struct row *a, int m, int n)
{
    static unsigned char panels[COLUMNS / 32 * PANEL];
    static float c[M * COLUMNS];
    make_panels(nibbles, panels);
    for (int i = 0; i < M * COLUMNS; i++)
        c[i] = 7;
    (nibbles ? rt->gemm_q4_int8 : rt->gemm_q8_int8)(m, n, K, (const int *)a, ROW, panels, PANEL, c,
                                                    COLUMNS, 128);
    for (int i = 0; i < M * COLUMNS; i++) {
        int r = i / COLUMNS, col = i % COLUMNS;
        float expected = 7;
        if (r < m && col < n)
            expected = product(nibbles, &a[r], panels + col / 32 * PANEL, col % 32);
        ck_assert_msg(alike(c[i], expected), "%s, %d rows of %d, [%d, %d]: %.9g, expected %.9g",
                      rt->isa, m, n, r, col, (double)c[i], (double)expected);
    }
}

START_TEST(products_are_exact)
{
    const struct cr_runtime *rt = runtime(_i / 2);
    static struct row a[M];
    if (!rt)
        return;
    make_rows();
    rt->round_int8(M, K, (int *)a, ROW, rows, K, 1);
    for (int m = 1; m <= M; m++)
        check_product(rt, _i % 2, a, m, m % 2 ? N : 64);
    for (int n = 1; n <= N; n++)
        check_product(rt, _i % 2, a, 5, n);
}
END_TEST

/* The largest possible sums are exact: they would overflow in 16 bits, and with saturating
 * instructions. */
START_TEST(sums_do_not_saturate)
{
    const struct cr_runtime *rt = runtime(_i);
    static struct row a[1];
    static unsigned char panel[PANEL];
    float x[K], c[32];
    for (int k = 0; k < K; k++)
        x[k] = -127;
    memset(panel, 0, sizeof panel);
    for (int b = 0; b < BLOCKS; b++)
        for (int n = 0; n < 32; n++)
            panel[b * 1088 + 1024 + 2 * n + 1] = 0x3c; /* 1 */
    if (!rt)
        return;
    rt->round_int8(1, K, (int *)a, ROW, x, K, 1);
    rt->gemm_q8_int8(1, 32, K, (const int *)a, ROW, panel, PANEL, c, 32, 0);
    for (int n = 0; n < 32; n++)
        ck_assert_float_eq(c[n], 127.0f * 128 * K);
}
END_TEST

int main(void)
{
    report_missing_isas("test_int8_products");
    Suite *suite = suite_create("int8_products");
    TCase *tests = tcase_create("int8");
    SRunner *runner = srunner_create(suite);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, rows_are_rounded, 0, RUNTIMES);
    tcase_add_loop_test(tests, products_are_exact, 0, 2 * RUNTIMES);
    tcase_add_loop_test(tests, sums_do_not_saturate, 0, RUNTIMES);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
