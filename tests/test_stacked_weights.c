/*
 * test_stacked_weights.c - products by a matrix of a stack of weights, chosen by an i32: reading it in place or
 * copying it first gives the same bits, and the other matrices do not matter.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"
#include "compiler/frontend/script.h"
#include "compiler/passes/passes.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

static crescent_context *context;

static void set_up(void)
{
    context = crescent_context_new();
    ck_assert_ptr_nonnull(context);
}

static void tear_down(void)
{
    crescent_context_free(context);
}

/* ---- scripts ---- */

/* Expressions of x, the number `id`, the stack w and the vector b; `c` stands for the selected
 * matrix. */
static const struct script {
    const char *inputs, *product;
    int choices; /* number of kernels that read the stack in place */
    int more;    /* the selecting number is the input plus this */
} scripts[] = {
    {"local x, id = input('x', {3, 24}), input('id', {}, 'i32') "
     "local w, b = param('w', {4, 24, 32}, {normal = 1}), param('b', {32}, {normal = 1}) "
     "local c = gather(w, id)",
     "x:matmul(c) + b", 1, 0},
    {"local x, id = input('x', {2, 1, 24}), input('id', {1}, 'i32') "
     "local w = param('w', {5, 24, 64}, {normal = 1}) local c = gather(w, id)",
     "x:matmul(c:reshape({24, 64})):tanh() * 2", 1, 0},
    {"local x, id = input('x', {65, 700}), input('id', {3}, 'i32') "
     "local w, b = param('w', {2, 700, 288}, {normal = 1}), param('b', {288}, {normal = 1}) "
     "local c = gather(w, id:slice({1}, {1})):reshape({700, 288})",
     "x:matmul(c) + b", 1, 0},
    {"local x, id = input('x', {1, 40}), input('id', {1}, 'i32') "
     "local w = param('w', {3, 40, 96}, {normal = 1}) local c = gather(w, id + 1):reshape({40, 96})",
     "(x - sum(x, 2, true) / 40):matmul(c):sigmoid()", 1, 1},
    {"local x, id = input('x', {70, 600}), input('id', {}, 'i32') "
     "local w, b = param('w', {2, 600, 320}, {normal = 1}), param('b', {320}, {normal = 1}) "
     "local c = gather(w, id + 1)",
     "x:matmul(c) + b", 1, 1},
    /* columns that do not fill whole panels, several selected matrices, a computed stack */
    {"local x, id = input('x', {3, 24}), input('id', {}, 'i32') "
     "local w = param('w', {4, 24, 33}, {normal = 1}) local c = gather(w, id)",
     "x:matmul(c)", 0, 0},
    {"local x, id = input('x', {2, 3, 24}), input('id', {2}, 'i32') "
     "local w = param('w', {4, 24, 32}, {normal = 1}) local c = gather(w, id)",
     "x:matmul(c)", 0, 0},
    {"local x, id = input('x', {3, 24}), input('id', {}, 'i32') "
     "local w = param('w', {4, 24, 32}, {normal = 1}) local c = gather(w + 1, id)",
     "x:matmul(c)", 0, 0},
};

/* Writes a script; with `copied`, the selected matrix is a second output, so that it is copied. */
static void put_script(char *text, size_t size, const struct script *s, bool copied)
{
    snprintf(text, size, "%s return {y = %s%s}", s->inputs, s->product, copied ? ", z = c" : "");
}

/* ---- kernels ---- */

static int count_choices(const char *text)
{
    struct cr_script script;
    struct cr_error error;
    char path[] = "/tmp/crescent-stacked-XXXXXX";
    int fd = mkstemp(path), n = 0;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    ck_assert_msg(cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, &error) == 0,
                  "%s", error.text);
    remove(path);
    struct cr_module *m = cr_module_new(script.graph);
    script.graph = NULL;
    cr_script_free(&script);
    for (int i = 0; i < cr_n_passes && !(m->has & CR_HAS_PROGRAM); i++)
        ck_assert_msg(cr_run_pass(m, &cr_passes[i], &error) == 0, "%s", error.text);
    for (int i = 0; i < m->program->n_bindings; i++)
        n += m->program->bindings[i].choice.bound > 0;
    cr_module_free(m);
    return n;
}

