/*
 * test_runtime.c - the runtime's functions, its pool of threads and its random numbers.
 *
 * Every function is run for every instruction set that this machine has, compared with a
 * definition written out here, and must give the same bits for all of them.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler/exec/random_fill.h"
#include "runtime/philox.h"
#include "runtime/pool.h"
#include "runtime/runtime.h"
#include "tests/isas.h"
#include "tests/tile_columns.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- values ---- */

static const float special[] = {
    0.0f,      -0.0f,     1.0f,       -1.0f,     INFINITY,  -INFINITY, NAN,       FLT_MIN,
    -FLT_MIN,  0x1p-149f, -0x1p-149f, 0x1p-130f, FLT_MAX,   -FLT_MAX,  88.7228f,  88.8f,
    -87.3365f, -103.9f,   -104.1f,    3.95f,     -9.0109f,  0x1p24f,   0.34657f,  -0.34658f,
    1e-20f,    0.70710f,  1.41421f,   2.0f,      0x1.8p23f, -0.5f,     -0x1p-30f, 1000.0f,
};

/* Returns number i of a sequence that mixes special values, numbers of all magnitudes and small
 * ones. */
static float mixed(unsigned stream, unsigned i)
{
    const uint32_t counter[4] = {i, stream, 0, 0}, key[2] = {7, 7};
    uint32_t out[4];
    float value;
    cr_philox_block(counter, key, out);
    switch (out[0] % 4) {
    case 0:
        return special[out[1] % COUNT(special)];
    case 1:
        memcpy(&value, &out[1], sizeof value);
        return value;
    default:
        return ((float)(out[1] >> 8) * 0x1p-24f - 0.5f) * (float)(1 << out[2] % 8);
    }
}

static float tame(unsigned stream, unsigned i)
{
    return cr_philox_uniform(11, stream, i) - 0.5f;
}

static float *filled(size_t n, float (*value)(unsigned, unsigned), unsigned stream)
{
    float *p = malloc((n ? n : 1) * sizeof *p);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < n; i++) {
        p[i] = value(stream, (unsigned)i);
    }
    return p;
}

/* Like ck_assert, but for inner loops: it calls the test runner only on failure. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg(__VA_ARGS__);                                                             \
        }                                                                                          \
    } while (0)

/* Returns true for equal bits, or for two NaNs. */
static int same(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void assert_same(const float *got, const float *want, size_t n, const char *what,
                        const char *isa)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(same(got[i], want[i]), "%s, %s: element %zu is %a, not %a", what, isa, i, got[i],
              want[i]);
    }
}

/* Returns the distance of a float from the exact value, in units of the exact value's last
 * place. */
