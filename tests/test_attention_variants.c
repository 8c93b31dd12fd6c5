/*
 * test_attention_variants.c - the kinds of attention in tests/variants/layer.lua: they agree with
 * the interpreter, have the same bits on any number of threads, take as few kernels as plain
 * attention and memory that is linear in the length, and skip the keys that a mask hides.
 */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

#define SCRIPT "tests/variants/layer.lua"
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
enum { MAX_INPUTS = 4, T = 300, WINDOW = 32, PREFIX = 24, HEADS = 4, WIDTH = 16 };

/* Which keys a query sees. */
typedef int sees(int query, int key);

static int causal(int q, int k)
{
    return k <= q;
}

static int window(int q, int k)
{
    return abs(q - k) < WINDOW;
}

static int past_window(int q, int k)
{
    return causal(q, k) && window(q, k);
}

static int prefix(int q, int k)
{
    return k < PREFIX || k <= q;
}

static int sinks(int q, int k)
{
    return causal(q, k) && (k < 4 || window(q, k));
}

static int all(int q, int k)
{
    return q >= 0 && k >= 0;
}

/* A variant: its number of kernels, the number of keys that a query sees, and whether it stores
 * arrays of queries by keys, so that its memory is quadratic. */
static const struct variant {
    const char *name;
    int kernels;
    sees *sees;
    int grows;
} variants[] = {
    {"plain", 3, causal, 0},
    {"full", 3, all, 0},
    {"windowAnd", 3, past_window, 0},
    {"windowAbs", 3, window, 0},
    {"windowAbsCausal", 3, past_window, 0},
    {"windowTwice", 3, past_window, 0},
    {"windowNot", 3, past_window, 0},
    {"prefixOr", 3, prefix, 0},
    {"prefixMaximum", 3, prefix, 0},
    {"prefixWhere", 3, prefix, 0},
    {"prefixTensor", 3, all, 0},
    {"prefixBatch", 3, all, 0},
    {"positionTensor", 3, all, 0},
    {"padding", 3, causal, 0},
    {"sinkWindow", 3, sinks, 0},
    {"segments", 3, causal, 0},
    {"segmentsFull", 3, all, 0},
    {"alibi", 3, causal, 0},
    {"alibiComputed", 3, causal, 0},
    {"alibiTrained", 3, causal, 0},
    {"t5", 3, causal, 0},
    {"t5Full", 3, all, 0},
    {"bias", 3, causal, 0},
    {"gqa", 3, causal, 0},
    {"gqaExpand", 3, causal, 0},
    {"gqaConcat", 3, causal, 0},
    {"gqaGather", 3, causal, 0},
    {"mqa", 3, causal, 0},
    {"softcap", 3, causal, 0},
    {"qkNorm", 3, causal, 0},
    {"softmaxOne", 3, causal, 0},
    {"softmaxOneShifted", 3, causal, 0},
    {"softmaxOneMaximum", 3, causal, 0},
    {"softmaxOneAfter", 3, causal, 0},
    {"softmaxOneTimes", 3, causal, 0},
    {"sink", 3, causal, 0},
    {"sinkConcat", 3, causal, 0},
    {"sigmoid", 3, causal, 0},
    {"sigmoidZero", 3, causal, 0},
    {"sigmoidBias", 3, causal, 0},
    {"relu", 3, causal, 0},
    {"biased", 3, causal, 0},
    {"biasedSome", 7, causal, 0},
    {"rope", 3, causal, 0},
    {"ropeHalf", 3, causal, 0},
    {"ropeInterleaved", 3, causal, 0},
    {"ropeGqa", 3, causal, 0},
    {"ropeBiased", 3, causal, 0},
    {"ropePart", 3, causal, 0},
    {"ropeNorm", 3, causal, 0},
    {"ropeNormHalf", 3, causal, 0},
    {"differential", 4, NULL, 0},
    {"differentialSum", 4, NULL, 0},
    {"differentialHeads", 5, NULL, 0},
    {"differentialPairs", 5, NULL, 0},
    {"differentialShared", 4, NULL, 1},
};

/* Returns data for an input: numbers between -2 and 2, ids of 3 segments, or a length. */

