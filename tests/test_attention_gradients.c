/*
 * test_attention_gradients.c - the gradients of attention: compared with the interpreter and with finite
 * differences, with the same bits on every backend, and with memory linear in the length of the sequence.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/crescent.h"

#define SCRIPT "tests/scripts/attention_grads.lua"
#define VARIANTS "tests/scripts/attention_variants.lua"
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
enum { MAX_PORTS = 5, MAX_SETTINGS = 9 };

/* Sizes below and above the 32 queries of a step and the 128 keys of a block, with several
 * masks. */
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
    {"300", "0", "16", "0", "reach", "none", "library"},
    {"300", "400", "8", "5", "reach", "half", "library"},
    {"400", "0", "8", "0", "documents", "some", "library"},
    {"500", "0", "5", "7", "documents", "none", "after"},
};

/* Values of the script's options: ways to write dropout and softmax, and subsets of gradients. */
static const char *const spellings[] = {"drop=none",     "drop=some",       "drop=half",
                                        "drop=product",  "softmax=maximum", "softmax=reciprocal",
                                        "softmax=after", "wanted=queries",  "wanted=keys"};

/* A script with its settings. */
struct model {
    const char *script;
    crescent_setting settings[MAX_SETTINGS];
    int n;
};

static struct model model_of(const struct shape *shape)
{
    return (struct model){SCRIPT,
                          {{"T", shape->T},
                           {"keys", shape->keys},
                           {"width", shape->width},
                           {"value_width", shape->value_width},
                           {"mask", shape->mask},
                           {"drop", shape->drop},
                           {"softmax", shape->softmax}},
                          7};
}

/* Values of the script's options: functions of the scores, and ways in which heads share keys and
 * values. */
static const struct variant {
    const char *kind, *T, *keys, *width, *groups, *share, *causal, *drop;
} variants[] = {
    {"cap", "150", "0", "8", "4", "matmul", "true", "false"},
    {"cap", "33", "200", "5", "4", "matmul", "false", "false"},
    {"trained_cap", "129", "0", "8", "4", "matmul", "true", "false"},
    {"temperature", "150", "0", "8", "4", "matmul", "true", "false"},
    {"divided", "31", "0", "8", "2", "rank5", "true", "false"},
    {"head_temperature", "200", "70", "16", "4", "matmul", "true", "true"},
    {"exp_temperature", "33", "0", "4", "4", "matmul", "false", "false"},
    {"slopes", "150", "0", "8", "4", "matmul", "true", "false"},
    {"slopes", "129", "260", "3", "2", "repeat", "false", "true"},
    {"key_slopes", "150", "0", "8", "4", "matmul", "true", "false"},
    {"bias", "150", "0", "8", "4", "matmul", "true", "false"},
    {"bias", "33", "129", "8", "1", "matmul", "false", "true"},
    {"shared_bias", "129", "0", "8", "4", "matmul", "true", "false"},
    {"batch_bias", "40", "129", "8", "4", "matmul", "false", "false"},
    {"key_bias", "150", "0", "8", "4", "matmul", "true", "false"},
    {"query_bias", "150", "0", "8", "4", "matmul", "true", "false"},
    {"bias_and_slopes", "70", "0", "8", "4", "matmul", "true", "false"},
    {"table", "150", "0", "8", "4", "matmul", "true", "false"},
    {"table", "33", "200", "8", "2", "repeat", "false", "true"},
    {"table_by_column", "70", "0", "8", "4", "matmul", "true", "false"},
    {"offsets", "129", "0", "8", "4", "matmul", "true", "false"},
    {"window", "200", "0", "8", "2", "cycle", "false", "false"},
    {"prefix", "150", "0", "8", "4", "matmul", "false", "false"},
    {"segments", "150", "0", "8", "4", "matmul", "false", "false"},
    {"weighted", "70", "0", "8", "4", "matmul", "true", "false"},
    {"both", "150", "0", "8", "4", "matmul", "true", "false"},
    {"plain", "150", "0", "8", "2", "rank5", "true", "false"},
    {"plain", "40", "130", "8", "2", "repeat", "false", "true"},
    {"plain", "40", "0", "8", "2", "transposed", "true", "false"},
    {"plain", "40", "0", "8", "2", "cycle", "true", "false"},
    {"plain", "150", "0", "8", "1", "matmul", "true", "false"},
    {"plain", "70", "0", "8", "1", "rank3", "true", "true"},
    {"slopes", "1", "9", "4", "1", "matmul", "false", "false"},
    {"table", "9", "1", "4", "4", "matmul", "false", "false"},
    {"sigmoid", "150", "0", "8", "4", "matmul", "true", "false"},
    {"sigmoid", "33", "200", "5", "2", "repeat", "false", "false"},
    {"sigmoid", "70", "0", "8", "1", "rank3", "true", "true"},
    {"sigmoid", "1", "9", "4", "4", "matmul", "false", "false"},
    {"sigmoid_zero", "300", "0", "8", "2", "rank5", "true", "false"},
    {"sigmoid_zero", "200", "140", "16", "4", "matmul", "true", "false"},
    {"sigmoid_slopes", "150", "0", "8", "4", "matmul", "true", "false"},
    {"sigmoid_sum", "150", "0", "8", "4", "matmul", "true", "false"},
    {"relu", "150", "0", "8", "4", "matmul", "true", "false"},
    {"softmax_one", "150", "0", "8", "2", "rank5", "true", "false"},
    {"shifted_one", "150", "0", "8", "4", "matmul", "true", "false"},
    {"shifted_one", "33", "129", "8", "2", "cycle", "false", "true"},
    {"sink", "150", "0", "8", "4", "matmul", "true", "false"},
    {"sink", "33", "300", "5", "2", "repeat", "false", "true"},
    {"sink", "1", "9", "4", "4", "matmul", "false", "false"},
    {"sink_concat", "129", "0", "8", "4", "matmul", "true", "false"},
    {"softmax_one", "40", "300", "5", "4", "matmul", "false", "true"},
    {"relu", "129", "40", "3", "2", "cycle", "false", "true"},
};