static double ulps(float got, double want)
{
    int exponent;
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got) ? 0 : 1e9;
    }
    if (isinf(got)) {
        return (double)got == want || (fabs(want) >= 0x1.ffffffp127 && want * got > 0) ? 0 : 1e9;
    }
    if (isinf(want)) {
        return 1e9;
    }
    frexp(want, &exponent);
    return fabs(got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

/* ---- elementwise functions (strips) ---- */

/* The macros of the table's expressions, in double precision. */
#define CR_ONE 1.0
#define CR_FLOAT(a) (a)
#define CR_ABS(a) fabs(a)
#define CR_EXP(a) exp(a)
#define CR_LOG(a) log(a)
#define CR_SQRT(a) sqrt(a)
#define CR_TANH(a) tanh(a)
#define CR_ERF(a) erf(a)
#define CR_SIGMOID(a) (1.0 / (1.0 + exp(-(a))))
#define CR_SIN(a) sin(a)
#define CR_COS(a) cos(a)
#define CR_FLOOR(a) floor(a)
#define CR_NEAREST(a) rint(a)
#define CR_POW(a, b) pow(a, b)
#define CR_FMA(a, b, c) fma(a, b, c)
#define CR_MAX(a, b) (isnan(a) ? (a) : isnan(b) ? (b) : fmax(a, b))
#define CR_MIN(a, b) (isnan(a) ? (a) : isnan(b) ? (b) : fmin(a, b))
#define CR_FLOOR_DIVIDE(a, b) floor((float)((float)(a) / (float)(b)))
#define CR_REMAINDER(a, b) modulo(a, b)
#define CR_INT(a) ((a) >= -0x1p31 && (a) < 0x1p31 ? trunc(a) : -0x1p31)
#define CR_LT(a, b) ((a) < (b) ? 1.0 : 0.0)
#define CR_LE(a, b) ((a) <= (b) ? 1.0 : 0.0)
#define CR_EQ(a, b) ((a) == (b) ? 1.0 : 0.0)
#define CR_SELECT(a, b, c) ((a) != 0.0 ? (b) : (c))

/* Returns a modulo b, with the sign of b. */
static double modulo(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

#define DEFINITION(name, arity, rule, expression, description)                                     \
    static double define_##name(double a, double b, double c)                                      \
    {                                                                                              \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        return (expression);                                                                       \
    }
CR_ELEMENTWISE(DEFINITION)

/* One function of the table: an op, and a letter for the form of each operand. */
struct strip {
    const char *name, *letters;
    double (*define)(double a, double b, double c);
    cr_map1 *f1;
    cr_map2 *f2;
    cr_map3 *f3;
};

enum { MAX_STRIPS = 1024 };

/* clang-format off */
#define LIST_1(name) {#name, "v", define_##name, k->name##_v, NULL, NULL},
#define LIST_2(name)                                                                               \
    {#name, "vv", define_##name, NULL, k->name##_vv, NULL},                                        \
    {#name, "vs", define_##name, NULL, k->name##_vs, NULL},                                        \
    {#name, "sv", define_##name, NULL, k->name##_sv, NULL},
#define LIST_3(name)                                                                               \
    {#name, "vvv", define_##name, NULL, NULL, k->name##_vvv},                                      \
    {#name, "vvs", define_##name, NULL, NULL, k->name##_vvs},                                      \
    {#name, "vsv", define_##name, NULL, NULL, k->name##_vsv},                                      \
    {#name, "vss", define_##name, NULL, NULL, k->name##_vss},                                      \
    {#name, "svv", define_##name, NULL, NULL, k->name##_svv},                                      \
    {#name, "svs", define_##name, NULL, NULL, k->name##_svs},                                      \
    {#name, "ssv", define_##name, NULL, NULL, k->name##_ssv},
#define LIST(name, arity, rule, expression, description) LIST_##arity(name)
/* clang-format on */

/* All strips of an instruction set; returns how many. */
static int list_strips(const struct cr_runtime *k, struct strip *list)
{
    const struct strip all[] = {CR_ELEMENTWISE(LIST)};
    ck_assert_int_le(COUNT(all), MAX_STRIPS);
    memcpy(list, all, sizeof all);
    return COUNT(all);
}

/* The tiles of a call: the result y and three operands. */
struct tiles {
    long rows, cols, ldy, ld[3];
    float *y;
    const float *x[3];
};

static void call_strip(const struct strip *s, const struct tiles *t)
{
    if (s->f1) {
        s->f1(t->rows, t->cols, t->y, t->ldy, t->x[0], t->ld[0]);
    } else if (s->f2) {
        s->f2(t->rows, t->cols, t->y, t->ldy, t->x[0], t->ld[0], t->x[1], t->ld[1]);
    } else {
        s->f3(t->rows, t->cols, t->y, t->ldy, t->x[0], t->ld[0], t->x[1], t->ld[1], t->x[2],
              t->ld[2]);
    }
}

/* Checks each element of a result against the definition, and that gaps between rows are not
 * written. */
static void check_strip(const struct strip *s, const struct tiles *t, const float *before)
{
    for (long i = 0; i < t->rows * t->ldy; i++) {
        double x[3] = {0, 0, 0};
        long r = i / t->ldy, c = i % t->ldy;
        if (c >= t->cols) {
            CHECK(same(t->y[i], before[i]), "%s_%s wrote past column %ld", s->name, s->letters,
                  t->cols);
            continue;
        }
        for (int j = 0; s->letters[j]; j++) {
            x[j] = t->x[j][r * t->ld[j] + (s->letters[j] == 'v' ? c : 0)];
        }
        double want = s->define(x[0], x[1], x[2]);
        CHECK(ulps(t->y[i], want) <= 2.5, "%s_%s(%a, %a, %a) is %a, not %a", s->name, s->letters,
              x[0], x[1], x[2], t->y[i], want);
    }
}

/* Runs a strip function of the plain runtime and of another one, whose results must agree. */
static void compare_strip(const struct strip *plain, const struct strip *other, struct tiles t,
                          const char *isa)
{
    size_t n = (size_t)(t.rows * t.ldy);
    float *before = filled(n, mixed, 9), *want = filled(n, mixed, 9), *got = filled(n, mixed, 9);
    t.y = want;
    call_strip(plain, &t);
    check_strip(plain, &t, before);
    t.y = got;
    call_strip(other, &t);
    assert_same(got, want, n, plain->name, isa);
    if (plain->letters[0] == 'v' && t.ld[0] == t.ldy) { /* in place */
        memcpy(got, t.x[0], n * sizeof *got);
        t.x[0] = got;
        call_strip(other, &t);
        for (size_t i = 0; i < n; i++) {
            size_t c = i % (size_t)t.ldy;
            CHECK(c >= (size_t)t.cols || same(got[i], want[i]), "%s_%s in place, %s", plain->name,
                  plain->letters, isa);
        }
    }
    free(before);
    free(want);
    free(got);
}

/* Gaps between rows of y, a, b and c; -1: one row that repeats.  In some calls a single operand has
 * gaps, so that the rows of the others must not be taken for one long row. */
static const long gaps[][4] = {{0, 0, 0, 0}, {3, 3, 1, 0}, {0, 2, -1, 5}, {1, -1, 0, -1},
                               {0, 0, 3, 0}, {0, 0, 0, 2}, {0, -1, 0, 0}};

START_TEST(test_strips)
{
    struct strip plain[MAX_STRIPS], other[MAX_STRIPS];
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    if (!k) {
        return;
    }
    int n = list_strips(cr_runtime_select("plain"), plain);
    list_strips(k, other);
    enum { MAX_ROWS = 3, MAX_COLS = 70 };
    const float *x[3];
    for (unsigned j = 0; j < 3; j++) {
        x[j] = filled(MAX_ROWS * (MAX_COLS + 5), mixed, j);
    }
    for (int i = 0; i < n; i++) {
        for (long cols = 0; cols <= MAX_COLS; cols++) {
            const long *gap = gaps[(cols + i) % COUNT(gaps)];
            struct tiles t = {.rows = 1 + (cols + i / 4) % MAX_ROWS, .cols = cols};
            t.ldy = cols + gap[0] > 0 ? cols + gap[0] : 1;
            for (int j = 0; j < 3; j++) {
                t.ld[j] = gap[j + 1] < 0 ? 0 : cols + gap[j + 1];
                t.x[j] = x[j];
            }
            compare_strip(&plain[i], &other[i], t, isas[_i]);
        }
    }
    for (int j = 0; j < 3; j++) {
        free((void *)x[j]);
    }
}
END_TEST

/* ---- accuracy of the elementary functions ---- */

#define MEMBER(name) offsetof(struct cr_runtime, name##_v)

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const struct {
    const char *name;
    size_t member;
    double (*exact)(double);
    double limit;
    float low, high; /* the range from which many arguments are drawn */
} functions[] = {
    {"exp", MEMBER(exp), exp, 1.1, -104.0f, 89.0f},
    {"log", MEMBER(log), log, 1.0, 0.25f, 4.0f},
    {"tanh", MEMBER(tanh), tanh, 2.0, -10.0f, 10.0f},
    {"erf", MEMBER(erf), erf, 2.0, -4.0f, 4.0f},
    {"sin", MEMBER(sin), sin, 1.5, -200.0f, 200.0f},
    {"cos", MEMBER(cos), cos, 1.5, -0x1p21f, 0x1p21f},
    {"floor", MEMBER(floor), floor, 0, -4.0f, 4.0f},
    {"round", MEMBER(round), rint, 0, -4.0f, 4.0f},
    {"sqrt", MEMBER(sqrt), sqrt, 0.5, 0.0f, 4.0f},
    {"sigmoid", MEMBER(sigmoid), sigmoid, 2.5, -104.0f, 17.0f},
};

static void check_accuracy(const struct cr_runtime *k, int f, const float *x, size_t n)
{
    float *y = malloc(n * sizeof *y);
    cr_map1 *function;
    memcpy(&function, (const char *)k + functions[f].member, sizeof function);
    function(1, (long)n, y, (long)n, x, (long)n);
    for (size_t i = 0; i < n; i++) {
        double want = functions[f].exact(x[i]);
        CHECK(ulps(y[i], want) <= functions[f].limit, "%s(%a) is %a, not %a: %.3f ulp",
              functions[f].name, x[i], y[i], want, ulps(y[i], want));
    }
    free(y);
}

START_TEST(test_accuracy)
{
    const struct cr_runtime *k = cr_runtime_select(NULL);
    enum { N = 1 << 18 };
    float *x = malloc(N * sizeof *x);
    for (uint32_t i = 0; i < N; i++) { /* all exponents and signs */
        uint32_t bits = i << 14 | (i * 2654435761u >> 18);
        memcpy(&x[i], &bits, sizeof bits);
    }
    check_accuracy(k, _i, x, N);
    for (uint32_t i = 0; i < N; i++) {
        float u = cr_philox_uniform(3, 0, i);
        x[i] = functions[_i].low + (functions[_i].high - functions[_i].low) * u;
    }
    check_accuracy(k, _i, x, N);
    check_accuracy(k, _i, special, COUNT(special));
    free(x);
}
END_TEST

/* Powers that the C standard defines beyond the formula, with the sign of a zero. */
START_TEST(test_powers)
{
    static const float more[] = {2.0f,        -2.0f, 3.0f,   -3.0f,       2.5f,        -2.5f,
                                 0.99999994f, 1e30f, -1e30f, 16777215.0f, -16777216.0f};
    const struct cr_runtime *k = cr_runtime_select(NULL);
    float x[COUNT(special) + COUNT(more)], y[COUNT(x)];
    memcpy(x, special, sizeof special);
    memcpy(x + COUNT(special), more, sizeof more);
    for (int i = 0; i < COUNT(x); i++) {
        k->pow_sv(1, COUNT(x), y, COUNT(x), &x[i], 0, x, COUNT(x));
        for (int j = 0; j < COUNT(x); j++) {
            double want = pow((double)x[i], (double)x[j]);
            CHECK(ulps(y[j], want) <= 1.5, "pow(%a, %a) is %a, not %a", x[i], x[j], y[j], want);
            CHECK(want != 0 || !signbit(want) == !signbit(y[j]), "pow(%a, %a) is %a, not %a", x[i],
                  x[j], y[j], want);
        }
    }
    for (unsigned i = 0; i < 1 << 18; i++) { /* results of all sizes */
        float a = 0.25f + 4 * cr_philox_uniform(3, 0, i), b, p;
        b = (cr_philox_uniform(3, 1, i) - 0.5f) * 200 / logf(a);
        k->pow_vv(1, 1, &p, 1, &a, 1, &b, 1);
        CHECK(ulps(p, pow((double)a, (double)b)) <= 1.5, "pow(%a, %a) is %a", a, b, p);
    }
}
END_TEST

static const struct {
    size_t member;
    float x, y;
} points[] = {
    {MEMBER(exp), 0.0f, 1.0f},
    {MEMBER(exp), -0.0f, 1.0f},
    {MEMBER(exp), -INFINITY, 0.0f},
    {MEMBER(exp), INFINITY, INFINITY},
    {MEMBER(exp), 89.0f, INFINITY},
    {MEMBER(exp), -104.0f, 0.0f},
    {MEMBER(exp), -103.0f, 0x1p-149f},
    {MEMBER(exp), NAN, NAN},
    {MEMBER(log), 1.0f, 0.0f},
    {MEMBER(log), 0.0f, -INFINITY},
    {MEMBER(log), -0.0f, -INFINITY},
    {MEMBER(log), -1.0f, NAN},
    {MEMBER(log), -INFINITY, NAN},
    {MEMBER(log), INFINITY, INFINITY},
    {MEMBER(log), NAN, NAN},
    {MEMBER(tanh), -0.0f, -0.0f},
    {MEMBER(tanh), 0x1p-149f, 0x1p-149f},
    {MEMBER(tanh), INFINITY, 1.0f},
    {MEMBER(tanh), -10.0f, -1.0f},
    {MEMBER(tanh), NAN, NAN},
    {MEMBER(sigmoid), -0.0f, 0.5f},
    {MEMBER(sigmoid), INFINITY, 1.0f},
    {MEMBER(sigmoid), -INFINITY, 0.0f},
    {MEMBER(sigmoid), -103.0f, 0x1p-149f},
    {MEMBER(sigmoid), NAN, NAN},
    {MEMBER(erf), -0.0f, -0.0f},
    {MEMBER(erf), INFINITY, 1.0f},
    {MEMBER(erf), -4.0f, -1.0f},
    {MEMBER(erf), NAN, NAN},
    {MEMBER(rsqrt), 0.0f, INFINITY},
    {MEMBER(rsqrt), -1.0f, NAN},
};

START_TEST(test_points)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    for (int i = 0; k && i < COUNT(points); i++) {
        cr_map1 *function;
        float y;
        memcpy(&function, (const char *)k + points[i].member, sizeof function);
        function(1, 1, &y, 1, &points[i].x, 1);
        CHECK(same(y, points[i].y), "point %d: f(%a) is %a, not %a", i, points[i].x, y,
              points[i].y);
    }
}
END_TEST

/* ---- reductions ---- */

/* Returns the larger number, or NaN if either is NaN; of two zeros, +0 if either is +0. */
static float larger(float a, float b)
{
    return isnan(b) ? b : b > a || (b == a && !signbit(b)) ? b : a;
}

/* The macros of the table's expressions, for float. */
#undef CR_MAX
#undef CR_MIN
#define CR_MAX(a, b) (isnan(a) ? (a) : larger(a, b))
#define CR_MIN(a, b) (isnan(a) ? (a) : -larger(-(a), -(b)))
#define CR_LOWEST (-INFINITY)
#define CR_HIGHEST INFINITY
#define COMBINE(name, rule, identity, combine, description)                                        \
    static float combine_##name(float a, float b)                                                  \
    {                                                                                              \
        return (float)(combine);                                                                   \
    }
CR_REDUCTIONS(COMBINE)

/* A row of the table of reductions. */
struct reduction {
    const char *name;
    float identity;
    float (*combine)(float a, float b);
    cr_reduce *rows;
    cr_reduce_down *down;
    cr_reduce_lanes *lanes;
};

enum { MAX_REDUCTIONS = 32 };

/* Lists all reductions of an instruction set; returns their number. */
static int list_reductions(const struct cr_runtime *k, struct reduction *list)
{
#define REDUCTION(name, rule, identity, combine, description)                                      \
    {#name, identity, combine_##name, k->name, k->name##_down, k->name##_lanes},
    const struct reduction all[] = {CR_REDUCTIONS(REDUCTION)};
    ck_assert_int_le(COUNT(all), MAX_REDUCTIONS);
    memcpy(list, all, sizeof all);
    return COUNT(all);
}

/* The rule of runtime.h: 16 lanes in blocks of 4096 elements, then a tree. */
static float lanes_and_tree(const struct reduction *of, const float *a, long n)
{
    float lane[16], block[16];
    for (int l = 0; l < 16; l++) {
        lane[l] = block[l] = of->identity;
    }
    for (long i = 0; i < n; i++) {
        block[i % 16] = of->combine(block[i % 16], a[i]);
        if (i + 16 >= n || i % 4096 >= 4080) { /* the last number of the lane in this block */
            lane[i % 16] = of->combine(lane[i % 16], block[i % 16]);
            block[i % 16] = of->identity;
        }
    }
    for (int h = 8; h > 0; h /= 2) {
        for (int l = 0; l < h; l++) {
            lane[l] = of->combine(lane[l], lane[l + h]);
        }
    }
    return lane[0];
}

/* Reductions of rows that are longer than a block, or just shorter, follow the rule. */
START_TEST(test_wide_reductions)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const long widths[] = {4095, 4096, 4097, 8192, 8211, 12300};
    float *x = filled(12300, tame, 7), y;
    struct reduction all[MAX_REDUCTIONS];
    int n = k ? list_reductions(k, all) : 0;
    for (int i = 0; i < n * COUNT(widths); i++) {
        const struct reduction *of = &all[i % n];
        long cols = widths[i / n];
        of->rows(1, cols, &y, x, cols);
        CHECK(same(y, lanes_and_tree(of, x, cols)), "%s: %s of %ld", isas[_i], of->name, cols);
    }
    free(x);
}
END_TEST

START_TEST(test_reductions)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { ROWS = 5, COLS = 131, LD = COLS + 2 };
    float *inputs[] = {filled(ROWS * LD, tame, 1), filled(ROWS * LD, mixed, 2)};
    struct reduction all[MAX_REDUCTIONS];
    int n = k ? list_reductions(k, all) : 0;
    for (int i = 0; i < 2 * n; i++) {
        const struct reduction *of = &all[i / 2];
        for (long cols = 0; cols <= COLS; cols++) {
            float y[ROWS];
            of->rows(ROWS, cols, y, inputs[i % 2], LD);
            for (int r = 0; r < ROWS; r++) {
                CHECK(same(y[r], lanes_and_tree(of, inputs[i % 2] + r * LD, cols)), "%s: %s of %ld",
                      isas[_i], of->name, cols);
            }
        }
    }
    free(inputs[0]);
    free(inputs[1]);
}
END_TEST

/* Checks reductions of two zeros or NaNs a and b: b at each position of a row of a, and b below a
 * in a column. */
static void check_zeros(const struct reduction *of, float a, float b, const char *isa)
{
    enum { LD = 40 };
    float row[LD], column[2 * LD], lanes[16 * LD], y;
    for (int i = 0; i < LD; i++) {
        row[i] = column[i] = a;
        column[LD + i] = b;
    }
    for (int at = 0; at < LD; at++) {
        row[at] = b;
        of->rows(1, LD, &y, row, LD);
        CHECK(same(y, lanes_and_tree(of, row, LD)), "%s: %s of %a, and %a at %d, is %a", isa,
              of->name, a, b, at, y);
        row[at] = a;
    }
    for (int i = 0; i < 16 * LD; i++) {
        lanes[i] = of->identity;
    }
    of->down(2, LD, lanes, column, LD);
    of->lanes(LD, lanes);
    for (int i = 0; i < LD; i++) {
        y = lanes_and_tree(of, (float[]){a, b}, 2);
        CHECK(same(lanes[i], y), "%s: %s down %a and %a is %a", isa, of->name, a, b, lanes[i]);
    }
}

/* The sign of a zero result depends neither on the order of zeros and NaN nor on other elements of
 * the row. */
START_TEST(test_zeros)
{
    static const float values[] = {0.0f, -0.0f, NAN, -1.0f, -INFINITY};
    enum { LD = 40, ORDERS = COUNT(values) * COUNT(values) };
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    for (int order = 0; k && order < ORDERS; order++) {
        float a = values[order / COUNT(values)], b = values[order % COUNT(values)];
        float row[2][LD], largest[LD], smallest[LD], y[LD];
        for (int i = 0; i < LD; i++) {
            row[0][i] = a;
            row[1][i] = b;
            largest[i] = isnan(a) ? a : larger(a, b);
            smallest[i] = isnan(a) ? a : -larger(-a, -b);
        }
        k->maximum_vv(1, LD, y, LD, row[0], LD, row[1], LD);
        assert_same(y, largest, LD, "maximum_vv", isas[_i]);
        k->maximum_sv(1, LD - 1, y, LD, &a, 1, row[1], LD);
        assert_same(y, largest, LD - 1, "maximum_sv", isas[_i]);
        k->minimum_vv(1, LD, y, LD, row[0], LD, row[1], LD);
        assert_same(y, smallest, LD, "minimum_vv", isas[_i]);
        k->minimum_vs(1, LD - 1, y, LD, row[0], LD, &b, 1);
        assert_same(y, smallest, LD - 1, "minimum_vs", isas[_i]);
        struct reduction all[MAX_REDUCTIONS];
        for (int i = list_reductions(k, all) - 1; i >= 0; i--) {
            check_zeros(&all[i], a, b, isas[_i]);
        }
    }
}
END_TEST

/* Checks that a reduction of columns, in tiles of 16 or 32 rows, gives the bits of the same numbers
 * as rows. */
static void check_down(const struct reduction *of, const char *isa, const float *a, long rows,
                       long cols, long step)
{
    enum { LD = 45 };
    float lanes[16 * LD], column[200];
    for (long i = 0; i < 16 * cols; i++) {
        lanes[i] = of->identity;
    }
    for (long r = 0; r < rows; r += step) {
        of->down(rows - r < step ? rows - r : step, cols, lanes, a + r * LD, LD);
    }
    of->lanes(cols, lanes);
    for (long c = 0; c < cols; c++) {
        for (long r = 0; r < rows; r++) {
            column[r] = a[r * LD + c];
        }
        CHECK(same(lanes[c], lanes_and_tree(of, column, rows)),
              "%s: %s down column %ld of %ld, %ld rows", isa, of->name, c, cols, rows);
    }
}

START_TEST(test_columns)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    float *inputs[] = {filled(200 * 45, tame, 1), filled(200 * 45, mixed, 2)};
    struct reduction all[MAX_REDUCTIONS];
    int n = k ? list_reductions(k, all) : 0;
    for (long rows = 0; rows <= 200; rows += 1 + rows / 7) {
        for (long i = 0; i < 12 * n; i++) {
            long cols = 1 + i / n * 4;
            check_down(&all[i % n], isas[_i], inputs[rows % 2], rows, cols, cols % 3 ? 16 : 32);
        }
    }
    free(inputs[0]);
    free(inputs[1]);
}
END_TEST

/* ---- a single query ---- */

/* Checks that dots and add_rows give the bits of gemm and gemm_scaled, for any number of
 * queries. */
static void check_queries(const struct cr_runtime *k, long keys, long width, long queries)
{
    enum { LD = 137, MOST = 70, QUERIES = 9 };
    long stride = LD * CR_PANEL;
    float *x = filled(MOST * LD, tame, 3), *q = filled(QUERIES * LD, tame, 4),
          *p = filled(QUERIES * MOST, tame, 5);
    float *panels = calloc((size_t)(5 * stride), sizeof *panels), scale[QUERIES];
    float got[QUERIES * MOST], want[QUERIES * MOST], y[QUERIES * LD], sums[QUERIES * LD];
    for (int i = 0; i < QUERIES * MOST; i++) {
        got[i] = want[i] = 7.0f;
    }
    k->dots(keys, width, queries, got, MOST, x, LD, q, LD);
    for (long t = 0; t < queries; t++) {
        scale[t] = 0.75f + (float)t;
        k->pack(width, 1, panels, stride, q + t * LD, 1, 0);
        k->gemm(keys, 1, width, x, LD, 1, panels, stride, want + t * MOST, 1, NULL, 0, NULL, 0, 0);
    }
    assert_same(got, want, QUERIES * MOST, "dots", k->isa);
    for (int i = 0; i < QUERIES * LD; i++) {
        y[i] = sums[i] = i % 5 ? tame(6, (unsigned)i) : -0.0f;
    }
    k->pack(keys, width, panels, stride, x, LD, 1);
    k->add_rows(keys, width, queries, y, LD, p, MOST, x, LD, scale);
    k->gemm_scaled(queries, width, keys, p, MOST, 1, panels, stride, sums, LD, scale, -queries,
                   keys, 0, 0);
    assert_same(y, sums, QUERIES * LD, "add_rows", k->isa);
    free(x), free(q), free(p), free(panels);
}

/* Checks that softmax_row is equal to softmax_block with one column. */
static void check_softmax_row(const struct cr_runtime *k, long keys, int seen)
{
    enum { MOST = 70 };
    float got[MOST], want[MOST], m[2], l[2], scale[2];
    m[0] = m[1] = seen ? 0.5f : -INFINITY;
    l[0] = l[1] = seen ? 3.0f : 0.0f;
    scale[0] = scale[1] = 7.0f;
    for (int i = 0; i < MOST; i++) {
        got[i] = want[i] = i % 3 == 1 || !keys ? -INFINITY : 10.0f * tame(5, (unsigned)i);
    }
    k->softmax_row(keys, got, 0.7f, &m[0], &l[0], &scale[0]);
    k->softmax_block(keys, 1, want, 1, 0.7f, &m[1], &l[1], &scale[1]);
    assert_same(got, want, MOST, "softmax_row, s", k->isa);
    assert_same(m, m + 1, 1, "softmax_row, m", k->isa);
    assert_same(l, l + 1, 1, "softmax_row, l", k->isa);
    assert_same(scale, scale + 1, 1, "softmax_row, scale", k->isa);
}

START_TEST(test_single_queries)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    for (long keys = 1; k && keys <= 70; keys += 1 + keys / 20) {
        check_softmax_row(k, keys, keys % 2);
        for (long width = 1; width <= 137; width += 1 + width % 3 + width / 8) {
            check_queries(k, keys, width, 1 + (keys + width) % 9);
        }
    }
}
END_TEST

/* ---- softmax ---- */

/* Runs softmax_block over all keys (rows) in blocks and returns the worst error of s / l. */
static double softmax_error(const struct cr_runtime *k, const float *s, long keys, long queries,
                            long block, float factor)
{
    float *p = malloc((size_t)(keys * queries) * sizeof *p), m[40], l[40], scale[40];
    double worst = 0;
    memcpy(p, s, (size_t)(keys * queries) * sizeof *p);
    for (long c = 0; c < queries; c++) {
        m[c] = -INFINITY;
        l[c] = 0;
    }
    for (long r = 0; r < keys; r += block) {
        long n = keys - r < block ? keys - r : block;
        k->softmax_block(n, queries, p + r * queries, queries, factor, m, l, scale);
        for (long i = 0; i < r * queries; i++) { /* the accumulator is rescaled in the same way */
            p[i] *= scale[i % queries];
        }
    }
    for (long c = 0; c < queries; c++) {
        double sum = 0;
        for (long r = 0; r < keys; r++) {
            sum += exp((double)factor * s[r * queries + c] - (double)m[c]);
        }
        for (long r = 0; r < keys; r++) {
            double want = exp((double)factor * s[r * queries + c] - (double)m[c]) / sum;
            worst = fmax(worst, fabs(p[r * queries + c] / l[c] - want));
        }
    }
    free(p);
    return worst;
}

START_TEST(test_softmax_splitting)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { KEYS = 100, QUERIES = 37 };
    float *s = filled(KEYS * QUERIES, tame, 3);
    for (int i = 0; i < KEYS * QUERIES; i++) {
        int key = i / QUERIES;
        s[i] = key > 60 && (key + i % QUERIES) % 7 == 0 ? -INFINITY : 20.0f * s[i];
    }
    for (long block = 1; k && block <= KEYS; block += block < 34 ? 1 : 11) {
        double error = softmax_error(k, s, KEYS, QUERIES, block, block % 2 ? 1.0f : 0.7f);
        CHECK(error < 1e-6, "%s, blocks of %ld: error %g", isas[_i], block, error);
    }
    free(s);
}
END_TEST

/* Computes one query's block of softmax by its definition in runtime.h, with the instruction set's
 * own exp. */
static void define_softmax(const struct cr_runtime *k, long keys, float *s, float factor, float *m,
                           float *l, float *scale)
{
    static const struct reduction sum = {.identity = 0.0f, .combine = combine_sum};
    static const struct reduction max = {.identity = -INFINITY, .combine = combine_max};
    float top = larger(*m, lanes_and_tree(&max, s, keys) * factor);
    float shift = top == -INFINITY ? 0.0f : top, old = *m - shift;
    k->exp_v(1, 1, scale, 1, &old, 1);
    if (top == -INFINITY) {
        *scale = 1.0f;
    }
    for (long r = 0; r < keys; r++) {
        s[r] = fmaf(factor, s[r], -shift);
    }
    k->exp_v(1, keys, s, keys, s, keys);
    *l = fmaf(*l, *scale, lanes_and_tree(&sum, s, keys));
    *m = top;
}

/* Compares softmax_block, with any number of queries as columns, with its definition. */
static void check_softmax(const struct cr_runtime *k, long keys, long queries, float factor)
{
    enum { KEYS = 40, LD = 43 };
    const struct cr_runtime *plain = cr_runtime_select("plain");
    float got[KEYS * LD], want[KEYS * LD], column[KEYS];
    float m[2][LD], l[2][LD], scale[2][LD];
    for (int i = 0; i < KEYS * LD; i++) {
        int c = i % LD;
        float value = 10.0f * tame(5, (unsigned)i);
        got[i] = want[i] = c % 3 == 0 ? mixed(4, (unsigned)i) : c % 3 == 1 ? -INFINITY : value;
    }
    for (int c = 0; c < LD; c++) {
        m[0][c] = m[1][c] = c % 2 ? -INFINITY : tame(6, (unsigned)c);
        l[0][c] = l[1][c] = c % 2 ? 0.0f : 3.0f;
        scale[0][c] = scale[1][c] = 7.0f;
    }
    k->softmax_block(keys, queries, got, LD, factor, m[0], l[0], scale[0]);
    for (int c = 0; c < queries; c++) {
        for (int r = 0; r < keys; r++) {
            column[r] = want[r * LD + c];
        }
        define_softmax(plain, keys, column, factor, &m[1][c], &l[1][c], &scale[1][c]);
        for (int r = 0; r < keys; r++) {
            want[r * LD + c] = column[r];
        }
    }
    assert_same(got, want, KEYS * LD, "softmax_block, s", k->isa);
    assert_same(m[0], m[1], LD, "softmax_block, m", k->isa);
    assert_same(l[0], l[1], LD, "softmax_block, l", k->isa);
    assert_same(scale[0], scale[1], LD, "softmax_block, scale", k->isa);
}

START_TEST(test_softmax_block)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    for (long keys = 0; k && keys <= 40; keys++) {
        for (long queries = 1; queries <= 40; queries += 1 + keys % 4) {
            check_softmax(k, keys, queries, keys % 3 ? 0.125f : 1.0f);
        }
    }
}
END_TEST

/* ---- steps together ---- */

/* A combined function gives the bits of its parts called one after the other, and writes nothing
 * outside of the tile. */
START_TEST(test_combined)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { ROWS = 3, LD = 170, SIZE = ROWS * LD };
    float *inputs[] = {filled(SIZE, tame, 1), filled(SIZE, mixed, 2)};
    for (long cols = 1; k && cols <= LD; cols++) {
        const float *a = inputs[cols % 2], *b = inputs[cols / 2 % 2], cube = 0.07f, slope = -1.5f;
        float *got = filled(SIZE, tame, 3), *want = filled(SIZE, tame, 3), t[SIZE];
        k->mul_sigmoid(ROWS, cols, got, LD, a, LD, b, LD);
        k->sigmoid_v(ROWS, cols, t, LD, b, LD);
        k->mul_vv(ROWS, cols, want, LD, a, LD, t, LD);
        assert_same(got, want, SIZE, "mul_sigmoid", k->isa);
        k->odd_cubic(ROWS, cols, got, LD, a, LD, cube, slope);
        k->mul_vv(ROWS, cols, t, LD, a, LD, a, LD);
        k->fma_svs(ROWS, cols, t, LD, &cube, 0, t, LD, &slope, 0);
        k->mul_vv(ROWS, cols, want, LD, a, LD, t, LD);
        assert_same(got, want, SIZE, "odd_cubic", k->isa);
        free(got);
        free(want);
    }
    free(inputs[0]);
    free(inputs[1]);
}
END_TEST

/* ---- moves ---- */

static const struct {
    long rows, cols, gap, rs, cs; /* gap: ld - cols; rs or cs of -1: rows or cols + 2 */
} moves[] = {
    {1, 1, 0, 1, 1},    {3, 70, 1, -1, 1},   {70, 3, 0, 1, -1},  {33, 47, 5, 1, -1},
    {16, 16, 0, 1, -1}, {16, 16, 0, -1, 1},  {5, 9, 2, -1, 0},   {9, 5, 0, 0, 0},
    {9, 17, 3, 2, -1},  {4, 31, 0, 0, 1},    {8, 100, 0, 1, -1}, {0, 5, 0, 1, 1},
    {5, 0, 1, 1, -1},   {12, 64, 4, 300, 3}, {64, 15, 0, 1, 80},
};

static long stride(long s, long other_extent)
{
    return s < 0 ? other_extent + 2 : s;
}

START_TEST(test_load_store)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { SIZE = 8000 };
    float *x = filled(SIZE, mixed, 7);
    for (int i = 0; k && i < COUNT(moves); i++) {
        long rows = moves[i].rows, cols = moves[i].cols, ld = cols + moves[i].gap;
        long rs = stride(moves[i].rs, cols), cs = stride(moves[i].cs, rows);
        float *got = filled(SIZE, mixed, 8), *want = filled(SIZE, mixed, 8);
        k->load(rows, cols, got, ld, x, rs, cs);
        for (long j = 0; j < rows * cols; j++) {
            want[j / cols * ld + j % cols] = x[j / cols * rs + j % cols * cs];
        }
        assert_same(got, want, SIZE, "load", isas[_i]);
        if (rs > 0 && cs > 0) {
            k->store(rows, cols, got, rs, cs, x, ld);
            for (long j = 0; j < rows * cols; j++) {
                want[j / cols * rs + j % cols * cs] = x[j / cols * ld + j % cols];
            }
            assert_same(got, want, SIZE, "store", isas[_i]);
        }
        free(got);
        free(want);
    }
    free(x);
}
END_TEST

START_TEST(test_hide)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { ROWS = 5, LD = 44 };
    for (int cols = 1; k && cols <= 41; cols += 8) {
        for (int begin = -ROWS - 2; begin <= cols + 2; begin += 3) {
            for (int end = -ROWS - 2; end <= cols + 2; end += 3) {
                float *y = filled(ROWS * LD, tame, 3);
                float value = begin & 1 ? -INFINITY : 0.0f;
                k->hide(ROWS, cols, y, LD, begin, end, value);
                for (int i = 0; i < ROWS * LD; i++) {
                    int r = i / LD, c = i % LD;
                    int hidden = c < cols && (c < begin + r || c >= end + r);
                    ck_assert(same(y[i], hidden ? value : tame(3, (unsigned)i)));
                }
                free(y);
            }
        }
    }
}
END_TEST

START_TEST(test_hide_rows)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { ROWS = 5, COLS = 37, LD = 44 };
    for (int first = -2; k && first <= ROWS + 1; first++) {
        for (int last = -2; last <= ROWS + 1; last++) {
            int begin = 3 * first - 4, end = COLS - 5 * last;
            float *y = filled(ROWS * LD, tame, 3);
            k->hide_rows(ROWS, COLS, y, LD, first, last, begin, end, -INFINITY);
            for (int i = 0; i < ROWS * LD; i++) {
                int r = i / LD, c = i % LD;
                int hidden = c < COLS && r >= first && r < last && (c < begin + r || c >= end + r);
                ck_assert(same(y[i], hidden ? -INFINITY : tame(3, (unsigned)i)));
            }
            free(y);
        }
    }
}
END_TEST

/* The least and the greatest integer are found at any position, with any stride. */
START_TEST(test_extremes)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { N = 77, STEP = 3 };
    int x[N * STEP];
    for (int i = 0; i < N * STEP; i++)
        x[i] = i % STEP ? INT32_MIN : 7 * i % 50 - 20;
    for (int i = 0; k && i < N * STEP; i += STEP) {
        int kept = x[i], n = i / STEP + 1;
        x[i] = INT32_MIN + i;
        ck_assert_int_eq(k->least(n, x, STEP), INT32_MIN + i);
        ck_assert_int_eq(k->least(1, x + i, 1), INT32_MIN + i);
        x[i] = INT32_MAX - i;
        ck_assert_int_eq(k->greatest(n, x, STEP), INT32_MAX - i);
        ck_assert_int_eq(k->greatest(i + 1, x, 1), INT32_MAX - i);
        ck_assert_int_eq(k->least(i + 1, x, 1), i ? INT32_MIN : INT32_MAX);
        x[i] = kept;
    }
}
END_TEST

/* A single number that is not finite is found at every position inside the array, and ignored outside. */
START_TEST(test_finite)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const float others[] = {NAN, INFINITY, -INFINITY};
    enum { ROWS = 3, COLS = 77, LD = 80 };
    float *x = filled(ROWS * LD, tame, 5);
    for (int i = 0; k && i < ROWS * LD; i++) {
        float kept = x[i];
        x[i] = others[i % 3];
        ck_assert_int_eq(k->finite(ROWS, COLS, x, LD, 1), i % LD >= COLS);
        ck_assert_int_eq(k->finite(COLS, ROWS, x, 1, LD), i % LD >= COLS);
        ck_assert_int_eq(k->finite(ROWS, 1, x, LD, 1), i % LD >= 1);
        x[i] = i % 2 ? 3e38f : -3e38f;
        ck_assert_int_eq(k->finite(ROWS, COLS, x, LD, 1), 1);
        x[i] = kept;
    }
    free(x);
}
END_TEST