/* Numbers between -2 and 2; ids of 3 segments, or a length. */
static void *input_data(const crescent_port *port, uint32_t seed)
{
    int64_t n = crescent_port_elements(port);
    float *x = malloc((size_t)n * sizeof *x);
    int *id = (int *)x;
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (port->type == CRESCENT_I32)
            id[i] = n == 1 ? PREFIX : (int)(i * 3 / n);
        else
            x[i] = (float)(seed >> 8) / (1 << 22) - 2;
    }
    return x;
}

/* Returns y of a variant, which the caller frees.  The width of a head is a whole number of cache
 * lines or, with `odd`, it is not. */
static float *run(const char *variant, bool odd, crescent_backend backend, int threads,
                  const char *isa, int64_t *n)
{
    const crescent_setting settings[] = {
        {"variant", variant}, {"T", "300"}, {"B", "2"}, {"n_embd", odd ? "24" : "64"}};
    crescent_config config = {.backend = backend, .threads = threads, .isa = isa};
    const crescent_script script = {.settings = settings, .n_settings = COUNT(settings)};
    crescent_context *context = crescent_context_new();
    crescent_model *model;
    void *in[MAX_INPUTS];
    crescent_port port;
    int n_inputs = 0;
    ck_assert_msg(crescent_open(context, SCRIPT, &script, &config, &model) == CRESCENT_OK, "%s",
                  crescent_error(context));
    ck_assert_int_eq(crescent_draw_weights(model, 1), CRESCENT_OK);
    while (crescent_port_at(model, CRESCENT_INPUT, n_inputs, &port) == CRESCENT_OK) {
        ck_assert_int_lt(n_inputs, MAX_INPUTS);
        in[n_inputs] = input_data(&port, (uint32_t)n_inputs);
        n_inputs++;
    }
    ck_assert_int_eq(crescent_port_at(model, CRESCENT_OUTPUT, 0, &port), CRESCENT_OK);
    *n = crescent_port_elements(&port);
    float *out = calloc((size_t)*n, sizeof *out);
    ck_assert_int_eq(crescent_run(model, (const void *const *)in, (void *const *)&out), 0);
    for (int i = 0; i < n_inputs; i++)
        free(in[i]);
    crescent_close(model);
    crescent_context_free(context);
    return out;
}

START_TEST(agrees_with_the_interpreter)
{
    int64_t n;
    const char *name = variants[_i / 2].name;
    float *expected = run(name, _i % 2, CRESCENT_REF, 1, NULL, &n);
    float *found = run(name, _i % 2, CRESCENT_TCC, 1, NULL, &n);
    for (int64_t i = 0; i < n; i++)
        if (!(found[i] - expected[i] < 2e-5f && expected[i] - found[i] < 2e-5f))
            ck_abort_msg("%s: element %d is %.9g, not %.9g", name, (int)i, (double)found[i],
                         (double)expected[i]);
    free(expected);
    free(found);
}
END_TEST

START_TEST(the_same_bits)
{
    int64_t n;
    float *first = run(variants[_i].name, true, CRESCENT_TCC, 1, NULL, &n);
    float *second = run(variants[_i].name, true, CRESCENT_TCC, 3, "plain", &n);
    ck_assert_mem_eq(first, second, (size_t)n * sizeof *first);
    free(first);
    free(second);
}
END_TEST

/* A mask that depends on data hides the same keys as a constant mask. */
START_TEST(a_mask_of_data_has_the_bits_of_a_constant)
{
    int64_t n;
    float *first = run("prefixTensor", _i, CRESCENT_TCC, 1, NULL, &n);
    float *second = run("prefixOr", _i, CRESCENT_TCC, 1, NULL, &n);
    ck_assert_mem_eq(first, second, (size_t)n * sizeof *first);
    free(first);
    free(second);
}
END_TEST

/* ---- costs ---- */

/* Returns the first number after or before `label` in the dump after a pass, searching from the
 * first line that contains `from`. */
static double number_in_dump(const char *variant, int tokens, const char *pass, const char *from,
                             const char *label)
{
    char command[512], line[512];
    double number = -1;
    int there = 0;
    snprintf(command, sizeof command,
             "\"${CRESCENT:-build/crescent}\" dump " SCRIPT " --set variant=%s --set T=%d --after %s",
             variant, tokens, pass);
    FILE *dump = popen(command, "r");
    ck_assert_ptr_nonnull(dump);
    while (fgets(line, sizeof line, dump)) {
        const char *at = strstr(line, label);
        there |= strstr(line, from) != NULL;
        if (!there || !at || number >= 0)
            continue;
        while (*label == ' ' && at > line && strchr("0123456789", at[-1]))
            at--;
        number = atof(*label == ' ' ? at : at + strlen(label));
    }
    ck_assert_int_eq(pclose(dump), 0);
    ck_assert_msg(number >= 0, "%s: no '%s' in the dump after %s", variant, label, pass);
    return number;
}

