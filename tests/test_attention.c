/*
 * test_attention.c - the gradients of attention: what the interpreter says they are, the same
 * bits however they are computed, and memory that grows as the sequence does.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

#define SCRIPT "tests/scripts/attention_grads.lua"
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
enum { Q, K, V, G, INPUTS };     /* as the script declares them */
enum { DK, DQ, DV, Y, OUTPUTS }; /* by name */
enum { MAX_SETTINGS = 7 };

/* Sizes around a step of 32 queries and a block of 128 keys, and what masks make of them. */
static const struct shape {
    const char *T, *keys, *width, *value_width, *mask, *drop, *softmax;
} shapes[] = {
    {"1", "0", "16", "0", "causal", "none", "library"},
    {"2", "0", "4", "0", "causal", "none", "library"},
    {"31", "0", "8", "12", "causal", "none", "library"},
    {"33", "0", "8", "3", "causal", "none", "library"},
    {"128", "0", "64", "0", "causal", "none", "library"},
    {"129", "0", "16", "40", "causal", "none", "library"},
    {"300", "0", "16", "0", "causal", "none", "library"},
    {"300", "0", "5", "7", "window", "none", "library"},
    {"70", "200", "16", "0", "none", "none", "library"},
    {"200", "70", "8", "33", "none", "none", "library"},
    {"5", "300", "1", "1", "none", "none", "library"},
    {"257", "129", "33", "2", "none", "none", "library"},
    {"1", "7", "4", "4", "none", "none", "library"},
    {"9", "1", "4", "4", "none", "none", "library"},
    {"150", "260", "8", "8", "causal", "none", "library"},
    {"260", "150", "8", "8", "causal", "none", "library"},
    {"33", "0", "8", "0", "causal", "some", "library"},
    {"129", "0", "16", "40", "causal", "half", "library"},
    {"300", "0", "16", "0", "window", "some", "library"},
    {"70", "200", "16", "3", "none", "product", "library"},
    {"1", "7", "4", "4", "none", "some", "library"},
    {"9", "1", "4", "4", "none", "product", "library"},
    {"260", "150", "8", "8", "causal", "half", "library"},
    {"33", "0", "8", "0", "causal", "none", "maximum"},
    {"150", "260", "8", "9", "none", "none", "reciprocal"},
    {"129", "0", "16", "40", "causal", "none", "after"},
    {"300", "0", "5", "7", "window", "none", "maximum"},
    {"300", "0", "16", "0", "absolute", "none", "library"},
    {"40", "300", "8", "0", "absolute", "none", "library"},
    {"300", "0", "16", "3", "prefix", "none", "library"},
    {"1", "140", "8", "0", "prefix", "none", "library"},
    {"300", "40", "8", "0", "prefix", "some", "library"},
    {"300", "0", "16", "0", "longest", "none", "after"},
    {"40", "300", "8", "0", "longest", "none", "library"},
    {"500", "0", "16", "0", "first", "none", "library"},
    {"300", "400", "8", "5", "first", "half", "library"},
    {"200", "0", "16", "0", "scaled", "none", "library"},
};

/* How dropout and softmax may be written, and what may be asked for; see the script. */
static const char *const spellings[] = {"drop=none",     "drop=some",       "drop=half",
                                        "drop=product",  "softmax=maximum", "softmax=reciprocal",
                                        "softmax=after", "wanted=queries",  "wanted=keys"};

struct run {
    int64_t size[OUTPUTS];
    float *out[OUTPUTS];
};

static int64_t elements(const crescent_port *port)
{
    int64_t n = 1;
    for (int i = 0; i < port->rank; i++)
        n *= port->shape[i];
    return n;
}

/* Numbers between -2 and 2 that differ from input to input. */
static float *numbers(int64_t n, uint32_t seed)
{
    float *x = malloc((size_t)n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (1 << 22) - 2;
    }
    return x;
}

/* A step of one input along a direction. */
struct step {
    int input;
    float length;
};

static float *direction(int64_t n)
{
    return numbers(n, 99);
}

static void take_step(float *x, int64_t n, float length)
{
    float *d = direction(n);
    for (int64_t i = 0; i < n; i++)
        x[i] += length * d[i];
    free(d);
}

static struct run run_from(const struct shape *shape, crescent_backend backend, int threads,
                           const char *isa, struct step step)
{
    const crescent_setting settings[MAX_SETTINGS] = {{"T", shape->T},
                                                     {"keys", shape->keys},
                                                     {"width", shape->width},
                                                     {"value_width", shape->value_width},
                                                     {"mask", shape->mask},
                                                     {"drop", shape->drop},
                                                     {"softmax", shape->softmax}};
    crescent_config config = {.backend = backend,
                              .threads = threads,
                              .isa = isa};
    const crescent_script script = {.settings = settings, .n_settings = MAX_SETTINGS};
    crescent_context *context = crescent_context_new();
    crescent_model *model;
    struct run r = {0};
    float *in[INPUTS];
    crescent_port port;
    ck_assert_msg(crescent_open(context, SCRIPT, &script, &config, &model) == CRESCENT_OK, "%s",
                  crescent_error(context));
    for (int i = 0; i < INPUTS; i++) {
        ck_assert_int_eq(crescent_port_at(model, CRESCENT_INPUT, i, &port), CRESCENT_OK);
        in[i] = numbers(elements(&port), (uint32_t)i);
        if (i == step.input)
            take_step(in[i], elements(&port), step.length);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        ck_assert_int_eq(crescent_port_at(model, CRESCENT_OUTPUT, i, &port), CRESCENT_OK);
        r.size[i] = elements(&port);
        r.out[i] = calloc((size_t)r.size[i], sizeof(float));
        ck_assert_ptr_nonnull(r.out[i]);
    }
    ck_assert_int_eq(crescent_run(model, (const void *const *)in, (void *const *)r.out), 0);
    for (int i = 0; i < INPUTS; i++)
        free(in[i]);
    crescent_close(model);
    crescent_context_free(context);
    return r;
}