START_TEST(test_gather)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const int index[] = {2, 0, 4, -1, 5, INT32_MAX, INT32_MIN, 3, 16777217};
    enum { COLS = 35, LDT = 37, LDY = 36, TABLE = 5 };
    float *table = filled(TABLE * LDT, mixed, 1);
    float *y = filled(COUNT(index) * LDY, tame, 2);
    if (k) {
        k->gather(COUNT(index), COLS, y, LDY, table, LDT, TABLE, index);
        for (int r = 0; r < COUNT(index); r++) {
            for (int c = 0; c < COLS; c++) {
                int inside = index[r] >= 0 && index[r] < TABLE;
                ck_assert(same(y[r * LDY + c], inside ? table[index[r] * LDT + c] : NAN));
            }
            ck_assert(same(y[r * LDY + COLS], tame(2, (unsigned)(r * LDY + COLS))));
        }
    }
    free(table);
    free(y);
}
END_TEST

/* Each row is gathered by its index from the panels of a table; rows out of range are NaN. */
START_TEST(test_gather_panels)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const int index[] = {2, 0, 69, -1, 70, INT32_MAX, INT32_MIN, 33};
    enum { COLS = 35, LDY = 36, TABLE = 70, STRIDE = COLS * CR_PANEL };
    float *panels = filled(3 * STRIDE, mixed, 1);
    float *y = filled(COUNT(index) * LDY, tame, 2);
    if (k) {
        k->gather_panels(COUNT(index), COLS, y, LDY, panels, STRIDE, TABLE, index);
        for (int r = 0; r < COUNT(index); r++) {
            for (int c = 0; c < COLS; c++) {
                int i = index[r];
                float in = i < 0 || i >= TABLE
                               ? NAN
                               : panels[i / CR_PANEL * STRIDE + c * CR_PANEL + i % CR_PANEL];
                ck_assert(same(y[r * LDY + c], in));
            }
            ck_assert(same(y[r * LDY + COLS], tame(2, (unsigned)(r * LDY + COLS))));
        }
    }
    free(panels);
    free(y);
}
END_TEST

