/*
 * test_nonfinite.c - values that are not finite, or nearly so: rewriting a formula and fusing it
 * give NaN and infinity where the formula does.
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
#include "compiler/ir/print.h"
#include "compiler/passes/passes.h"
#include "support_random.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
enum { MAX_PORTS = 16 };

/* ---- running a script ---- */

/* The graph of a script given as text. */
static struct cr_graph *graph_of(const char *text)
{
    char path[] = "/tmp/crescent-nonfinite-XXXXXX";
    struct cr_script script;
    struct cr_error error = {""};
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int status = cr_script_run(path, NULL, 0, &script, &error);
    unlink(path);
    ck_assert_msg(status == 0, "%s\n%s", error.text, text);
    struct cr_graph *graph = script.graph;
    script.graph = NULL;
    cr_script_free(&script);
    return graph;
}

/* Writes the elements of an input. */
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

static struct outputs run(const char *text, const struct cr_engine_options *options, filler *fill,
                          const void *context)
{
    struct cr_engine e;
    struct cr_error error = {""};
    struct outputs o = {0};
    void *in[MAX_PORTS];
    ck_assert_msg(cr_engine_open(&e, graph_of(text), options, &error) == 0, "%s", error.text);
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

/* NaN for NaN, an infinity for the same, and a finite number for a finite number. */
static bool same_class(float a, float b)
{
    return isnan(a) ? isnan(b) : isinf(a) ? a == b : isfinite(b);
}

/* ---- formulas ---- */

/* Of x, and of z, which goes through the same values in each combination. */
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

/* The value of the rewritten formula is of the class of the formula as it stands, evaluated in
 * floats or, where those are left on the way, in double precision. */
START_TEST(test_formula)
{
    static const char *const skip[] = {"simplify", "join", "fma"};
    char text[512];
    snprintf(text, sizeof text,
             "local x, z = input('x', {121}), input('z', {121})\nreturn {y = %s}", formulas[_i]);
    struct outputs plain =
        run(text, &(struct cr_engine_options){.path = "test", .skip = skip, .n_skip = 3}, fill_combinations, NULL);
    struct outputs exact = run(text, &(struct cr_engine_options){.path = "test", .backend = CR_BACKEND_REF},
                               fill_combinations, NULL);
    struct outputs found = run(text, &(struct cr_engine_options){.path = "test"}, fill_combinations, NULL);
    for (int64_t i = 0; i < found.size[0]; i++) {
        float y = found.data[0][i], a = plain.data[0][i], b = exact.data[0][i];
        ck_assert_msg(same_class(y, a) || same_class(y, b),
                      "%s: element %d is %g, but %g as it stands, exactly %g", formulas[_i], (int)i,
                      (double)y, (double)a, (double)b);
    }
    outputs_free(&plain);
    outputs_free(&exact);
    outputs_free(&found);
}
END_TEST

/* ---- simplify ---- */

static char *printed(const struct cr_graph *g)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(file);
    cr_print_graph(file, g);
    fclose(file);
    return text;
}

/* Simplifying a graph again changes nothing. */
START_TEST(test_simplify_again)
{
    enum { GRAPHS = 10 };
    for (int i = 0; i < GRAPHS; i++) {
        struct cr_random_graph *random = cr_random_graph_new((uint64_t)(_i * GRAPHS + i) + 70900);
        struct cr_pass_options options = {.stop_after = "simplify"};
        struct cr_error error = {""};
        struct cr_module *module = cr_module_new(random->graph);
        random->graph = cr_graph_new("none");
        ck_assert_int_eq(cr_run_passes(module, &options, &error), 0);
        char *once = printed(module->graph);
        ck_assert_int_eq(cr_run_passes(module, &options, &error), 0);
        char *twice = printed(module->graph);
        ck_assert_str_eq(once, twice);
        free(once);
        free(twice);
        cr_module_free(module);
        cr_random_graph_free(random);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nonfinite");
    TCase *rewriting = tcase_create("rewriting");
    tcase_add_loop_test(rewriting, test_formula, 0, COUNT(formulas));
    tcase_add_loop_test(rewriting, test_simplify_again, 0, 10);
    tcase_set_timeout(rewriting, 60);
    suite_add_tcase(suite, rewriting);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