static struct model model_of_variant(const struct variant *v)
{
    return (struct model){VARIANTS,
                          {{"kind", v->kind},
                           {"T", v->T},
                           {"keys", v->keys},
                           {"width", v->width},
                           {"groups", v->groups},
                           {"share", v->share},
                           {"causal", v->causal},
                           {"drop", v->drop}},
                          8};
}

/* Models are numbered through both tables, the first table first. */
enum { N_MODELS = COUNT(shapes) + COUNT(variants) };

static struct model model_at(int i)
{
    return i < COUNT(shapes) ? model_of(&shapes[i]) : model_of_variant(&variants[i - COUNT(shapes)]);
}

struct run {
    int n;
    int64_t size[MAX_PORTS];
    float *out[MAX_PORTS];
    char name[MAX_PORTS][16];
};

static int64_t elements(const crescent_port *port)
{
    int64_t n = 1;
    for (int i = 0; i < port->rank; i++)
        n *= port->shape[i];
    return n;
}

/* Returns n numbers between -2 and 2 that depend on the seed. */
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

/* A step along a direction, of the inputs whose bits are set. */
struct step {
    unsigned inputs;
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

/* A configuration of a run. */
struct way {
    crescent_backend backend;
    int threads;
    const char *isa, *target;
};

static const struct way interpreted = {CRESCENT_REF, 1, NULL, NULL};
static const struct way compiled = {CRESCENT_TCC, 1, NULL, NULL};

static struct run run_from(const struct model *m, const struct way *way, struct step step)
{
    crescent_config config = {
        .backend = way->backend, .threads = way->threads, .isa = way->isa, .target = way->target};
    const crescent_script script = {.settings = m->settings, .n_settings = m->n};
    crescent_context *context = crescent_context_new();
    crescent_model *model;
    struct run r = {.n = 0};
    float *in[MAX_PORTS];
    crescent_port port;
    int inputs = 0;
    ck_assert_msg(crescent_open(context, m->script, &script, &config, &model) == CRESCENT_OK, "%s",
                  crescent_error(context));
    for (; crescent_port_at(model, CRESCENT_INPUT, inputs, &port) == CRESCENT_OK; inputs++) {
        in[inputs] = numbers(elements(&port), (uint32_t)inputs);
        if (step.inputs >> inputs & 1)
            take_step(in[inputs], elements(&port), step.length);
    }
    for (; crescent_port_at(model, CRESCENT_OUTPUT, r.n, &port) == CRESCENT_OK; r.n++) {
        r.size[r.n] = elements(&port);
        snprintf(r.name[r.n], sizeof r.name[0], "%s", port.name);
        r.out[r.n] = calloc((size_t)r.size[r.n], sizeof(float));
        ck_assert_ptr_nonnull(r.out[r.n]);
    }
    ck_assert_int_eq(crescent_run(model, (const void *const *)in, (void *const *)r.out), 0);
    for (int i = 0; i < inputs; i++)
        free(in[i]);
    crescent_close(model);
    crescent_context_free(context);
    return r;
}

static struct run run(const struct model *m, const struct way *way)
{
    return run_from(m, way, (struct step){0, 0});
}

static void release(struct run *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->out[i]);
}