START_TEST(test_lookup)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const int index[] = {2, 0, 4, -1, 5, INT32_MAX, INT32_MIN, 3, 16777217, 1};
    enum { ROWS = 3, COLS = 7, LDT = 5, LDY = 9, TABLE = 5 };
    float *table = filled(TABLE * LDT, mixed, 1);
    for (int ldi = -1; k && ldi <= 1; ldi++) {
        const int *from = index + (ldi < 0 ? ROWS - 1 : 0);
        float *y = filled(ROWS * LDY, tame, 2);
        k->lookup(ROWS, COLS, y, LDY, table, LDT, TABLE, from, ldi);
        for (int i = 0; i < ROWS * LDY; i++) {
            int r = i / LDY, c = i % LDY, at = c < COLS ? from[r * ldi + c] : 0;
            int inside = at >= 0 && at < TABLE;
            ck_assert(same(y[i], c >= COLS ? tame(2, (unsigned)i)
                                 : inside  ? table[at * LDT]
                                           : NAN));
        }
        free(y);
    }
    free(table);
}
END_TEST

START_TEST(test_lookup_of_words)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const int index[] = {2, 0, -1, 3, INT32_MAX, 1};
    static const int table[] = {7, 0, 0x7fc00001, 0, -5, 0};
    static const int want[] = {-5, 7, INT32_MIN, INT32_MIN, INT32_MIN, 0x7fc00001};
    int y[8] = {0, 0, 0, 5, 0, 0, 0, 5};
    if (!k)
        return;
    k->i32->lookup(2, 3, y, 4, table, 2, 3, index, 3);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(y[i], i % 4 == 3 ? 5 : want[i / 4 * 3 + i % 4]);
}
END_TEST

