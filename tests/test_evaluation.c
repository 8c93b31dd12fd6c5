/*
 * test_evaluation.c - the perplexity of a text under a model: against sums computed from their
 * definition, over windows of any size, with and without a token in front, and together with a
 * reference model.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

enum { CONTEXT = 24, VOCABULARY = 37, N = 100 };

static crescent_context *context;
static int32_t ids[N];

static void set_up(void)
{
    context = crescent_context_new();
    for (int i = 0; i < N; i++)
        ids[i] = (i * 29 + i * i * 7 + 5) % VOCABULARY;
}

static void tear_down(void)
{
    crescent_context_free(context);
}

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

#define REFUSED(call, word)                                                                        \
    do {                                                                                           \
        ck_assert_int_eq((call), CRESCENT_FAILED);                                                 \
        ck_assert_msg(strstr(crescent_error(context), word), "%s", crescent_error(context));       \
    } while (0)

static crescent_generator *open_model(int64_t seed, int all_logits, const char *vocabulary)
{
    static const crescent_config config = {.backend = CRESCENT_TCC, .threads = 1};
    const crescent_setting settings[] = {{"n_embd", "16"}, {"n_head", "2"}, {"n_layer", "1"},
                                         {"T", "24"}, {"vocab_size", vocabulary}};
    const crescent_script how = {.settings = settings, .n_settings = 5};
    const crescent_generation generation = {.all_logits = all_logits, .chunk = 7};
    crescent_generator *g;
    GOOD(crescent_generator_open(context, "graphs/gpt2.lua", &how, &config, &generation, &g));
    GOOD(crescent_draw_weights(crescent_generator_model(g), seed));
    return g;
}

/* ---- the definition, one position at a time ---- */

/* Computes the probability of every next token in a window. */
static void probabilities(crescent_generator *g, const int32_t *window, int n,
                          double p[CONTEXT][VOCABULARY])
{
    float logits[CONTEXT * VOCABULARY];
    GOOD(crescent_generator_reset(g));
    GOOD(crescent_generator_feed(g, window, n, logits));
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int v = 0; v < VOCABULARY; v++)
            sum += p[i][v] = exp((double)logits[i * VOCABULARY + v]);
        for (int v = 0; v < VOCABULARY; v++)
            p[i][v] /= sum;
    }
}

static int best(const double *p)
{
    int at = 0;
    for (int v = 1; v < VOCABULARY; v++)
        at = p[v] > p[at] ? v : at;
    return at;
}

/* Adds a window of n tokens to the sums. */
static void add_window(crescent_generator *a, crescent_generator *b, const int32_t *window, int n,
                       crescent_evaluation *sums)
{
    double p[CONTEXT][VOCABULARY], q[CONTEXT][VOCABULARY];
    probabilities(a, window, n, p);
    probabilities(b, window, n, q);
    for (int i = 0; i + 1 < n; i++) {
        sums->tokens++;
        sums->loss -= log(p[i][window[i + 1]]);
        sums->reference -= log(q[i][window[i + 1]]);
        sums->agreement += best(p[i]) == best(q[i]);
        for (int v = 0; v < VOCABULARY; v++)
            sums->divergence += q[i][v] * log(q[i][v] / p[i][v]);
    }
}

static crescent_evaluation define(crescent_generator *a, crescent_generator *b,
                                  const crescent_window *how, int n)
{
    crescent_evaluation sums = {0};
    int front = how->begin >= 0, step = (int)how->tokens - front;
    for (int first = 0; first < n; first += step) {
        int32_t window[CONTEXT] = {(int32_t)how->begin};
        int some = n - first < step ? n - first : step;
        memcpy(window + front, ids + first, (size_t)some * sizeof *ids);
        add_window(a, b, window, front + some, &sums);
    }
    return sums;
}