START_TEST(stacks_are_read_in_place)
{
    char text[1024];
    put_script(text, sizeof text, &scripts[_i], false);
    ck_assert_int_eq(count_choices(text), scripts[_i].choices);
    put_script(text, sizeof text, &scripts[_i], true);
    ck_assert_int_eq(count_choices(text), 0);
}
END_TEST

/* ---- results ---- */

/* Sets all matrices of the stack to NaN, except the matrix `chosen`. */
static void set_others_to_nan(crescent_model *model, int chosen)
{
    crescent_port port;
    int w = crescent_port_find(model, CRESCENT_PARAM, "w");
    GOOD(crescent_port_at(model, CRESCENT_PARAM, w, &port));
    int64_t n = crescent_port_elements(&port), each = n / port.shape[0];
    float *weights = malloc((size_t)n * sizeof *weights);
    GOOD(crescent_get_weight(model, w, weights));
    for (int64_t i = 0; i < n; i++)
        if (i / each != chosen)
            weights[i] = NAN;
    GOOD(crescent_set_weight(model, w, weights));
    free(weights);
}

/* Returns the output y for a number `id`, which is the input plus `more`; with `spoiled`, all other
 * matrices are NaN. */
static float *run(const char *text, crescent_backend backend, int id, int more, bool spoiled,
                  int64_t *n)
{
    const crescent_config config = {.backend = backend, .threads = 2};
    crescent_graph *graph;
    crescent_model *model;
    crescent_port port;
    void *in[2], *out[2] = {NULL, NULL};
    GOOD(crescent_graph_open_text(context, "stacked.lua", text, strlen(text), NULL, &graph));
    GOOD(crescent_compile(graph, &config, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 1));
    for (int i = 0; i < 2; i++) {
        GOOD(crescent_port_at(model, CRESCENT_INPUT, i, &port));
        int64_t elements = crescent_port_elements(&port);
        GOOD(crescent_memory(context, elements * 4, port.name, &in[i]));
        GOOD(crescent_draw_input(model, i, 1, in[i]));
        for (int64_t j = 0; port.type == CRESCENT_I32 && j < elements; j++)
            ((int32_t *)in[i])[j] = (int32_t)((uint32_t)id - (uint32_t)more);
    }
    if (spoiled)
        set_others_to_nan(model, id);
    for (int i = 0; i < crescent_port_count(model, CRESCENT_OUTPUT); i++) {
        GOOD(crescent_port_at(model, CRESCENT_OUTPUT, i, &port));
        GOOD(crescent_memory(context, crescent_port_elements(&port) * 4, port.name, &out[i]));
        *n = i ? *n : crescent_port_elements(&port);
    }
    GOOD(crescent_run(model, (const void *const *)in, out));
    crescent_close(model);
    crescent_graph_close(graph);
    crescent_free(in[0]);
    crescent_free(in[1]);
    crescent_free(out[1]);
    return out[0];
}

/* Each number in range selects its matrix; a number out of range gives NaN. */
START_TEST(the_bits_are_those_of_a_copy)
{
    static const int ids[] = {0, 1, -1, 5, INT32_MAX, INT32_MIN};
    char text[1024], copy[1024];
    put_script(text, sizeof text, &scripts[_i], false);
    put_script(copy, sizeof copy, &scripts[_i], true);
    const struct script *t = &scripts[_i];
    for (int i = 0; i < (t->more ? COUNT(ids) : 2); i++) {
        int64_t n = 0;
        float *expected = run(copy, CRESCENT_TCC, ids[i], t->more, false, &n);
        float *found = run(text, CRESCENT_TCC, ids[i], t->more, false, &n);
        float *spoiled = run(text, CRESCENT_TCC, ids[i], t->more, t->choices && i < 2, &n);
        float *exact = run(text, CRESCENT_REF, ids[i], t->more, false, &n);
        ck_assert_int_eq(crescent_same_bits(found, expected, n), 1);
        ck_assert_int_eq(crescent_same_bits(spoiled, expected, n), 1);
        for (int64_t j = 0; j < n; j++)
            ck_assert_int_eq(isnan(found[j]), isnan(exact[j]));
        ck_assert_int_eq(isnan(found[0]) != 0, i >= 2);
        crescent_free(expected);
        crescent_free(found);
        crescent_free(spoiled);
        crescent_free(exact);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stacked_weights");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_loop_test(all, stacks_are_read_in_place, 0, COUNT(scripts));
    tcase_add_loop_test(all, the_bits_are_those_of_a_copy, 0, COUNT(scripts));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