/* The reference of running sums: in order, downwards or upwards, in blocks of rows. */
START_TEST(test_cumsum)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { LD = 41, MOST = 530 };
    static const long heights[] = {0, 1, 9, 256, 257, 512, 513, MOST};
    float *x = filled(MOST * LD, tame, 4), *y = malloc(MOST * LD * sizeof *y);
    float *want = malloc(MOST * LD * sizeof *want);
    for (long i = 0; k && i < 8 * COUNT(heights) * 2; i++) {
        long rows = heights[i % COUNT(heights)], cols = 1 + i / COUNT(heights) * 37 % 39;
        long first = i % 2 ? (MOST - 1) * LD : 0, step = i % 2 ? -LD : LD;
        memcpy(y, x, MOST * LD * sizeof *y);
        memcpy(want, x, MOST * LD * sizeof *want);
        for (long c = 0; c < cols; c++) {
            float total = -0.0f, sum = -0.0f;
            for (long r = 0; r < rows; r++) {
                total = r % CR_SUM_BLOCK ? total : total + sum;
                sum = r % CR_SUM_BLOCK ? sum + x[first + r * step + c] : x[first + r * step + c];
                want[first + r * step + c] = total + sum;
            }
        }
        k->cumsum(rows, cols, y + first, step, x + first, step);
        assert_same(y, want, MOST * LD, "cumsum", isas[_i]);
    }
    free(x), free(y), free(want);
}
END_TEST

/* scatter_add adds rows in the order of the indices; with rounding, another order would give other
 * sums. */
START_TEST(test_scatter_add)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const int index[] = {5, 3, 4, -1, 5, INT32_MAX, 3, 5, INT32_MIN, 7, 5, 2};
    enum { COLS = 35, LDX = 37, LDY = 36, ROWS = 4, FIRST = 3 };
    float *x = filled(COUNT(index) * LDX, tame, 1);
    float *y = filled(ROWS * LDY, mixed, 2), *want = filled(ROWS * LDY, mixed, 2);
    for (int r = 0; r < ROWS; r++) {
        memset(want + r * LDY, 0, COLS * sizeof *want);
        for (int i = 0; i < COUNT(index); i++) {
            for (int c = 0; c < COLS && index[i] == FIRST + r; c++) {
                want[r * LDY + c] += x[i * LDX + c];
            }
        }
    }
    if (k) {
        k->scatter_add(ROWS, COLS, y, LDY, FIRST, COUNT(index), x, LDX, index);
        assert_same(y, want, ROWS * LDY, "scatter_add", isas[_i]);
    }
    free(x);
    free(y);
    free(want);
}
END_TEST

/* Returns the sum of 16 numbers in the order of the tree in runtime.h. */
static float sum_of_lanes(const float *x)
{
    float lane[16];
    for (int i = 0; i < 16; i++)
        lane[i] = 0 + x[i];
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* scatter_tile adds element by element, row after row, except that 16 adjacent columns with the
 * same index are summed first; elements whose index is out of range are dropped. */
START_TEST(test_scatter_tile)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { ROWS = 6, COLS = 35, LDX = 36, LDI = 37, COUNT_OF_Y = 4 };
    float *x = filled(ROWS * LDX, tame, 1);
    float y[COUNT_OF_Y + 1] = {1, -0.0f, 0, 3, 7}, want[COUNT_OF_Y + 1];
    int index[ROWS * LDI];
    memcpy(want, y, sizeof y);
    for (int i = 0; i < ROWS * LDI; i++)
        index[i] = i % 11 == 0 ? INT32_MIN : i % 13 == 0 ? INT32_MAX : i * 7 % 6 - 1;
    for (int r = 2; r < ROWS; r++) /* columns 16 to 31 have one index: 0, 2, or one out of range */
        for (int c = 16; c < 32; c++)
            index[r * LDI + c] = (const int[]){0, 2, -1, COUNT_OF_Y}[r - 2];
    for (int i = 32; i < 48; i++) /* one index, also beyond the columns of row 0 */
        index[i] = 1;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++)
            for (int to = 0; to < COUNT_OF_Y; to++)
                if (index[r * LDI + c] == to)
                    want[to] += r < 2 || c < 16 || c >= 32 ? x[r * LDX + c]
                                : c == 16                  ? sum_of_lanes(x + r * LDX + c)
                                                           : -0.0f;
    if (k) {
        k->scatter_tile(ROWS, COLS, y, COUNT_OF_Y, x, LDX, index, LDI);
        assert_same(y, want, COUNT_OF_Y + 1, "scatter_tile", isas[_i]);
    }
    free(x);
}
END_TEST