static void compare(const crescent_evaluation *found, const crescent_evaluation *sums)
{
    double n = (double)sums->tokens;
    ck_assert_int_eq(found->tokens, sums->tokens);
    ck_assert_double_eq_tol(found->loss, sums->loss / n, 1e-9);
    ck_assert_double_eq_tol(found->reference, sums->reference / n, 1e-9);
    ck_assert_double_eq_tol(found->divergence, sums->divergence / n, 1e-9);
    ck_assert_double_eq_tol(found->agreement, sums->agreement / n, 1e-12);
}

static const struct {
    int tokens, begin, n;
} windows[] = {
    {CONTEXT, CRESCENT_NONE, N}, {CONTEXT, 3, N}, {2, CRESCENT_NONE, 9}, {2, 5, 9},
    {7, CRESCENT_NONE, 8}, /* the last window has a single token, which predicts nothing */
    {7, 0, 7}, {CONTEXT, CRESCENT_NONE, 2}, {CONTEXT, 1, 1},
};

START_TEST(sums_are_those_of_the_definition)
{
    crescent_generator *a = open_model(3, 1, "37"), *b = open_model(4, 1, "37");
    const crescent_window how = {windows[_i].tokens, windows[_i].begin};
    crescent_evaluation found, sums = define(a, b, &how, windows[_i].n);
    GOOD(crescent_evaluate(a, b, &how, ids, windows[_i].n, &found));
    compare(&found, &sums);
    ck_assert_double_gt(found.divergence, 1e-6);
    GOOD(crescent_evaluate(a, NULL, &how, ids, windows[_i].n, &found));
    ck_assert_double_eq_tol(found.loss, sums.loss / (double)sums.tokens, 1e-9);
    ck_assert(isnan(found.reference) && isnan(found.divergence) && isnan(found.agreement));
    crescent_generator_close(a);
    crescent_generator_close(b);
}
END_TEST

START_TEST(a_model_has_no_divergence_from_itself)
{
    crescent_generator *a = open_model(3, 1, "37"), *b = open_model(3, 1, "37");
    const crescent_window how = {CONTEXT, CRESCENT_NONE};
    crescent_evaluation found;
    GOOD(crescent_evaluate(a, b, &how, ids, N, &found));
    ck_assert(found.loss == found.reference && found.divergence == 0 && found.agreement == 1);
    crescent_generator_close(a);
    crescent_generator_close(b);
}
END_TEST

START_TEST(what_is_refused)
{
    crescent_generator *a = open_model(3, 1, "37"), *last = open_model(3, 0, "37");
    crescent_generator *other = open_model(3, 1, "38");
    const crescent_window good = {CONTEXT, CRESCENT_NONE};
    const crescent_window one = {1, CRESCENT_NONE}, long_one = {CONTEXT + 1, CRESCENT_NONE};
    crescent_evaluation e;
    const int32_t high[] = {1, VOCABULARY}, low[] = {1, -1};
    REFUSED(crescent_evaluate(last, NULL, &good, ids, N, &e), "without all_logits");
    REFUSED(crescent_evaluate(a, other, &good, ids, N, &e), "vocabularies of 37 and 38");
    REFUSED(crescent_evaluate(a, NULL, &one, ids, N, &e), "windows of 1 tokens");
    REFUSED(crescent_evaluate(a, NULL, &long_one, ids, N, &e), "expected 2 to the 24");
    REFUSED(crescent_evaluate(a, NULL, &good, ids, 1, &e), "a text of 1 tokens");
    REFUSED(crescent_evaluate(a, NULL, &good, high, 2, &e), "token 1 is 37");
    REFUSED(crescent_evaluate(a, NULL, &good, low, 2, &e), "token 1 is -1");
    REFUSED(crescent_evaluate(a, NULL, NULL, ids, N, &e), "null");
    crescent_generator_close(a);
    crescent_generator_close(last);
    crescent_generator_close(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evaluation");
    TCase *tests = tcase_create("evaluation");
    SRunner *runner = srunner_create(suite);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, sums_are_those_of_the_definition, 0,
                        sizeof windows / sizeof *windows);
    tcase_add_test(tests, a_model_has_no_divergence_from_itself);
    tcase_add_test(tests, what_is_refused);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