/* Returns the index of the output with a name, or -1. */
static int output(const struct run *r, const char *name)
{
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->name[i], name))
            return i;
    return -1;
}

static double dot(int64_t n, const float *a, const float *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* The compiled gradients are equal to the interpreter's within a tolerance, which is relative to the
 * output's root mean square where that exceeds 1.  An assertion that holds writes a line to a file, so
 * elements are asserted only where they fail. */
START_TEST(agrees_with_the_interpreter)
{
    const struct model m = model_at(_i);
    struct run expected = run(&m, &interpreted), found = run(&m, &compiled);
    for (int i = 0; i < found.n; i++) {
        double square = dot(found.size[i], expected.out[i], expected.out[i]) / (double)found.size[i];
        double least = square > 1 ? sqrt(square) : 1;
        for (int64_t j = 0; j < found.size[i]; j++)
            if (!(fabs((double)found.out[i][j] - expected.out[i][j]) < 5e-5 * least))
                ck_abort_msg("%s, element %d: found %g, expected %g", found.name[i], (int)j,
                             (double)found.out[i][j], (double)expected.out[i][j]);
    }
    release(&expected);
    release(&found);
}
END_TEST

enum { G = 3 }; /* the input that y is multiplied by, of the first script; of the second it is 1 */

static int input_of_g(const struct model *m)
{
    return m->script[0] && strcmp(m->script, VARIANTS) == 0 ? 1 : G;
}

/* Returns sum(y g) after a step of the inputs, by the interpreter, which evaluates no gradients for it. */
static double loss_after(const struct model *m, struct step step)
{
    struct model forward = *m;
    ck_assert_int_lt(m->n, MAX_SETTINGS);
    forward.settings[forward.n++] = (crescent_setting){"wanted", "loss"};
    struct run r = run_from(&forward, &interpreted, step);
    int y = output(&r, "y");
    float *g = numbers(r.size[y], (uint32_t)input_of_g(m));
    double loss = dot(r.size[y], r.out[y], g);
    free(g);
    release(&r);
    return loss;
}

/* The difference quotient of the loss along a direction is equal to the gradients times that
 * direction: for queries, keys and values at once, and for w, which may be a single number. g has
 * no gradient. */
START_TEST(agrees_with_differences)
{
    static const char *const names[2][MAX_PORTS] = {{"dq", "dk", "dv"},
                                                    {"dq", "", "dk", "dv", "dw"}};
    static const unsigned together[] = {15, 16};
    const float h = 1.0f / 256;
    const struct model m = model_at(_i);
    struct run found = run(&m, &compiled);
    for (int w = 0; w < COUNT(together); w++) {
        double expected = 0, gradients = 0, directions = 0;
        struct step ahead = {0, h}, back = {0, -h};
        for (int i = 0; i < MAX_PORTS; i++) {
            const char *name = names[input_of_g(&m) == 1][i];
            if (!name || !*name || !(together[w] >> i & 1))
                continue;
            const int gradient = output(&found, name);
            ck_assert_int_ge(gradient, 0);
            const int64_t n = found.size[gradient];
            const float *g = found.out[gradient];
            float *d = direction(n);
            expected += dot(n, g, d);
            gradients += dot(n, g, g);
            directions += dot(n, d, d);
            free(d);
            ahead.inputs = back.inputs |= 1u << i;
        }
        if (!ahead.inputs)
            continue;
        double slope = (loss_after(&m, ahead) - loss_after(&m, back)) / (2 * h);
        ck_assert_double_eq_tol(expected, slope, 1e-3 * (1 + sqrt(gradients * directions)));
    }
    release(&found);
}
END_TEST

/* Writes a target file in which a step has another number of queries than in the built-in
 * targets. */
static void write_target(char path[64])
{
    strcpy(path, "/tmp/crescent-attention-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    crescent_context *context = crescent_context_new();
    char *text;
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(crescent_target_text(context, "generic", &text), CRESCENT_OK);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        fprintf(file, "%s\n", strncmp(line, "query_rows", 10) ? line : "query_rows = 7");
    crescent_free(text);
    crescent_context_free(context);
    ck_assert_int_eq(fclose(file), 0);
}

/* All configurations give the same bits.  A C compiler takes half a second for each model, so only some
 * models are compiled by it; the C text is the same as for TinyCC. */
START_TEST(the_same_bits)
{
    char path[64];
    write_target(path);
    const struct way ways[] = {{CRESCENT_TCC, 2, NULL, NULL},
                               {CRESCENT_TCC, 3, "plain", NULL},
                               {CRESCENT_TCC, 1, NULL, path},
                               {CRESCENT_CC, 2, NULL, NULL}};
    const struct model m = model_at(_i);
    struct run first = run(&m, &compiled);
    const int tried = _i % 4 == 0 ? COUNT(ways) : COUNT(ways) - 1;
    for (int w = 0; w < tried; w++) {
        struct run other = run(&m, &ways[w]);
        for (int i = 0; i < first.n; i++)
            ck_assert_mem_eq(other.out[i], first.out[i], (size_t)first.size[i] * sizeof(float));
        release(&other);
    }
    release(&first);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* Each batch gets the same bits as when it runs alone; w is shared by all batches. */
START_TEST(the_bits_of_one_batch)
{
    struct model m = model_of_variant(&variants[_i]);
    m.settings[m.n++] = (crescent_setting){"B", "1"};
    struct run alone = run(&m, &compiled);
    m.settings[m.n - 1].value = "3";
    struct run together = run(&m, &compiled);
    for (int i = 0; i < alone.n && strcmp(variants[_i].kind, "bias_and_slopes"); i++)
        if (strcmp(alone.name[i], "dw"))
            ck_assert_mem_eq(together.out[i], alone.out[i],
                             (size_t)alone.size[i] * sizeof(float));
    release(&alone);
    release(&together);
}
END_TEST

/* Returns the number after `label` in the dump after a pass, for a sequence of T tokens. */
static double number_in_dump(const char *script, int T, const char *spelling, const char *pass,
                             const char *label)
{
    char command[512], line[512];
    double number = -1;
    snprintf(command, sizeof command,
             "\"${CRESCENT:-build/crescent}\" dump %s --set T=%d %s --after %s", script, T, spelling,
             pass);
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

static const struct {
    const char *pass, *label;
} sizes[] = {{"plan", "-- arena: "}, {"emit", "scratch_floats = "}};

/* Memory is linear in T: no array of queries by keys exists, neither between kernels nor inside one. */
START_TEST(memory_grows_as_the_sequence)
{
    char spelling[64];
    snprintf(spelling, sizeof spelling, "--set %s", spellings[_i]);
    for (int i = 0; i < COUNT(sizes); i++) {
        double shorter = number_in_dump(SCRIPT, 1000, spelling, sizes[i].pass, sizes[i].label);
        double longer = number_in_dump(SCRIPT, 2000, spelling, sizes[i].pass, sizes[i].label);
        ck_assert_double_le(longer, 2.01 * shorter);
    }
}
END_TEST

/* The number of [T, T] arrays in the arena for each variant.  A gradient of shape [T, T] is stored only
 * in the output; the counted arrays exist because the script goes on to compute with them. */
static const struct {
    const char *settings;
    int arrays; /* of [T, T], in the arena */
} in_memory[] = {
    {"--set kind=cap", 0},
    {"--set kind=trained_cap", 0},
    {"--set kind=temperature", 0},
    {"--set kind=divided", 0},
    {"--set kind=head_temperature", 0},
    {"--set kind=exp_temperature", 0},
    {"--set kind=slopes", 0},
    {"--set kind=key_slopes", 0},
    {"--set kind=key_bias", 0},
    {"--set kind=query_bias", 0},
    {"--set kind=both", 0},
    {"--set kind=bias", 0},
    {"--set kind=shared_bias", 0},
    {"--set kind=batch_bias", 0},
    {"--set kind=weighted", 0},
    {"--set kind=bias_and_slopes", 4},
    {"--set kind=bias --set scaled=true", 4},
    {"--set kind=slopes --set scaled=true", 0},
    {"--set kind=window", 0},
    {"--set kind=prefix", 0},
    {"--set kind=segments", 0},
    {"--set kind=sigmoid", 0},
    {"--set kind=sigmoid --set causal=false", 0},
    {"--set kind=sigmoid --set drop=true", 0},
    {"--set kind=sigmoid --set groups=2 --set share=rank5", 0},
    {"--set kind=sigmoid_zero", 0},
    {"--set kind=sigmoid_slopes", 0},
    {"--set kind=sigmoid_sum", 0},
    {"--set kind=relu", 0},
    {"--set kind=softmax_one", 0},
    {"--set kind=shifted_one", 0},
    {"--set kind=sink", 0},
    {"--set kind=sink_concat", 0},
    {"--set groups=2 --set share=rank5", 0},
    {"--set groups=2 --set share=repeat", 0},
    {"--set groups=2 --set share=transposed", 0},
    {"--set groups=2 --set share=cycle", 0},
    {"--set groups=1 --set share=matmul", 0},
    {"--set groups=1 --set share=rank3", 0},
    {"--set groups=1 --set share=matmul --set B=1", 0},
    {"--set kind=plain --set summed=true", 0}, /* dL/dy is a constant */
    {"--set kind=cap --set summed=true", 0},
};

START_TEST(memory_of_the_variants)
{
    for (int i = 0; i < COUNT(sizes); i++) {
        const char *settings = in_memory[_i].settings;
        double shorter = number_in_dump(VARIANTS, 1000, settings, sizes[i].pass, sizes[i].label);
        double longer = number_in_dump(VARIANTS, 2000, settings, sizes[i].pass, sizes[i].label);
        double array = i ? 0 : 4.0 * in_memory[_i].arrays * 1000 * 1000;
        ck_assert_double_ge(shorter, array);
        ck_assert_double_le(longer - 4 * array, 2.01 * (shorter - array));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention_gradients");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, agrees_with_the_interpreter, 0, N_MODELS);
    tcase_add_loop_test(all, agrees_with_differences, 0, N_MODELS);
    tcase_add_loop_test(all, the_same_bits, 0, N_MODELS);
    tcase_add_loop_test(all, the_bits_of_one_batch, 0, COUNT(variants));
    tcase_add_loop_test(all, memory_grows_as_the_sequence, 0, COUNT(spellings));
    tcase_add_loop_test(all, memory_of_the_variants, 0, COUNT(in_memory));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