/* Any part of a random stream can be computed, in any order. */
START_TEST(test_random_tiles)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const struct {
        long base, rs, cs;
    } places[] = {{0, 23, 1}, {5, 1, 7}, {1L << 33, 40, 3}, {9, 0, 1}, {9, 4, 0}};
    static const int seeds[] = {0, INT32_MAX, 16777217, -3};
    enum { ROWS = 7, COLS = 23, LDY = 25 };
    float y[ROWS * LDY];
    for (int p = 0; k && p < COUNT(places); p++) {
        int seed = seeds[p % COUNT(seeds)];
        memset(y, 0, sizeof y);
        k->random(ROWS, COLS, y, LDY, &seed, 6, places[p].base, places[p].rs, places[p].cs);
        for (long i = 0; i < ROWS * LDY; i++) {
            long r = i / LDY, c = i % LDY,
                 at = places[p].base + r * places[p].rs + c * places[p].cs;
            float want = c < COLS ? cr_philox_uniform((uint64_t)(int64_t)seed, 6, (uint64_t)at) : 0;
            CHECK(same(y[i], want), "%s: number %ld is %a, not %a", isas[_i], at, y[i], want);
        }
    }
}
END_TEST

/* ---- matrix products ---- */

/* The reference of a product: each block of k is one chain of fma from zero, which is added to the
 * sum so far. */
static float dot(const float *a, long cs, const float *b, long ldb, long K, float start)
{
    for (long k = 0; k < K || K == 0; k += CR_SUM_BLOCK) {
        float sum = 0;
        for (long i = k; i < K && i < k + CR_SUM_BLOCK; i++) {
            sum = fmaf(a[i * cs], b[i * ldb], sum);
        }
        start += sum;
        if (K == 0) {
            break;
        }
    }
    return start;
}

/* The sizes of a product; a and b may be transposed in memory (K-major). */
struct product {
    long M, N, K;
    int a_transposed, b_transposed;
    float (*value)(unsigned, unsigned);
    long vectors; /* the tile's size, on which no bit depends */
};

/* Packs b, checks each element of the panels and the zeros that pad them, and returns them. */
static float *packed(const struct cr_runtime *k, const struct product *p, const float *b, long rs,
                     long cs, long panel_stride)
{
    long panels = (p->N + CR_PANEL - 1) / CR_PANEL;
    float *y = filled((size_t)(panels * panel_stride), tame, 5);
    k->pack(p->K, p->N, y, panel_stride, b, rs, cs);
    for (long i = 0; i < panels * panel_stride; i++) {
        long row = i % panel_stride / CR_PANEL;
        long n = i / panel_stride * CR_PANEL + i % panel_stride % CR_PANEL;
        float want = row >= p->K ? tame(5, (unsigned)i) : n < p->N ? b[row * rs + n * cs] : 0.0f;
        CHECK(same(y[i], want), "pack, %s: element %ld is %a, not %a", k->isa, i, y[i], want);
    }
    return y;
}

/* Checks that pack_stream, which writes aligned panels by non-temporal stores, gives the same
 * panels and writes nothing beside them. */
static void check_pack_stream(const struct cr_runtime *k, const struct product *p, const float *b,
                              long rs, long cs)
{
    long panel_stride = (p->K + 1) * CR_PANEL, n = (p->N + CR_PANEL - 1) / CR_PANEL * panel_stride;
    float *want = filled((size_t)n, tame, 5), *got = aligned_alloc(64, (size_t)n * sizeof *got);
    memcpy(got, want, (size_t)n * sizeof *got);
    k->pack(p->K, p->N, want, panel_stride, b, rs, cs);
    k->pack_stream(p->K, p->N, got, panel_stride, b, rs, cs);
    CHECK(memcmp(got, want, (size_t)n * sizeof *got) == 0, "pack_stream, %s: K %ld, N %ld", k->isa,
          p->K, p->N);
    free(want);
    free(got);
}

static void check_product(const struct cr_runtime *k, const struct product *p)
{
    long rs = p->a_transposed ? 1 : p->K + 1, cs = p->a_transposed ? p->M + 2 : 1;
    long brs = p->b_transposed ? 1 : p->N, bcs = p->b_transposed ? p->K : 1;
    long ldc = p->N + 3, panel_stride = p->K * CR_PANEL + 7;
    float *a = filled((size_t)((p->M + 2) * (p->K + 1)), p->value, 1);
    float *b = filled((size_t)(p->K * p->N), p->value, 2);
    enum { ZERO, SCALED, ROW, ITSELF, WAYS };
    static const char *const ways[WAYS] = {"", ", scaled", ", plus a bias", ", from c plus a bias"};
    float *c[WAYS];
    for (int w = 0; w < WAYS; w++) {
        c[w] = filled((size_t)(p->M * ldc), p->value, 3);
    }
    float *scale = filled((size_t)p->M, p->value, 4), *row = filled((size_t)p->N, p->value, 6);
    float *panels = packed(k, p, b, brs, bcs, panel_stride);
    check_pack_stream(k, p, b, brs, bcs);
    long columns = tile_columns(k->isa, p->vectors);
    k->gemm(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, c[ZERO], ldc, NULL, 0, NULL,
            columns, 64);
    if (p->K <= CR_SUM_BLOCK) {
        k->gemm_scaled(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, c[SCALED], ldc, scale,
                       -p->M, p->K, columns, 0);
    }
    k->gemm(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, c[ROW], ldc, NULL, 0, row, columns, 64);
    k->gemm(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, c[ITSELF], ldc, c[ITSELF], ldc,
            row, columns, 64);
    for (long i = 0; i < p->M * ldc; i++) {
        long m = i / ldc, n = i % ldc;
        float was = p->value(3, (unsigned)i);
        for (int w = 0; w < WAYS; w++) {
            const float start = w == ITSELF ? was : -0.0f;
            float want = was;
            if (n < p->N && !(w == SCALED && p->K > CR_SUM_BLOCK)) {
                want = dot(a + m * rs, cs, b + n * bcs, brs, p->K, start);
                want = w == SCALED ? was * scale[m] + want + 0.0f : want;
                want = w == ROW || w == ITSELF ? want + row[n] : want;
            }
            CHECK(same(c[w][i], want), "%s%s, %ld x %ld x %ld: c[%ld, %ld] is %a, not %a", k->isa,
                  ways[w], p->M, p->K, p->N, m, n, c[w][i], want);
        }
    }
    free(a);
    free(b);
    for (int w = 0; w < WAYS; w++) {
        free(c[w]);
    }
    free(scale);
    free(row);
    free(panels);
}

START_TEST(test_gemm)
{
    static const long inner[] = {0, 1, 2, 7, 64};
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    for (long M = 0; k && M <= 29; M++) {
        for (long N = 1; N <= 70; N += 1 + (M + N) % 5) {
            struct product p = {M,
                                N,
                                inner[(M + N) % COUNT(inner)],
                                N % 2,
                                N % 3 == 0,
                                N % 4 ? tame : mixed,
                                1 + (M + N) % 5};
            check_product(k, &p);
        }
    }
    static const struct product wide[] = {
        {1, 300, 33, 0, 0, tame, 2}, {2, 257, 5, 0, 1, mixed, 2},  {3, 131, 17, 1, 0, tame, 3},
        {1, 129, 4, 1, 1, tame, 4},  {64, 96, 48, 0, 0, tame, 2},  {25, 160, 3, 0, 1, mixed, 2},
        {64, 96, 48, 0, 0, tame, 3}, {64, 112, 48, 0, 0, tame, 3}, {25, 160, 3, 0, 1, mixed, 4},
        {64, 200, 9, 1, 0, tame, 4}, {13, 73, 5, 0, 0, tame, 3},   {14, 89, 40, 1, 1, mixed, 4},
        {1, 70, 256, 0, 0, tame, 2}, {1, 65, 257, 0, 0, tame, 2},  {13, 40, 511, 0, 1, tame, 2},
        {7, 33, 512, 1, 0, tame, 3}, {8, 70, 1025, 0, 0, tame, 4}, {2, 9, 768, 0, 0, mixed, 2},
        {29, 75, 1300, 0, 0, mixed, 4}, {20, 33, 1281, 1, 0, tame, 2}, {64, 96, 2049, 0, 1, tame, 3},
    };
    for (int i = 0; k && i < COUNT(wide); i++) {
        check_product(k, &wide[i]);
    }
}
END_TEST

/* Checks gemm_band against gemm_scaled with an a that is 0 outside of the band; a may be transposed
 * in memory. */
static void check_band(const struct cr_runtime *k, const struct product *p, long begin, long end)
{
    long rs = p->a_transposed ? 1 : p->K, cs = p->a_transposed ? p->M : 1;
    long panel_stride = p->K * CR_PANEL, floats = p->M * p->N;
    float *a = filled((size_t)(p->M * p->K), tame, 1), *b = filled((size_t)(p->K * p->N), tame, 2);
    float *c = filled((size_t)floats, tame, 3), *band = filled((size_t)floats, tame, 3);
    float *scale = filled((size_t)p->M, tame, 4);
    float *panels = packed(k, p, b, p->N, 1, panel_stride);
    k->gemm_band(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, band, p->N, begin, end);
    for (long i = 0; i < floats; i++) {
        long m = i / p->N, n = i % p->N;
        float want = dot(a + m * rs, cs, b + n, p->N, p->K, -0.0f);
        int outside = n < begin + m || n >= end + m;
        CHECK(same(band[i], want) || (outside && same(band[i], c[i])),
              "%s, %ld x %ld x %ld, band %ld to %ld: c[%ld, %ld] is %a, not %a", k->isa, p->M, p->K,
              p->N, begin, end, m, n, band[i], want);
    }
    for (long i = 0; i < p->M * p->K; i++) {
        long m = i / p->K, j = i % p->K;
        if (j < begin + m || j >= end + m) {
            a[m * rs + j * cs] = 0;
        }
    }
    k->gemm_scaled(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, c, p->N, scale, begin, end,
                   tile_columns(k->isa, p->vectors), 0);
    for (long i = 0; i < floats; i++) {
        long m = i / p->N, n = i % p->N;
        float want = dot(a + m * rs, cs, b + n, p->N, p->K, -0.0f);
        want = tame(3, (unsigned)i) * scale[m] + want + 0.0f;
        CHECK(same(c[i], want),
              "%s, %ld x %ld x %ld, zeros outside %ld to %ld: c[%ld, %ld] is %a, "
              "not %a",
              k->isa, p->M, p->K, p->N, begin, end, m, n, c[i], want);
    }
    free(a);
    free(b);
    free(c);
    free(band);
    free(scale);
    free(panels);
}

