/*
 * test_sampler.c - the choice of the next token: against a reference that sorts, uses libm's exp
 * and sums in the order of likelihood; how often each token is drawn; the random numbers; and
 * logits without an answer.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/philox.h"
#include "runtime/sampler.h"

enum { MOST = 4096 };

static double scratch[CR_SAMPLE_SCRATCH(MOST)];

/* ---- the reference ---- */

static const float *compared;

/* Orders tokens for qsort: by `compared`, their logits, from the greatest down; equal ones by
 * id. */
static int by_logit(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    if (compared[i] != compared[j])
        return compared[i] > compared[j] ? -1 : 1;
    return i - j;
}

/* Computes the probability of each token, 0 for tokens that top-k or top-p removes. */
static void probabilities(const struct cr_sampling *how, const float *logits, int n, double *p)
{
    static int order[MOST];
    static double mass[MOST];
    double all = 0, before = 0, sum = 0;
    int kept = how->top_k > 0 && how->top_k < n ? (int)how->top_k : n;
    for (int i = 0; i < n; i++)
        order[i] = i;
    compared = logits;
    qsort(order, (size_t)n, sizeof *order, by_logit);
    for (int i = 0; i < n; i++)
        mass[i] = exp(((double)logits[i] - logits[order[0]]) / how->temperature);
    for (int i = 0; i < kept; i++)
        all += mass[order[i]];
    memset(p, 0, (size_t)n * sizeof *p);
    for (int i = 0; i < kept; i++) {
        if (how->top_p > 0 && how->top_p < 1 && before >= how->top_p * all)
            break;
        p[order[i]] = mass[order[i]];
        before += mass[order[i]];
    }
    for (int i = 0; i < n; i++)
        sum += p[i];
    for (int i = 0; i < n; i++)
        p[i] /= sum;
}

/* Returns the 53-bit random number of a position, from Philox. */
static double number(uint64_t seed, uint64_t stream, uint64_t position)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    uint32_t w[4];
    cr_philox_block(counter, key, w);
    return ((double)(w[0] >> 5) * 0x1p26 + (double)(w[1] >> 6)) * 0x1p-53;
}

/* Returns true if the cumulative probability reaches u at this token, in the order of ids, up to
 * rounding. */
static bool is_the_one(const double *p, int n, double u, long token)
{
    double before = 0;
    for (int i = 0; i < n && i < token; i++)
        before += p[i];
    return token >= 0 && token < n && p[token] > 0 && u > before - 1e-9 &&
           u < before + p[token] + 1e-9;
}

/* Makes logits, some of which are equal, far below the others, or -inf. */
static void make_logits(float *logits, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++) {
        double u = cr_philox_uniform(seed, 1, (uint64_t)i), v = cr_philox_uniform(seed, 2, (uint64_t)i);
        logits[i] = (float)(12 * u * u - 4);
        if (v < 0.3)
            logits[i] = rintf(logits[i]);
        else if (v < 0.35)
            logits[i] = -INFINITY;
        else if (v < 0.4)
            logits[i] = -300;
        else if (v < 0.42)
            logits[i] = v < 0.41 ? 0.0f : -0.0f;
    }
    logits[n / 2] = 1;
}

static const struct {
    int n;
    double temperature;
    long top_k;
    double top_p;
} settings[] = {
    {1, 1, 0, 0},         {2, 1, 0, 0},        {17, 1, 1, 0},        {512, 1, 0, 1},
    {512, 0.7, 0, 0.9},   {512, 1.3, 40, 0},   {512, 1, 40, 0.95},   {4096, 2, 0, 0.5},
    {4096, 0.1, 0, 0.99}, {4096, 1, 4095, 0},  {4096, 1, 4096, 0},   {4096, 1, 5000, 1.5},
    {100, 1e-30, 0, 0},   {100, 1e30, 0, 0.3}, {1000, 50, 300, 0.1}, {1000, 1, 2, 1e-300},
    {1000, 1, 0, 1 - 1e-16},
};

START_TEST(is_the_token_of_a_straightforward_one)
{
    static float logits[MOST];
    static double p[MOST];
    struct cr_sampling how = {settings[_i].temperature, settings[_i].top_k, settings[_i].top_p, 9, 4};
    int n = settings[_i].n;
    for (uint64_t seed = 0; seed < 20; seed++) {
        make_logits(logits, n, seed);
        probabilities(&how, logits, n, p);
        for (uint64_t position = 0; position < 50; position++) {
            long token = cr_sample(&how, logits, n, position, scratch);
            ck_assert_msg(is_the_one(p, n, number(9, 4, position), token), "seed %d, position %d: %ld",
                          (int)seed, (int)position, token);
        }
    }
}
END_TEST

/* Each token is drawn as often as its probability says: chi-square with at most 31 degrees of
 * freedom exceeds 70 once in ten thousand tests. */
