/*
 * test_nonfinite.c - infinities, NaN and numbers near the limits: a formula that was rewritten and
 * fused gives NaN or infinity where the formula itself does.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/engine.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/mem.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
enum { MAX_PORTS = 16 };

/* ---- running a script ---- */

/* Runs the script at `path` and returns its graph. */
static struct cr_graph *graph_of(const char *path, const struct cr_setting *settings, int n)
{
    struct cr_script script;
    struct cr_error error = {""};
    ck_assert_msg(cr_script_run(&(struct cr_script_source){.path = path}, settings, n, &script, &error) == 0,
                  "%s", error.text);
    struct cr_graph *graph = script.graph;
    script.graph = NULL;
    cr_script_free(&script);
    return graph;
}

/* Returns the graph of a script that is given as text. */
static struct cr_graph *graph_of_text(const char *text)
{
    char path[] = "/tmp/crescent-nonfinite-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    struct cr_graph *graph = graph_of(path, NULL, 0);
    unlink(path);
    return graph;
}

/* A function that sets all n elements of the input with this name. */
typedef void filler(const char *name, int64_t n, float *data, const void *context);

struct outputs {
    float *data[MAX_PORTS];
    int64_t size[MAX_PORTS];
    char name[MAX_PORTS][32];
    int n;
};

static void outputs_free(struct outputs *o)
{
    for (int i = 0; i < o->n; i++)
        free(o->data[i]);
}

/* Compiles a graph, which is used up, fills the inputs by `fill`, and returns the outputs of a
 * run. */
static struct outputs run(struct cr_graph *graph, const struct cr_engine_options *options,
                          filler *fill, const void *context)
{
    struct cr_engine e;
    struct cr_error error = {""};
    struct outputs o = {0};
    void *in[MAX_PORTS];
    ck_assert_msg(cr_engine_open(&e, graph, options, &error) == 0, "%s", error.text);
    ck_assert_int_eq(e.n_params, 0);
    for (int i = 0; i < e.n_inputs; i++) {
        int64_t n = cr_port_elements(&e.inputs[i]);
        in[i] = cr_calloc((size_t)n, sizeof(float));
        fill(e.inputs[i].name, n, in[i], context);
    }
    o.n = e.n_outputs;
    for (int i = 0; i < o.n; i++) {
        o.size[i] = cr_port_elements(&e.outputs[i]);
        o.data[i] = cr_calloc((size_t)o.size[i], sizeof(float));
        snprintf(o.name[i], sizeof o.name[i], "%s", e.outputs[i].name);
    }
    ck_assert_int_eq(
        cr_engine_run(&e, (const void *const *)in, (void *const *)o.data, &error), 0);
    for (int i = 0; i < e.n_inputs; i++)
        free(in[i]);
    cr_engine_close(&e);
    return o;
}

/* Returns true if both are NaN, the same infinity, or finite. */
static bool same_class(float a, float b)
{
    return isnan(a) ? isnan(b) : isinf(a) ? a == b : isfinite(b);
}

static const struct cr_engine_options usual = {.settings.path = "test"};
static const struct cr_engine_options interpreted = {.settings.path = "test", .backend = CR_BACKEND_REF};

/* ---- formulas ---- */