START_TEST(test_bands)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    for (long M = 1; k && M <= 45; M += 4) {
        for (long N = 1; N <= 70; N += 1 + (M + N) % 7) {
            struct product p = {M, N, 1 + (M * 7 + N) % 50, N % 2, 0, tame, 1 + (M + N) % 5};
            check_band(k, &p, -M, N > p.K ? N : p.K);
            check_band(k, &p, -(N % 11), 1 + M % 20);
            check_band(k, &p, (M + N) % 60 - 30, (M + 2 * N) % 40);
        }
    }
}
END_TEST

/* A result that underflows to -0 is stored as +0, also if later summands are skipped. */
START_TEST(test_band_of_zeros)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    static const float a[] = {0x1p-140f, 1, 0}, b[] = {-0x1p-60f, -0.0f, 5};
    float panels[3 * CR_PANEL], scale = 1;
    for (long end = 2; k && end <= 3; end++) {
        float c = 0;
        k->pack(3, 1, panels, sizeof panels / sizeof *panels, b, 1, 1);
        k->gemm_scaled(1, 1, 3, a, 3, 1, panels, sizeof panels / sizeof *panels, &c, 1, &scale, 0,
                       end, 0, 0);
        CHECK(same(c, 0.0f), "%s, band to %ld: %a", isas[_i], end, c);
    }
}
END_TEST

/* Checks that gemm_stream gives the bits of gemm, with the result `shift` floats after a cache
 * line. */
static void check_stream(const struct cr_runtime *k, long M, long N, long ldc, long shift)
{
    enum { K = 19 };
    long floats = (M * ldc + shift + 15) / 16 * 16, panel_stride = K * CR_PANEL;
    float *a = filled((size_t)(M * K), tame, 1), *b = filled((size_t)(K * N), tame, 2);
    float *panels = filled((size_t)((N + 31) / 32 * panel_stride), tame, 3);
    float *c[2];
    for (int i = 0; i < 2; i++) {
        c[i] = aligned_alloc(64, (size_t)floats * sizeof(float));
        ck_assert_ptr_nonnull(c[i]);
        memset(c[i], 7, (size_t)floats * sizeof(float));
    }
    k->pack(K, N, panels, panel_stride, b, N, 1);
    k->gemm(M, N, K, a, 1, M, panels, panel_stride, c[0] + shift, ldc, NULL, 0, NULL, 0, 64);
    k->gemm_stream(M, N, K, a, 1, M, panels, panel_stride, c[1] + shift, ldc,
                   tile_columns(k->isa, 2 + M % 3), 64);
    k->stream_end();
    CHECK(memcmp(c[0], c[1], (size_t)floats * sizeof(float)) == 0,
          "%s: gemm_stream of %ld x %ld at %ld, rows %ld apart, is not gemm", k->isa, M, N, shift,
          ldc);
    free(a);
    free(b);
    free(panels);
    free(c[0]);
    free(c[1]);
}

START_TEST(test_gemm_stream)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    for (long M = 1; k && M <= 27; M += 2) {
        for (long N = 1; N <= 300; N += 1 + N / 3) {
            check_stream(k, M, N, (N + 15) / 16 * 16, 0);
            check_stream(k, M, N, (N + 15) / 16 * 16, 3);
            check_stream(k, M, N, N + 1, 0);
        }
    }
}
END_TEST

/* Long sums of positive products are accurate; a single chain of fma would be 2e-6 off. */
START_TEST(test_long_sums)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { M = 2, N = 32, K = 16384 };
    float *a = filled(M * K, tame, 1), *b = filled(K * N, tame, 2), c[M * N];
    for (int i = 0; i < K * N; i++) {
        b[i] = fabsf(b[i]);
        a[i % (M * K)] = fabsf(a[i % (M * K)]);
    }
    if (k) {
        k->gemm(M, N, K, a, K, 1, b, 0, c, N, NULL, 0, NULL, 0, 64);
    }
    for (int i = 0; k && i < M * N; i++) {
        double want = 0;
        for (int j = 0; j < K; j++) {
            want += (double)a[i / N * K + j] * b[j * N + i % N];
        }
        ck_assert_double_le(fabs(c[i] - want), 6e-7 * want);
    }
    free(a), free(b);
}
END_TEST

START_TEST(test_gemm_accuracy)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    enum { M = 6, N = 40, K = 768 };
    float *a = filled(M * K, tame, 1), *b = filled(K * N, tame, 2);
    float *panels = filled(2 * K * CR_PANEL, tame, 3), c[M * N] = {0};
    if (k) {
        k->pack(K, N, panels, K * CR_PANEL, b, N, 1);
        k->gemm(M, N, K, a, K, 1, panels, K * CR_PANEL, c, N, NULL, 0, NULL, 0, 64);
    }
    for (int i = 0; k && i < M * N; i++) {
        double want = 0, size = 0;
        for (int j = 0; j < K; j++) {
            double term = (double)a[i / N * K + j] * b[j * N + i % N];
            want += term;
            size += fabs(term);
        }
        ck_assert_double_le(fabs(c[i] - want), 2e-6 * size);
    }
    free(a);
    free(b);
    free(panels);
}
END_TEST

/* ---- threads ---- */

enum { MAX_ITEMS = 1000, MAX_POOL = 9 };

/* Counts the calls of a loop's body: how often each item was visited, and with which scratch
 * memory. */
struct visits {
    int times[MAX_ITEMS];
    float *place[MAX_ITEMS];
};

static void visit(const void *args, long begin, long end, float *scratch)
{
    struct visits *v = *(struct visits *const *)args;
    for (long i = begin; i < end; i++) {
        v->times[i]++;
        v->place[i] = scratch;
    }
    scratch[0] = (float)end;
}

/* Checks that item i was visited by share t of n if items t / n <= i < items (t + 1) / n. */
static void check_visits(const struct visits *v, long items, long shares, float *scratch,
                         long scratch_stride)
{
    for (long t = 0; t < shares; t++) {
        for (long i = items * t / shares; i < items * (t + 1) / shares; i++) {
            CHECK(v->times[i] == 1, "item %ld of %ld came %d times", i, items, v->times[i]);
            CHECK(v->place[i] == scratch + t * scratch_stride, "item %ld of %ld, %ld shares", i,
                  items, shares);
        }
    }
}

static long least(long a, long b)
{
    return a < b ? a : b;
}

/* Runs one parallel loop, and checks which share visited each item. */
static void check_loop(struct cr_pool *pool, long items, long shares)
{
    struct visits *v = calloc(1, sizeof *v);
    float scratch[MAX_POOL * 4];
    const void *args = &v;
    cr_runtime_select(NULL)->parallel(pool, items, shares, visit, args, scratch, 4);
    shares = least(shares, least(items, cr_pool_threads(pool)));
    check_visits(v, items, shares > 1 ? shares : 1, scratch, 4);
    free(v);
}

static const long loops[] = {0, 1, 2, 3, 7, 8, 9, 64, 1000};

START_TEST(test_parallel)
{
    for (int threads = 1; threads <= MAX_POOL; threads++) {
        struct cr_pool *pool = cr_pool_new(threads);
        ck_assert_ptr_nonnull(pool);
        ck_assert_int_eq(cr_pool_threads(pool), threads);
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < COUNT(loops); i++) {
                check_loop(pool, loops[i], loops[i]);
                check_loop(pool, loops[i], 1 + round % 4);
            }
        }
        cr_pool_free(pool);
    }
    check_loop(NULL, 10, 10);
}
END_TEST

/* Runs loops after rests of all lengths: workers are polling, about to sleep, asleep, or just
 * woken. */
static void *loop_and_rest(void *argument)
{
    struct cr_pool *pool = argument;
    for (int i = 0; i < 600; i++) {
        check_loop(pool, loops[i % COUNT(loops)], MAX_POOL);
        if (i % 3 == 0)
            usleep((useconds_t)(i % 40 * 10));
    }
    return NULL;
}

START_TEST(test_pools_side_by_side)
{
    enum { POOLS = 3 };
    struct cr_pool *pools[POOLS];
    pthread_t threads[POOLS];
    for (int i = 0; i < POOLS; i++) {
        pools[i] = cr_pool_new(i + 2);
        ck_assert_ptr_nonnull(pools[i]);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, loop_and_rest, pools[i]), 0);
    }
    for (int i = 0; i < POOLS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        cr_pool_free(pools[i]);
    }
}
END_TEST

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Idle threads take no processor time after polling for some microseconds.  The bound is a tenth of
 * the time that one polling thread would take.  With two threads, one worker polls; with more
 * threads than processors, none does. */
START_TEST(test_pool_idle)
{
    struct cr_pool *pool = cr_pool_new(2 + 4 * _i);
    ck_assert_ptr_nonnull(pool);
    check_loop(pool, 100, 4);
    double before = cpu_seconds();
    sleep(1);
    double taken = cpu_seconds() - before;
    CHECK(taken < 0.1, "an idle pool took %g s of a second", taken);
    check_loop(pool, 100, 4);
    cr_pool_free(pool);
}
END_TEST

START_TEST(test_pool_limits)
{
    ck_assert_ptr_null(cr_pool_new(0));
    ck_assert_ptr_null(cr_pool_new(-1));
    ck_assert_ptr_null(cr_pool_new(CR_MAX_THREADS + 1));
    ck_assert_int_eq(cr_pool_threads(NULL), 1);
    cr_pool_free(NULL);
    void *memory = malloc(cr_pool_bytes(3));
    struct cr_pool *pool = cr_pool_init(memory, 3);
    ck_assert_ptr_nonnull(pool);
    cr_pool_stop(pool);
    free(memory);
}
END_TEST

/* ---- random numbers ---- */

