/*
 * test_quantised.c - weights in q8 and q4: how every instruction set rounds, packs, decodes,
 * gathers and multiplies them.
 *
 * What is expected is worked out here from the definitions in runtime.h and q4.inc, number by
 * number, without anything of the runtime.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/quantised_columns.h"
#include "runtime/runtime.h"
#include "runtime/select_runtime.h"

enum { K = 299, N = 70, COLUMNS = 96, FIRST = 7, BLOCKS = 10, BLOCK = 32, MOST_ROWS = 26 };

static const char *const isas[] = {"plain", "avx2", "avx512", "neon"};

enum { ISAS = sizeof isas / sizeof *isas };

/* ---- a format ---- */

typedef void pack_function(long rows, long cols, unsigned char *y, long panel_stride, long first,
                           int last, const float *b, long rs, long cs);
typedef void unpack_function(long rows, long cols, float *y, long ldy, const unsigned char *b,
                             long panel_stride);
typedef void gemm_function(long M, long cols, long depth, const float *a, long rs, long cs,
                           const unsigned char *b, long panel_stride, float *c, long ldc,
                           const float *start, long lds, const float *bias, long vectors, long ahead);
typedef void gather_function(long rows, long cols, float *y, long ldy, const unsigned char *panels,
                             long panel_stride, long table_rows, const int *index);

struct format {
    int bits;
    long bytes; /* of a panel's block */
    pack_function *pack;
    unpack_function *unpack;
    gemm_function *gemm;
    gather_function *gather;
};

/* Finds format and instruction set number i; false if the machine lacks the instruction set. */
static bool find_format(int i, struct format *f, const struct cr_runtime **rt)
{
    *rt = cr_runtime_select(isas[i / 2]);
    if (!*rt)
        return false;
    const struct cr_runtime *r = *rt;
    *f = i % 2 ? (struct format){4, 640, r->pack_q4, r->unpack_q4, r->gemm_q4, r->gather_q4}
               : (struct format){8, 1088, r->pack_q8, r->unpack_q8, r->gemm_q8, r->gather_q8};
    return true;
}

/* ---- the definitions ---- */

/* Returns the f16 value nearest to x, ties to even; infinite if it overflows. */
static float round_f16(float x)
{
    int exponent;
    if (!isfinite(x) || x == 0)
        return x;
    frexpf(x, &exponent);
    double unit = ldexp(1, exponent - 11 < -24 ? -24 : exponent - 11);
    double rounded = nearbyint((double)x / unit) * unit;
    return fabs(rounded) > 65504 ? copysignf(INFINITY, x) : (float)rounded;
}

/* An encoded block: scale d, minimum m, the integers q of q8 or q4, and the decoded values. */
struct block {
    float d, m;
    int q[BLOCK];
    float value[BLOCK];
};

static void refuse(struct block *b)
{
    b->d = NAN;
    b->m = 0;
    for (int k = 0; k < BLOCK; k++) {
        b->q[k] = 0;
        b->value[k] = NAN;
    }
}

static void define_q8(struct block *b, const float *w, int n)
{
    float most = 0;
    bool finite = true;
    for (int k = 0; k < n; k++) {
        most = fmaxf(most, fabsf(w[k]));
        finite &= isfinite(w[k]) != 0;
    }
    b->d = round_f16(most / 127);
    if (!finite || !isfinite(b->d)) {
        refuse(b);
        return;
    }
    for (int k = 0; k < BLOCK; k++) {
        float q = k < n && b->d != 0 ? nearbyintf(w[k] / b->d) : 0;
        b->q[k] = (int)fmaxf(-127, fminf(127, q));
        b->value[k] = b->d * (float)b->q[k];
    }
}

static int code_q4(float w, float d, float m)
{
    float q = d != 0 ? (w - m) * (1 / d) : 0;
    return (int)nearbyintf(fmaxf(0, fminf(15, q)));
}

/* Tries scale d and minimum m for a q4 block: stores them if their error is smaller, and writes the
 * sums of a least-squares fit to `sums`. */
static void try_q4(struct block *b, const float *w, int n, float low, float d, float m,
                   float *error, float sums[3])
{
    float sum = 0;
    d = round_f16(d);
    m = round_f16(m);
    sums[0] = sums[1] = sums[2] = 0;
    for (int k = 0; k < n && isfinite(d) && isfinite(m); k++) {
        float q = (float)code_q4(w[k], d, m), off = w[k] - (d * q + m);
        sum += off * off;
        sums[0] += q;
        sums[1] += q * q;
        sums[2] += q * (w[k] - low);
    }
    if (isfinite(d) && isfinite(m) && sum < *error) {
        *error = sum;
        b->d = d;
        b->m = m;
    }
}