/* Formulas of x and z, whose elements take all pairs of special values. */
static const char *const formulas[] = {
    "0.5 * x * (1 + erf(x * 0.7071067811865476))",
    "0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x ^ 3)))",
    "x * 0.5 * (1 + tanh(x))",
    "1 + tanh(x)",
    "1 - tanh(x) * tanh(x)",
    "x / (1 + exp(-x))",
    "z / (1 + exp(-x))",
    "z * x * x",
    "1e-20 * x * x",
    "1e-20 * x * x * x",
    "0.001 * x * x * x",
    "3 * x * x",
    "x + x + x",
    "z + x + x",
    "z + 2 * x + x",
    "z - 0.5 * x + x",
    "z - x + x",
    "x + 0.5 * x * z",
    "x - 0.5 * x * x * x",
    "x + 0.5 * x * x * x",
    "0.25 * (x + 0.5 * x * z)",
    "1e10 * (x + 1e10 * x * z)",
    "(2 * x) * (0.25 * z)",
    "(0.5 * x) * (0.25 * z)",
    "(0.5 * x) * (2 * z)",
    "(2 * x) * z",
    "(0.5 * x) * z",
    "3 * ((0.5 * x) * z)",
    "1e10 * (1e-10 * x)",
    "0.1 * (10 * x)",
    "-(-x)",
    "x + -z",
    "-x + z",
    "where(gt(x, z), x, maximum(x, z))",
    "x * z + x",
    "pow(x, 1)",
    "pow(x, 2)",
    "pow(x, -1)",
    "pow(x, z)",
    "x ^ 0.5 + z ^ -2",
    "x % z",
    "sin(x) + cos(z)",
    "floor(x / z) + round(x)",
    "float(int(x)) + z",
    "cumsum(x:reshape{11, 11}, 1)",
    "gather(x:reshape{11, 11}, argmax(z:reshape{11, 11}, 2), 2)",
    "where(gt(x, 0), x, 0) * 1",
    "sum((x:reshape{11, 11} / expand(z:reshape{11, 11}:slice({0, 0}, {11, 1}), {11, 11})), 2)",
    "sum(-x:reshape{11, 11}, 2)",
    "exp(x:reshape{11, 11}) / sum(exp(x:reshape{11, 11}), 2)",
    "matmul(exp(x:reshape{11, 11}), z:reshape{11, 11}) / sum(exp(x:reshape{11, 11}), 2)",
};

static const float values[] = {0,     -0.0f,  1,         -2.5f,    1e-30f, 1e20f,
                               2e38f, -3e38f, -INFINITY, INFINITY, NAN};

static void fill_combinations(const char *name, int64_t n, float *data, const void *context)
{
    (void)context;
    for (int64_t i = 0; i < n; i++)
        data[i] = values[name[0] == 'x' ? i % COUNT(values) : i / COUNT(values) % COUNT(values)];
}

/* The value of a rewritten formula is in the same class (NaN, infinity, finite) as the formula
 * without rewrites, evaluated in floats or, if an intermediate result leaves their range, in double
 * precision. */
START_TEST(test_formula)
{
    static const char *const skip[] = {"simplify", "join", "fma"};
    const struct cr_engine_options as_it_stands = {
        .settings = {.path = "test", .skip = skip, .n_skip = 3}};
    char text[512];
    snprintf(text, sizeof text,
             "local x, z = input('x', {121}), input('z', {121})\nreturn {y = %s}", formulas[_i]);
    struct outputs plain = run(graph_of_text(text), &as_it_stands, fill_combinations, NULL);
    struct outputs exact = run(graph_of_text(text), &interpreted, fill_combinations, NULL);
    struct outputs found = run(graph_of_text(text), &usual, fill_combinations, NULL);
    for (int64_t i = 0; i < found.size[0]; i++) {
        float y = found.data[0][i], a = plain.data[0][i], b = exact.data[0][i];
        if (!same_class(y, a) && !same_class(y, b))
            ck_abort_msg("%s: element %d is %g, but %g as it stands, exactly %g", formulas[_i],
                         (int)i, (double)y, (double)a, (double)b);
    }
    outputs_free(&plain);
    outputs_free(&exact);
    outputs_free(&found);
}
END_TEST

/* ---- attention ---- */

/* Ways to write attention, with sizes below and above the 32 queries of a step and the 128 keys of
 * a block. */