START_TEST(draws_by_probability)
{
    enum { N = 32, DRAWS = 200000 };
    float logits[N];
    double p[N], chi = 0;
    long counts[N] = {0};
    const struct cr_sampling how = {1.0 + 0.3 * _i, _i == 1 ? 20 : 0, _i == 2 ? 0.8 : 0, 77 + (unsigned)_i, 0};
    for (int i = 0; i < N; i++)
        logits[i] = sinf((float)(7 * i)) * 1.5f;
    probabilities(&how, logits, N, p);
    for (uint64_t position = 0; position < DRAWS; position++)
        counts[cr_sample(&how, logits, N, position, scratch)]++;
    for (int i = 0; i < N; i++) {
        double expected = p[i] * DRAWS, off = (double)counts[i] - expected;
        ck_assert(expected > 0 || counts[i] == 0);
        chi += expected > 0 ? off * off / expected : 0;
    }
    ck_assert_msg(chi < 70, "chi-square %g", chi);
}
END_TEST

START_TEST(is_the_likeliest_at_temperature_0)
{
    const struct cr_sampling how = {.top_k = 3, .top_p = 0.1, .seed = 5};
    const float logits[] = {-1, 4, 3, 4, -INFINITY}, zeros[] = {-0.0f, 0.0f, -0.0f};
    const float high[] = {1e38f, INFINITY, 2, INFINITY};
    ck_assert_int_eq(cr_sample(&how, logits, 5, 0, scratch), 1);
    ck_assert_int_eq(cr_sample(&how, zeros, 3, 0, scratch), 0);
    ck_assert_int_eq(cr_sample(&how, high, 4, 0, scratch), 1);
    ck_assert_int_eq(cr_sample(&how, logits + 4, 1, 0, scratch), CR_SAMPLE_NONE);
}
END_TEST

START_TEST(knows_what_has_no_answer)
{
    const struct cr_sampling hot = {.temperature = 1, .top_k = 2, .top_p = 0.5}, cold = {0};
    const float nans[] = {1, NAN, 2}, none[] = {-INFINITY, -INFINITY};
    const float infinite[] = {1, INFINITY, 2, INFINITY};
    long counts[4] = {0};
    ck_assert_int_eq(cr_sample(&hot, nans, 3, 0, scratch), CR_SAMPLE_NAN);
    ck_assert_int_eq(cr_sample(&cold, nans, 3, 0, scratch), CR_SAMPLE_NAN);
    ck_assert_int_eq(cr_sample(&hot, none, 2, 0, scratch), CR_SAMPLE_NONE);
    const struct cr_sampling warm = {.temperature = 1};
    for (uint64_t position = 0; position < 1000; position++)
        counts[cr_sample(&warm, infinite, 4, position, scratch)]++;
    ck_assert(counts[0] == 0 && counts[2] == 0 && counts[1] > 400 && counts[3] > 400);
}
END_TEST

/* Among equal logits at the limit, the lower ids are kept. */
START_TEST(leaves_the_lower_ids)
{
    const float logits[] = {1, 2, 1, 2, 1, 1};
    const struct cr_sampling three = {.temperature = 1, .top_k = 3};
    const struct cr_sampling half = {.temperature = 1, .top_p = 0.5758 + 0.1}; /* 2 and 2 have 0.5761 */
    for (uint64_t position = 0; position < 300; position++) {
        long k = cr_sample(&three, logits, 6, position, scratch);
        long p = cr_sample(&half, logits, 6, position, scratch);
        ck_assert(k == 0 || k == 1 || k == 3);
        ck_assert(p == 0 || p == 1 || p == 3);
    }
}
END_TEST

/* Draws are equal on every machine and do not change between versions: the expected ids were computed
 * once. */
START_TEST(is_the_same_everywhere)
{
    static const long expected[] = {2341, 4092, 3172, 2834, 1245, 1233, 1004, 1395};
    static float logits[MOST];
    const struct cr_sampling how = {.temperature = 0.8, .top_k = 200, .top_p = 0.95, .seed = 42};
    make_logits(logits, MOST, 3);
    for (uint64_t position = 0; position < sizeof expected / sizeof *expected; position++)
        ck_assert_int_eq(cr_sample(&how, logits, MOST, position, scratch), expected[position]);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *tests = tcase_create("sampler");
    tcase_add_loop_test(tests, is_the_token_of_a_straightforward_one, 0, COUNT(settings));
    tcase_add_loop_test(tests, draws_by_probability, 0, 3);
    tcase_add_test(tests, is_the_likeliest_at_temperature_0);
    tcase_add_test(tests, knows_what_has_no_answer);
    tcase_add_test(tests, leaves_the_lower_ids);
    tcase_add_test(tests, is_the_same_everywhere);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