static struct run run(const struct shape *shape, crescent_backend backend, int threads,
                      const char *isa)
{
    return run_from(shape, backend, threads, isa, (struct step){0, 0});
}

static void release(struct run *r)
{
    for (int i = 0; i < OUTPUTS; i++)
        free(r->out[i]);
}

START_TEST(what_the_interpreter_says)
{
    struct run expected = run(&shapes[_i], CRESCENT_REF, 1, NULL);
    struct run found = run(&shapes[_i], CRESCENT_TCC, 1, NULL);
    for (int i = 0; i < OUTPUTS; i++)
        for (int64_t j = 0; j < found.size[i]; j++)
            ck_assert_float_eq_tol(found.out[i][j], expected.out[i][j], 5e-5f);
    release(&expected);
    release(&found);
}
END_TEST

static double dot(int64_t n, const float *a, const float *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* What the interpreter says sum(y g) is a step away. */
static double loss_after(const struct shape *shape, struct step step)
{
    struct run r = run_from(shape, CRESCENT_REF, 1, NULL, step);
    float *g = numbers(r.size[Y], G);
    double loss = dot(r.size[Y], r.out[Y], g);
    free(g);
    release(&r);
    return loss;
}

/* The slope along a direction is the gradient times that direction, for q, k and v. */
START_TEST(what_differences_say)
{
    const float h = 1.0f / 256;
    struct run found = run(&shapes[_i], CRESCENT_TCC, 1, NULL);
    for (int i = Q; i <= V; i++) {
        const int gradient = i == Q ? DQ : i == K ? DK : DV;
        const struct step ahead = {i, h}, back = {i, -h};
        double slope = (loss_after(&shapes[_i], ahead) - loss_after(&shapes[_i], back)) / (2 * h);
        int64_t n = found.size[gradient];
        const float *g = found.out[gradient];
        float *d = direction(n);
        double size = sqrt(dot(n, g, g) * dot(n, d, d));
        ck_assert_double_eq_tol(dot(n, g, d), slope, 1e-3 * (1 + size));
        free(d);
    }
    release(&found);
}
END_TEST

START_TEST(the_same_bits)
{
    static const struct {
        crescent_backend backend;
        int threads;
        const char *isa;
    } ways[] = {{CRESCENT_TCC, 2, NULL}, {CRESCENT_TCC, 3, "plain"}, {CRESCENT_CC, 2, NULL}};
    struct run first = run(&shapes[_i], CRESCENT_TCC, 1, NULL);
    for (int w = 0; w < COUNT(ways); w++) {
        struct run other = run(&shapes[_i], ways[w].backend, ways[w].threads, ways[w].isa);
        for (int i = 0; i < OUTPUTS; i++)
            ck_assert_mem_eq(other.out[i], first.out[i], (size_t)first.size[i] * sizeof(float));
        release(&other);
    }
    release(&first);
}
END_TEST

/* The number behind `label` in the dump after a pass, of a sequence of T. */
static double number_in_dump(int T, const char *spelling, const char *pass, const char *label)
{
    char command[512], line[512];
    double number = -1;
    snprintf(command, sizeof command,
             "\"${CRESCENT:-build/crescent}\" dump " SCRIPT " --set T=%d --set %s --after %s", T,
             spelling, pass);
    FILE *dump = popen(command, "r");
    ck_assert_ptr_nonnull(dump);
    while (fgets(line, sizeof line, dump)) {
        const char *at = strstr(line, label);
        if (at && number < 0)
            number = atof(at + strlen(label));
    }
    ck_assert_int_eq(pclose(dump), 0);
    ck_assert_msg(number >= 0, "no '%s' in the dump after %s", label, pass);
    return number;
}

/* No array of queries by keys, neither between kernels nor inside one. */
START_TEST(memory_grows_as_the_sequence)
{
    static const struct {
        const char *pass, *label;
    } sizes[] = {{"plan", "-- arena: "}, {"emit", "scratch_floats = "}};
    for (int i = 0; i < COUNT(sizes); i++) {
        double shorter = number_in_dump(1000, spellings[_i], sizes[i].pass, sizes[i].label);
        double longer = number_in_dump(2000, spellings[_i], sizes[i].pass, sizes[i].label);
        ck_assert_double_le(longer, 2.01 * shorter);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, what_the_interpreter_says, 0, COUNT(shapes));
    tcase_add_loop_test(all, what_differences_say, 0, COUNT(shapes));
    tcase_add_loop_test(all, the_same_bits, 0, COUNT(shapes));
    tcase_add_loop_test(all, memory_grows_as_the_sequence, 0, COUNT(spellings));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