static const struct attention {
    const char *T, *keys, *mask, *drop, *softmax;
} attentions[] = {
    {"5", "0", "causal", "none", "library"},    {"40", "0", "causal", "none", "library"},
    {"200", "0", "causal", "none", "library"},  {"200", "0", "window", "none", "library"},
    {"150", "260", "causal", "none", "library"}, {"260", "150", "causal", "none", "library"},
    {"70", "200", "none", "none", "library"},   {"40", "0", "causal", "some", "library"},
    {"200", "0", "window", "some", "library"},  {"70", "200", "none", "some", "library"},
    {"40", "0", "causal", "product", "library"}, {"200", "0", "causal", "product", "library"},
    {"200", "0", "causal", "none", "reciprocal"}, {"70", "200", "none", "none", "after"},
    {"200", "0", "window", "none", "after"},
    {"300", "0", "absolute", "none", "library"}, {"260", "150", "prefix", "none", "library"},
    {"150", "260", "longest", "none", "library"}, {"500", "0", "first", "none", "library"},
    {"200", "0", "scaled", "none", "library"},  {"300", "0", "first", "some", "library"},
    {"300", "0", "reach", "none", "library"},   {"300", "0", "documents", "none", "after"},
    {"300", "0", "reach", "some", "library"},
};

/* A value that is not finite, for one element of an input: at a fraction of its size. */
struct poison {
    char input;
    double at;
    float value;
};

static const struct poison poisons[] = {
    {'q', 0.1, NAN}, {'q', 0.6, INFINITY}, {'k', 0.07, NAN},       {'k', 0.99, NAN},
    {'k', 0.5, -INFINITY}, {'v', 0.03, NAN}, {'v', 0.55, INFINITY}, {'v', 0.999, NAN},
    {'v', 0.97, -INFINITY}, {'g', 0.2, NAN}, {'g', 0.9, NAN},
};

static void fill_poisoned(const char *name, int64_t n, float *data, const void *context)
{
    const struct poison *poison = context;
    uint32_t seed = (uint32_t)name[0];
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) / (1 << 22) - 2;
    }
    if (name[0] == poison->input)
        data[(int64_t)(poison->at * (double)n)] = poison->value;
}

/* Outputs and gradients of attention are NaN or infinite exactly where the formula's are; skipping
 * blocks of hidden keys does not change that. */
START_TEST(test_attention)
{
    const struct attention *a = &attentions[_i];
    const struct cr_setting settings[] = {{"T", a->T, false},
                                          {"keys", a->keys, false},
                                          {"width", "6", false},
                                          {"mask", a->mask, false},
                                          {"drop", a->drop, false},
                                          {"softmax", a->softmax, false}};
    const char *script = "tests/scripts/attention_grads.lua";
    for (int i = 0; i < COUNT(poisons); i++) {
        const struct poison *p = &poisons[i];
        struct outputs exact =
            run(graph_of(script, settings, COUNT(settings)), &interpreted, fill_poisoned, p);
        struct outputs found =
            run(graph_of(script, settings, COUNT(settings)), &usual, fill_poisoned, p);
        bool chosen = strcmp(a->drop, "some") == 0 && p->input == 'v'; /* see ir.md */
        for (int o = 0; o < found.n; o++)
            for (int64_t j = 0; j < found.size[o] && !(chosen && found.name[o][0] == 'd'); j++)
                if (!same_class(found.data[o][j], exact.data[o][j]))
                    ck_abort_msg("%s keys, %s, dropout %s, %g in %c: element %d of %s is %g, in the "
                                 "formula %g", a->T, a->mask, a->drop, (double)p->value, p->input,
                                 (int)j, found.name[o], (double)found.data[o][j],
                                 (double)exact.data[o][j]);
        outputs_free(&exact);
        outputs_free(&found);
    }
}
END_TEST