static void define_q4(struct block *b, const float *w, int n)
{
    float low = w[0], high = w[0], sum_y = 0, error = INFINITY, s[3];
    bool finite = true;
    for (int k = 0; k < n; k++) {
        low = fminf(low, w[k]);
        high = fmaxf(high, w[k]);
        finite &= isfinite(w[k]) != 0;
    }
    for (int k = 0; k < n; k++)
        sum_y += w[k] - low;
    b->d = NAN;
    for (int r = 15; r <= 17 && finite; r++) {
        float d = (high - low) / (float)r, m = low + ((high - low) - 15 * d) * 0.5f;
        for (int i = 0; i < 3; i++) {
            try_q4(b, w, n, low, d, m, &error, s);
            d = ((float)n * s[2] - s[0] * sum_y) / ((float)n * s[1] - s[0] * s[0]);
            m = low + (sum_y - d * s[0]) / (float)n;
        }
    }
    if (isnan(b->d)) {
        refuse(b);
        return;
    }
    for (int k = 0; k < BLOCK; k++) {
        b->q[k] = k < n ? code_q4(w[k], b->d, b->m) : 0;
        b->value[k] = b->d * (float)b->q[k] + b->m;
    }
}

static void define(int bits, struct block *b, const float *w, int n)
{
    if (bits == 8)
        define_q8(b, w, n);
    else
        define_q4(b, w, n);
}

/* ---- how bytes lie ---- */