START_TEST(numbers_of_kernels)
{
    const struct variant *v = &variants[_i];
    ck_assert_int_eq((int)number_in_dump(v->name, 300, "fuse", "", " kernels"), v->kernels);
}
END_TEST

/* Memory is linear in the length: no array of queries by keys exists, neither between kernels nor
 * inside one. */
START_TEST(memory_grows_as_the_sequence)
{
    static const struct {
        const char *pass, *label;
    } sizes[] = {{"plan", "-- arena: "}, {"emit", "scratch_floats = "}};
    int grows = 0;
    for (int i = 0; i < COUNT(sizes); i++) {
        double shorter = number_in_dump(variants[_i].name, 1024, sizes[i].pass, "", sizes[i].label);
        double longer = number_in_dump(variants[_i].name, 2048, sizes[i].pass, "", sizes[i].label);
        grows |= longer > 2.01 * shorter;
    }
    ck_assert_int_eq(grows, variants[_i].grows);
}
END_TEST

/* The work of the attention is proportional to the visible keys; only blocks at the edges compute hidden
 * keys, too. */
START_TEST(work_is_that_of_visible_keys)
{
    const struct variant *v = &variants[_i];
    double seen = 0;
    if (!v->sees)
        return;
    for (int q = 0; q < T; q++)
        for (int k = 0; k < T; k++)
            seen += v->sees(q, k) != 0;
    double flops = number_in_dump(v->name, T, "fuse", ": attention ", " flop");
    ck_assert_double_eq(flops, seen * HEADS * 2 * 2 * WIDTH);
}
END_TEST

/* Returns true if a line of the emitted C contains every word of `text`. */
static bool is_emitted(const char *variant, const char *text)
{
    char command[512], line[512];
    bool found = false;
    snprintf(command, sizeof command,
             "\"${CRESCENT:-build/crescent}\" dump " SCRIPT
             " --set variant=%s --set T=300 --set B=2 --after emit", variant);
    FILE *dump = popen(command, "r");
    ck_assert_ptr_nonnull(dump);
    while (fgets(line, sizeof line, dump))
        found |= strstr(line, text) != NULL;
    ck_assert_int_eq(pclose(dump), 0);
    return found;
}

/* The condition under which a block of keys is computed. */
static const struct {
    const char *variant, *condition;
} conditions[] = {
    {"prefixTensor", "if (!finite || (key < value1 || key < query + 30)) {"},
    {"prefixBatch", "if (!finite || (key < value1 || key < query + 30)) {"},
    {"positionTensor", "key < query + 29 + value2 + 1)"},
    {"padding", "if (!finite || (key < query + 30 && least3 < 2)) {"},
    {"segments", "if (!finite || (key < query + 30 && least3 < greatest4 + 1 &&"},
    {"segmentsFull", "if (!finite || (least0 < greatest1 + 1 &&"},
};

START_TEST(blocks_that_are_computed)
{
    ck_assert_msg(is_emitted(conditions[_i].variant, conditions[_i].condition), "%s: no '%s'",
                  conditions[_i].variant, conditions[_i].condition);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention_variants");
    TCase *tests = tcase_create("variants");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, agrees_with_the_interpreter, 0, 2 * COUNT(variants));
    tcase_add_loop_test(tests, the_same_bits, 0, COUNT(variants));
    tcase_add_loop_test(tests, a_mask_of_data_has_the_bits_of_a_constant, 0, 2);
    tcase_add_loop_test(tests, numbers_of_kernels, 0, COUNT(variants));
    tcase_add_loop_test(tests, memory_grows_as_the_sequence, 0, COUNT(variants));
    tcase_add_loop_test(tests, work_is_that_of_visible_keys, 0, COUNT(variants));
    tcase_add_loop_test(tests, blocks_that_are_computed, 0, COUNT(conditions));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