/* Fused attention with queries that see no key, or whose keys are all dropped; y is the output. */
static const char *const unseeing[] = {
    /* queries without a key give NaN */
    "s = where(lt(key, query), s, -math.huge)\n"
    "y = matmul(softmax(s), v)",
    /* queries without a key give 0, as in ONNX's Attention */
    "s = s + where(eq(query, 7), -math.huge, 0)\n"
    "y = matmul(where(eq(max(s, -1), -math.huge), 0, softmax(s)), v)",
    "s = where(lt(key, query), s, -math.huge)\n"
    "y = matmul(where(lt(key, query), softmax(s), 0), v)",
    /* dropout by a choice, and by a product */
    "s = where(lt(key, query), s, -math.huge)\n"
    "y = matmul(where(lt(random(3, s.shape), 0.5), 2 * softmax(s), 0), v)",
    "s = where(lt(key, query), s, -math.huge)\n"
    "y = matmul(softmax(s) * float(lt(random(3, s.shape), 0.5)), v)",
    "s = where(lt(query - key, -100), s, -math.huge)\n"
    "y = matmul(where(lt(random(3, s.shape), 0.5), 2 * softmax(s), 0), v)",
    "s = where(lt(query - key, -100), s, -math.huge)\n"
    "y = matmul(where(lt(random(3, s.shape), 0.005), 2 * softmax(s), 0), v)",
    /* factors of hidden keys */
    "s = where(le(key, query), s, -math.huge)\n"
    "y = matmul(softmax(s) * expand(v:slice({0, 3}, {170, 1}), s.shape), v)",
    /* softmax with one more score: without a key the result is 0 */
    "s = where(lt(key, query), s, -math.huge)\n"
    "local m = maximum(max(s, -1), 0)\n"
    "local e = exp(s - m)\n"
    "y = matmul(e / (sum(e, -1) + exp(-m)), v)",
    "local e = exp(where(lt(abs(key - query), 20), s, -math.huge))\n"
    "y = matmul(e / (1 + sum(e, -1)), v)",
    "s = where(lt(query - key, -100), s, -math.huge)\n"
    "local b = slice(v, {0, 2}, {170, 1})\n"
    "y = matmul(slice(softmax(concat({s, b}, 2)), {0, 0}, {170, 170}), v)",
    /* no softmax at all */
    "y = matmul(sigmoid(where(lt(key, query), s, -math.huge)), v)",
    "y = matmul(where(logical_or(lt(key, 9), lt(key, query)), sigmoid(s), 0), v)",
    "y = matmul(where(le(key, query), maximum(s, 0) * s, 0) / 7, v)",
    "y = matmul(s * float(le(key, query)), v)",
    /* a choice followed by a product is not fused */
    "y = matmul(where(lt(key, query), softmax(s), 0) * float(lt(key + 9, query)), v)",
};

START_TEST(test_unseeing)
{
    char text[1024];
    snprintf(text, sizeof text,
             "local function softmax(s) local e = exp(s - max(s, -1)) return e / sum(e, -1) end\n"
             "local q, k, v = input('q', {170, 8}), input('k', {170, 8}), input('v', {170, 8})\n"
             "local key, query = iota({170, 170}, 2), iota({170, 170}, 1)\n"
             "local s, y = matmul(q, k:transpose(1, 2))\n"
             "%s\nreturn {y = y}", unseeing[_i]);
    for (int i = 0; i < COUNT(poisons); i++) {
        struct outputs exact = run(graph_of_text(text), &interpreted, fill_poisoned, &poisons[i]);
        struct outputs found = run(graph_of_text(text), &usual, fill_poisoned, &poisons[i]);
        for (int64_t j = 0; j < found.size[0]; j++)
            if (!same_class(found.data[0][j], exact.data[0][j]))
                ck_abort_msg("%s\n%g in %c: element %d is %g, in the formula %g", unseeing[_i],
                             (double)poisons[i].value, poisons[i].input, (int)j,
                             (double)found.data[0][j], (double)exact.data[0][j]);
        outputs_free(&exact);
        outputs_free(&found);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nonfinite");
    TCase *rewriting = tcase_create("rewriting");
    tcase_add_loop_test(rewriting, test_formula, 0, COUNT(formulas));
    tcase_add_loop_test(rewriting, test_attention, 0, COUNT(attentions));
    tcase_add_loop_test(rewriting, test_unseeing, 0, COUNT(unseeing));
    tcase_set_timeout(rewriting, 60);
    suite_add_tcase(suite, rewriting);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