static float half_at(const unsigned char *p)
{
    int bits = p[0] | p[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(fraction + 1024, exponent - 25);
    return (float)(bits >> 15 ? -size : size);
}

static int code_at(int bits, const unsigned char *block, int k, int n)
{
    if (bits == 8)
        return block[k / 4 * 128 + n * 4 + k % 4] - 128;
    int byte = block[k / 8 * 128 + n * 4 + k % 4];
    return k % 8 < 4 ? byte & 15 : byte >> 4;
}

static bool same(float a, float b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

/* Checks a column of a panel's block against the definition. */
static void check_column(const struct format *f, const unsigned char *panel, int n, const float *w,
                         int rows)
{
    struct block b;
    for (int k = 0; k < rows; k += BLOCK, panel += f->bytes) {
        define(f->bits, &b, w + k, rows - k < BLOCK ? rows - k : BLOCK);
        float d = half_at(panel + 128 * f->bits + 2 * n);
        ck_assert_msg(same(d, b.d), "row %d column %d: d is %g, expected %g", k, n, d, b.d);
        if (f->bits == 4)
            ck_assert(same(half_at(panel + 576 + 2 * n), b.m));
        for (int i = 0; i < BLOCK; i++)
            ck_assert_int_eq(code_at(f->bits, panel, i, n), b.q[i]);
    }
}

/* ---- single blocks ---- */

/* Returns number k of block i; the blocks test rounding, clamping, denormals, constants and NaN. */
static float example(int i, int k)
{
    float x = sinf((float)(k * k + i));
    switch (i) {
    case 0:
        return 0;
    case 1:
        return (float)(k * 8 - 127) + 0.5f; /* ties between integers; d is 1 */
    case 2:
        return k == 3 ? 127 : (float)k + 0.5f;
    case 3:
        return x * 0x1p-20f; /* d is denormal, and the rounded numbers are clamped */
    case 4:
        return x * 0x1p-30f; /* d is 0 */
    case 5:
        return 3.3f; /* constant */
    case 6:
        return k == 9 ? NAN : x;
    case 7:
        return k == 31 ? -INFINITY : x;
    case 8:
        return k == 0 ? 65519.0f * 127 : x * 60000; /* d of q8 just fits */
    case 9:
        return k == 0 ? 65520.0f * 127 : 0; /* d overflows */
    case 10:
        return 70000 + x; /* m overflows */
    case 11:
        return x + 20; /* far from 0 */
    case 12:
        return k % 2 ? -0.0f : 0;
    case 13:
        return k ? x * 0.01f : -40; /* one far from the others */
    case 14:
        return (float)(k % 16) * 0.25f - 2; /* q4 represents each of them exactly */
    case 15:
        return k == 7 ? 3e38f : -3e38f; /* their distance overflows */
    default:
        return x * x * x * ldexpf(1, i % 23 - 12);
    }
}

START_TEST(blocks_are_rounded_as_defined)
{
    enum { EXAMPLES = COLUMNS };
    const struct cr_runtime *rt;
    struct format f;
    static unsigned char panels[3 * 1088];
    static float b[BLOCK * EXAMPLES], column[BLOCK];
    if (!find_format(_i, &f, &rt))
        return;
    for (int rows = BLOCK; rows > 0; rows -= 31) {
        for (int i = 0; i < rows * EXAMPLES; i++)
            b[i] = example(i % EXAMPLES, i / EXAMPLES);
        f.pack(rows, EXAMPLES, panels, f.bytes, 0, 1, b, EXAMPLES, 1);
        for (int n = 0; n < EXAMPLES; n++) {
            for (int k = 0; k < rows; k++)
                column[k] = example(n, k);
            check_column(&f, panels + n / 32 * f.bytes, n % 32, column, rows);
        }
    }
}
END_TEST

/* ---- matrices ---- */

static float number(int i)
{
    return sinf((float)i) * 3;
}

/* Packs N columns from FIRST on, given by rows or transposed, into panels filled with 0x55. */
static void pack(const struct format *f, unsigned char *panels, int last, bool turned)
{
    static float b[K * N];
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++)
            b[turned ? n * K + k : k * N + n] = number(k * N + n);
    memset(panels, 0x55, (size_t)(BLOCKS * COLUMNS / 32 * f->bytes));
    if (turned)
        f->pack(K, N, panels, BLOCKS * f->bytes, FIRST, last, b, 1, K);
    else
        f->pack(K, N, panels, BLOCKS * f->bytes, FIRST, last, b, N, 1);
}

static bool is_untouched(const struct format *f, const unsigned char *panel, int n)
{
    bool same_bytes = true;
    for (int i = 0; i < BLOCKS; i++, panel += f->bytes) {
        for (int g = 0; g < f->bits * 4; g++)
            same_bytes &= panel[g / 4 * 128 + n * 4 + g % 4] == 0x55;
        for (int h = 128 * f->bits; h < f->bytes; h += 64)
            same_bytes &= panel[h + 2 * n] == 0x55 && panel[h + 2 * n + 1] == 0x55;
    }
    return same_bytes;
}

START_TEST(keeps_what_is_beside)
{
    static unsigned char panels[BLOCKS * 3 * 1088];
    const struct cr_runtime *rt;
    struct format f;
    float column[K];
    int last = _i % 2;
    if (!find_format(_i / 4, &f, &rt))
        return;
    pack(&f, panels, last, _i / 2 % 2);
    for (int n = 0; n < COLUMNS; n++) {
        const unsigned char *panel = panels + n / 32 * BLOCKS * f.bytes;
        bool inside = n >= FIRST && n < FIRST + N;
        for (int k = 0; k < K; k++)
            column[k] = inside ? number(k * N + n - FIRST) : 0;
        if (inside || (last && n >= FIRST))
            check_column(&f, panel, n % 32, column, K);
        else
            ck_assert_msg(is_untouched(&f, panel, n % 32), "column %d", n);
    }
}
END_TEST

/* A matrix packed as two pieces side by side, each in parts of whole blocks, has the bytes of the
 * matrix packed at once. */
START_TEST(pieces_are_one_matrix)
{
    static unsigned char whole[BLOCKS * 3 * 1088], pieces[BLOCKS * 3 * 1088];
    static float b[K * COLUMNS];
    const struct cr_runtime *rt;
    struct format f;
    if (!find_format(_i, &f, &rt))
        return;
    for (int i = 0; i < K * COLUMNS; i++)
        b[i] = number(i);
    long stride = BLOCKS * f.bytes;
    f.pack(K, COLUMNS, whole, stride, 0, 1, b, COLUMNS, 1);
    for (int k = 0; k < K; k += 2 * BLOCK) {
        int rows = K - k < 2 * BLOCK ? K - k : 2 * BLOCK;
        unsigned char *to = pieces + k / BLOCK * f.bytes;
        f.pack(rows, 39, to, stride, 0, 0, b + k * COLUMNS, COLUMNS, 1);
        f.pack(rows, COLUMNS - 39, to, stride, 39, 1, b + k * COLUMNS + 39, COLUMNS, 1);
    }
    ck_assert_mem_eq(whole, pieces, (size_t)(COLUMNS / 32 * stride));
}
END_TEST

/* Computes the matrix that `pack` packs as it is decoded, by definition. */
static void define_matrix(const struct format *f, float *y)
{
    struct block b;
    float w[BLOCK];
    for (int n = 0; n < COLUMNS; n++)
        for (int k = 0; k < K; k++) {
            int rows = K - k < BLOCK ? K - k : BLOCK;
            bool inside = n >= FIRST && n < FIRST + N;
            for (int i = 0; i < rows && k % BLOCK == 0; i++)
                w[i] = inside ? number((k + i) * N + n - FIRST) : 0;
            if (k % BLOCK == 0)
                define(f->bits, &b, w, rows);
            y[k * COLUMNS + n] = b.value[k % BLOCK];
        }
}

/* Unpacking returns the packed columns; columns before FIRST keep their contents. */
START_TEST(reads_back_what_it_packed)
{
    static unsigned char panels[BLOCKS * 3 * 1088];
    static float y[K * COLUMNS], defined[K * COLUMNS], row[K];
    static const int index[] = {FIRST, -1, 50, COLUMNS, FIRST + N - 1, 31, 32};
    const struct cr_runtime *rt;
    struct format f;
    if (!find_format(_i, &f, &rt))
        return;
    pack(&f, panels, 1, false);
    define_matrix(&f, defined);
    f.unpack(K, COLUMNS - 1, y, COLUMNS, panels, BLOCKS * f.bytes);
    for (int k = 0; k < K; k++)
        for (int n = FIRST; n < COLUMNS - 1; n++)
            ck_assert_float_eq(y[k * COLUMNS + n], defined[k * COLUMNS + n]);
    for (size_t i = 0; i < sizeof index / sizeof *index; i++) {
        f.gather(1, K, row, K, panels, BLOCKS * f.bytes, COLUMNS, index + i);
        for (int k = 0; k < K; k++)
            if (index[i] < 0 || index[i] >= COLUMNS)
                ck_assert_float_nan(row[k]);
            else
                ck_assert_float_eq(row[k], defined[k * COLUMNS + index[i]]);
    }
}
END_TEST

/* Checks products for one row, a few and many, with and without a start and a bias, and for a by
 * rows and transposed. */
static void check_product(const struct format *f, const struct cr_runtime *rt,
                          const unsigned char *panels, const float *wide, int rows, int cols,
                          int depth)
{
    static float a[MOST_ROWS * K], start[MOST_ROWS * COLUMNS];
    static float c[MOST_ROWS * COLUMNS], d[MOST_ROWS * COLUMNS];
    for (int i = 0; i < MOST_ROWS * K; i++)
        a[i] = number(-i);
    for (int i = 0; i < MOST_ROWS * COLUMNS; i++)
        start[i] = number(i * 3);
    for (int way = 0; way < 8; way++) {
        const float *from = way & 1 ? start : NULL, *bias = way & 2 ? start + 7 : NULL;
        long rs = way & 4 ? 1 : K, cs = way & 4 ? MOST_ROWS : 1;
        memset(c, 0x55, sizeof c);
        memset(d, 0x55, sizeof d);
        f->gemm(rows, cols, depth, a, rs, cs, panels, BLOCKS * f->bytes, c, COLUMNS, from, COLUMNS,
                bias, 0, 0);
        rt->gemm(rows, cols, depth, a, rs, cs, wide, K * CR_PANEL, d, COLUMNS, from, COLUMNS, bias, 0, 0);
        ck_assert_mem_eq(c, d, sizeof c);
    }
}

START_TEST(multiplies_as_gemm_does)
{
    static const int rows[] = {1, 2, 3, 4, 5, 6, 7, 8, MOST_ROWS};
    static const int depths[] = {K, 64, 31, 3};
    static unsigned char panels[BLOCKS * 3 * 1088];
    static float wide[K * COLUMNS], b[K * COLUMNS];
    const struct cr_runtime *rt;
    struct format f;
    if (!find_format(_i, &f, &rt))
        return;
    for (int i = 0; i < K * COLUMNS; i++)
        b[i] = i % COLUMNS == 5 && i < 8 * COLUMNS ? NAN : number(i);
    f.pack(K, COLUMNS, panels, BLOCKS * f.bytes, 0, 1, b, COLUMNS, 1);
    for (int p = 0; p < COLUMNS / CR_PANEL; p++)
        f.unpack(K, CR_PANEL, wide + p * K * CR_PANEL, CR_PANEL, panels + p * BLOCKS * f.bytes, 0);
    for (int cols = 1; cols <= COLUMNS; cols += 19)
        for (size_t m = 0; m < sizeof rows / sizeof *rows; m++)
            for (size_t k = 0; k < sizeof depths / sizeof *depths; k++)
                check_product(&f, rt, panels, wide, rows[m], cols, depths[k]);
}
END_TEST

/* ---- blocks of GGUF ---- */

/* Returns number k of a block of a GGUF file. */
static float file_number(enum cr_quantised type, const unsigned char *block, int k)
{
    float d = half_at(block);
    if (type == CR_Q8_0)
        return d * (float)(signed char)block[2 + k];
    const unsigned char *bytes = block + (type == CR_Q4_0 ? 2 : 4);
    int q = k < 16 ? bytes[k] & 15 : bytes[k - 16] >> 4;
    return type == CR_Q4_0 ? d * (float)(q - 8) : fmaf(d, (float)q, half_at(block + 2));
}

/* Scales in f16: common ones, denormal and negative ones, zeros, the largest for which -8 d is
 * finite and the next one, infinity, NaN. */
static const unsigned scales[] = {0x3c00, 0x2a3b, 0xa123, 0x0001, 0x8003, 0x007f,
                                  0x0080, 0x01ff, 0x03ff, 0x0400, 0x83ff, 0x0000,
                                  0x8000, 0x6fff, 0x7000, 0x7c00, 0xfe01};

START_TEST(blocks_of_files_stay_as_they_are)
{
    enum { SCALES = sizeof scales / sizeof *scales, MOST = 34 };
    enum cr_quantised type = (enum cr_quantised)(_i % CR_QUANTISED_COUNT);
    static unsigned char blocks[SCALES * MOST], panel[SCALES * 1088];
    static float y[SCALES * BLOCK * CR_PANEL];
    const struct cr_runtime *rt;
    struct format f;
    int bytes = cr_quantised_bytes(type);
    if (!find_format(_i / CR_QUANTISED_COUNT * 2 + (type != CR_Q8_0), &f, &rt))
        return;
    for (int i = 0; i < SCALES * bytes; i++)
        blocks[i] = (unsigned char)(i * i * 37 + i * 11);
    for (int i = 0; i < SCALES; i++) {
        blocks[i * bytes] = (unsigned char)scales[i];
        blocks[i * bytes + 1] = (unsigned char)(scales[i] >> 8);
        blocks[i * bytes + 3] &= 0x3f; /* m of Q4_1 is finite */
    }
    f.pack(SCALES * BLOCK, 32, panel, 0, 0, 1, y, 0, 0);
    cr_place_quantised(type, blocks, SCALES, panel, 9);
    f.unpack(SCALES * BLOCK, CR_PANEL, y, CR_PANEL, panel, 0);
    for (int k = 0; k < SCALES * BLOCK; k++) {
        float x = file_number(type, blocks + k / BLOCK * bytes, k % BLOCK);
        bool fits = fabsf(half_at(blocks + k / BLOCK * bytes)) < (type == CR_Q4_0 ? 8192 : 65536);
        ck_assert_msg(same(y[k * CR_PANEL + 9], fits ? x : NAN), "%d: %g, expected %g", k,
                      y[k * CR_PANEL + 9], x);
        ck_assert_float_eq(y[k * CR_PANEL + 8], 0);
        ck_assert_float_eq(y[k * CR_PANEL + 10], 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantised");
    TCase *tests = tcase_create("quantised");
    SRunner *runner = srunner_create(suite);
    tcase_add_loop_test(tests, blocks_are_rounded_as_defined, 0, 2 * ISAS);
    tcase_add_loop_test(tests, keeps_what_is_beside, 0, 8 * ISAS);
    tcase_add_loop_test(tests, pieces_are_one_matrix, 0, 2 * ISAS);
    tcase_add_loop_test(tests, reads_back_what_it_packed, 0, 2 * ISAS);
    tcase_add_loop_test(tests, multiplies_as_gemm_does, 0, 2 * ISAS);
    tcase_add_loop_test(tests, blocks_of_files_stay_as_they_are, 0, CR_QUANTISED_COUNT * ISAS);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