/* The known answers published with Random123 for philox4x32-10. */
static const struct {
    uint32_t counter[4], key[2], out[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(test_philox)
{
    uint32_t out[4];
    cr_philox_block(known[_i].counter, known[_i].key, out);
    ck_assert_mem_eq(out, known[_i].out, sizeof out);
}
END_TEST

static const struct cr_sequence standard[] = {{42, 1, CR_UNIFORM, 1, 0}, {42, 1, CR_NORMAL, 1, 0}};

/* Computes the words of the block with a number in the order of philox.h. */
static void block_of(uint64_t index, uint32_t words[4])
{
    uint64_t block = index / 64 * 16 + index % 16;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 9, 4}, key[2] = {5, 2};
    cr_philox_block(counter, key, words);
}

/* Words 0 and 1 make the first two numbers of a block, 2 and 3 the others. */
START_TEST(test_random_normal)
{
    const struct cr_runtime *k = cr_runtime_select(isas[_i]);
    const struct cr_sequence s = {5 | 2ull << 32, 9 | 4ull << 32, CR_NORMAL, 1, 0};
    for (uint64_t i = 3 | 1ull << 40; k && i < (1ull << 40) + 20000; i++) {
        uint32_t words[4];
        float got;
        block_of(i, words);
        const uint32_t *pair = words + (i % 64 / 32) * 2;
        float uniform = (float)((pair[0] + 0.5) / 4294967296.0);
        double radius = sqrt(-2 * log(uniform));
        double angle = acos(-1.0) / 2 * ((pair[1] & 0x3fffffff) + 0.5) / 1073741824.0;
        int second = i % 32 / 16, negative = second ? pair[1] >> 30 & 1 : pair[1] >> 31;
        double want = (negative ? -radius : radius) * (second ? sin(angle) : cos(angle));
        cr_random_fill(k, &s, i, 1, &got);
        CHECK(fabs(got - want) <= 5e-7 * fabs(want), "number %llu is %a, not %a",
              (unsigned long long)i, got, want);
    }
}
END_TEST

/* Each part of a sequence equals that part of the whole, with each instruction set. */
START_TEST(test_random_fill)
{
    enum { N = 300 };
    const struct cr_runtime *k = cr_runtime_select(isas[_i]), *plain = cr_runtime_select("plain");
    float whole[N], part[N];
    for (int normal = 0; k && normal < 2; normal++) {
        struct cr_sequence s = standard[normal];
        s.scale = 0.3f;
        s.shift = -0.2f;
        cr_random_fill(plain, &s, 0, N, whole);
        for (size_t first = 0; first < 130; first++) {
            for (size_t n = 0; first + n <= N; n += 17) {
                cr_random_fill(k, &s, first, n, part);
                assert_same(part, whole + first, n, "random", isas[_i]);
            }
        }
    }
}
END_TEST

START_TEST(test_random_uniform)
{
    enum { N = 1000 };
    float y[N];
    cr_random_fill(cr_runtime_select(NULL), &standard[0], 77, N, y);
    for (uint64_t i = 0; i < N; i++) {
        uint32_t words[4];
        ck_assert(same(y[i], cr_philox_uniform(42, 1, 77 + i)));
        block_of(i, words);
        float want = (float)(words[i % 64 / 16] >> 8) / 16777216.0f;
        ck_assert(same(want, cr_philox_uniform(5 | 2ull << 32, 9 | 4ull << 32, i)));
    }
    ck_assert(!same(cr_philox_uniform(1, 2, 3), cr_philox_uniform(2, 2, 3)));
    ck_assert(!same(cr_philox_uniform(1, 2, 3), cr_philox_uniform(1, 3, 3)));
    ck_assert(!same(cr_philox_uniform(1ull << 32, 2, 3), cr_philox_uniform(0, 2, 3)));
}
END_TEST

/* Returns n numbers of a sequence; the caller frees them. */
static float *drawn(int normal, size_t n)
{
    float *y = malloc(n * sizeof *y);
    ck_assert_ptr_nonnull(y);
    cr_random_fill(cr_runtime_select(NULL), &standard[normal], 0, n, y);
    return y;
}

/* The first four moments, and the covariances of neighbours, of pairs and of the halves of a group,
 * are within 6 standard errors. */
START_TEST(test_random_moments)
{
    enum { N = 200000, MOMENTS = 8 };
    static const double want[2][MOMENTS] = {{0.5, 1.0 / 3, 0.25, 0.2, 0.25, 0.25, 0.25, 0.25},
                                            {0, 1, 0, 3, 0, 0, 0, 0}};
    static const int apart[] = {1, 16, 32, 64};
    for (int normal = 0; normal < 2; normal++) {
        double moment[MOMENTS] = {0}, allowed = 6 * (normal ? 10 : 0.5) / sqrt(N);
        float *y = drawn(normal, N);
        for (int i = 0; i < N; i++) {
            double x = y[i];
            CHECK(normal || (x >= 0 && x < 1), "%g is not uniform in [0, 1)", x);
            for (int j = 0; j < 4; j++) {
                moment[j] += pow(x, j + 1) / N;
                moment[4 + j] += x * y[(i + apart[j]) % N] / N;
            }
        }
        for (int j = 0; j < MOMENTS; j++) {
            ck_assert_double_le(fabs(moment[j] - want[normal][j]), allowed);
        }
        free(y);
    }
}
END_TEST

/* The number of normal samples beyond a bound, on either side, is within 6 standard errors of the
 * expected number. */
START_TEST(test_random_tails)
{
    enum { N = 1 << 21 };
    float *y = drawn(1, N);
    for (double bound = -5; bound <= 5; bound += 0.5) {
        double expected = N * erfc(fabs(bound) / sqrt(2)) / 2, beyond = 0;
        for (int i = 0; i < N; i++) {
            beyond += bound < 0 ? y[i] < bound : y[i] > bound;
        }
        CHECK(fabs(beyond - expected) <= 6 * sqrt(expected) + 1, "%g numbers beyond %g, not %g",
              beyond, bound, expected);
    }
    free(y);
}
END_TEST

/* ---- choice ---- */

START_TEST(test_select)
{
    ck_assert_ptr_nonnull(cr_runtime_select(NULL));
    ck_assert_ptr_null(cr_runtime_select("sse9"));
    ck_assert_ptr_null(cr_runtime_select(""));
    for (int i = 0; i < ISAS; i++) {
        const struct cr_runtime *k = cr_runtime_select(isas[i]);
        ck_assert(k || i > 0);
        if (k) {
            ck_assert_str_eq(k->isa, isas[i]);
        }
    }
}
END_TEST

static Suite *runtime_suite(void)
{
    Suite *suite = suite_create("runtime");
    TCase *kernels = tcase_create("kernels");
    tcase_set_timeout(kernels, 300);
    tcase_add_loop_test(kernels, test_strips, 0, ISAS);
    tcase_add_loop_test(kernels, test_points, 0, ISAS);
    tcase_add_loop_test(kernels, test_accuracy, 0, COUNT(functions));
    tcase_add_test(kernels, test_powers);
    tcase_add_loop_test(kernels, test_reductions, 0, ISAS);
    tcase_add_loop_test(kernels, test_wide_reductions, 0, ISAS);
    tcase_add_loop_test(kernels, test_columns, 0, ISAS);
    tcase_add_loop_test(kernels, test_softmax_splitting, 0, ISAS);
    tcase_add_loop_test(kernels, test_softmax_block, 0, ISAS);
    tcase_add_loop_test(kernels, test_load_store, 0, ISAS);
    tcase_add_loop_test(kernels, test_zeros, 0, ISAS);
    tcase_add_loop_test(kernels, test_gather, 0, ISAS);
    tcase_add_loop_test(kernels, test_gather_panels, 0, ISAS);
    tcase_add_loop_test(kernels, test_lookup, 0, ISAS);
    tcase_add_loop_test(kernels, test_lookup_of_words, 0, ISAS);
    tcase_add_loop_test(kernels, test_cumsum, 0, ISAS);
    tcase_add_loop_test(kernels, test_scatter_add, 0, ISAS);
    tcase_add_loop_test(kernels, test_scatter_tile, 0, ISAS);
    tcase_add_loop_test(kernels, test_random_tiles, 0, ISAS);
    tcase_add_loop_test(kernels, test_hide, 0, ISAS);
    tcase_add_loop_test(kernels, test_hide_rows, 0, ISAS);
    tcase_add_loop_test(kernels, test_single_queries, 0, ISAS);
    tcase_add_loop_test(kernels, test_extremes, 0, ISAS);
    tcase_add_loop_test(kernels, test_finite, 0, ISAS);
    tcase_add_loop_test(kernels, test_combined, 0, ISAS);
    tcase_add_loop_test(kernels, test_bands, 0, ISAS);
    tcase_add_loop_test(kernels, test_band_of_zeros, 0, ISAS);
    tcase_add_loop_test(kernels, test_gemm, 0, ISAS);
    tcase_add_loop_test(kernels, test_gemm_accuracy, 0, ISAS);
    tcase_add_loop_test(kernels, test_long_sums, 0, ISAS);
    tcase_add_loop_test(kernels, test_gemm_stream, 0, ISAS);
    tcase_add_test(kernels, test_select);
    suite_add_tcase(suite, kernels);
    TCase *support = tcase_create("support");
    tcase_set_timeout(support, 300);
    tcase_add_test(support, test_parallel);
    tcase_add_test(support, test_pools_side_by_side);
    tcase_add_loop_test(support, test_pool_idle, 0, 2);
    tcase_add_test(support, test_pool_limits);
    tcase_add_loop_test(support, test_philox, 0, COUNT(known));
    tcase_add_loop_test(support, test_random_normal, 0, ISAS);
    tcase_add_loop_test(support, test_random_fill, 0, ISAS);
    tcase_add_test(support, test_random_uniform);
    tcase_add_test(support, test_random_moments);
    tcase_add_test(support, test_random_tails);
    suite_add_tcase(suite, support);
    return suite;
}

int main(void)
{
    report_missing_isas("test_runtime");
    SRunner *runner = srunner_create(runtime_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
