/*
 * test_training.c - training as a caller of the library does it: step by step, with outputs passed
 * back as the parameters and inputs of the same names.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"
#include "compiler/library/training.h"

enum { MAX_PORTS = 64, MAX_ELEMENTS = 2048 };

/* A model and memory for its parameters, inputs and outputs. */
struct training {
    crescent_context *context;
    crescent_model *model;
    int n_inputs, n_outputs, n_params;
    crescent_port input[MAX_PORTS], output[MAX_PORTS], param[MAX_PORTS];
    float in[MAX_PORTS][MAX_ELEMENTS], out[MAX_PORTS][MAX_ELEMENTS];
};

static size_t bytes_of(const crescent_port *port)
{
    size_t n = sizeof(float); /* an i32 is as large */
    for (int i = 0; i < port->rank; i++)
        n *= (size_t)port->shape[i];
    ck_assert_uint_le(n, MAX_ELEMENTS * sizeof(float));
    return n;
}

static int read_ports(const crescent_model *model, crescent_port_kind kind, crescent_port *ports)
{
    int n = crescent_port_count(model, kind);
    ck_assert_int_le(n, MAX_PORTS);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(crescent_port_at(model, kind, i, &ports[i]), CRESCENT_OK);
    return n;
}

static int find(const crescent_port *ports, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(ports[i].name, name) == 0)
            return i;
    return -1;
}

static int output(const struct training *t, const char *name)
{
    int i = find(t->output, t->n_outputs, name);
    ck_assert_msg(i >= 0, "no output %s", name);
    return i;
}

/* Opens a model with random weights, and zeros as inputs. */
static struct training *begin_of(const char *script, crescent_backend backend, int threads)
{
    struct training *t = calloc(1, sizeof *t);
    crescent_config config = {.backend = backend, .threads = threads};
    t->context = crescent_context_new();
    ck_assert_msg(crescent_open(t->context, script, NULL, &config, &t->model) == 0, "%s",
                  crescent_error(t->context));
    ck_assert_int_eq(crescent_draw_weights(t->model, 1), CRESCENT_OK);
    t->n_inputs = read_ports(t->model, CRESCENT_INPUT, t->input);
    t->n_outputs = read_ports(t->model, CRESCENT_OUTPUT, t->output);
    t->n_params = read_ports(t->model, CRESCENT_PARAM, t->param);
    return t;
}

/* Prepares a training: a state of zeros, and data. */
static struct training *begin(crescent_backend backend, int threads)
{
    struct training *t = begin_of("tests/scripts/train_one.lua", backend, threads);
    for (int i = 0; i < 12; i++) {
        int32_t id = i % 7, next = id * 3 % 7;
        memcpy(&t->in[find(t->input, t->n_inputs, "ids")][i], &id, sizeof id);
        memcpy(&t->in[find(t->input, t->n_inputs, "target")][i], &next, sizeof next);
    }
    return t;
}

static void end(struct training *t)
{
    crescent_close(t->model);
    crescent_context_free(t->context);
    free(t);
}

/* Makes one step; returns the loss before it. */
static float train(struct training *t)
{
    const void *in[MAX_PORTS];
    void *out[MAX_PORTS];
    for (int i = 0; i < t->n_inputs; i++)
        in[i] = t->in[i];
    for (int i = 0; i < t->n_outputs; i++)
        out[i] = t->out[i];
    ck_assert_msg(crescent_run(t->model, in, out) == 0, "%s", crescent_error(t->context));
    for (int i = 0; i < t->n_outputs; i++) {
        int input = find(t->input, t->n_inputs, t->output[i].name);
        int param = find(t->param, t->n_params, t->output[i].name);
        if (input >= 0)
            memcpy(t->in[input], t->out[i], bytes_of(&t->input[input]));
        if (param >= 0)
            ck_assert_int_eq(crescent_set_weight(t->model, param, t->out[i]), CRESCENT_OK);
    }
    return t->out[output(t, "loss")][0];
}

/* Each output that is passed to the next step has the shape of its parameter or input, and none of
 * these is left out. */
START_TEST(outputs_become_inputs)
{
    struct training *t = begin(CRESCENT_REF, 1);
    int handed_on = 0;
    for (int i = 0; i < t->n_outputs; i++) {
        int input = find(t->input, t->n_inputs, t->output[i].name);
        int param = find(t->param, t->n_params, t->output[i].name);
        if (input < 0 && param < 0)
            continue;
        const crescent_port *to = param < 0 ? &t->input[input] : &t->param[param];
        handed_on++;
        ck_assert_int_eq(to->type, t->output[i].type);
        ck_assert_int_eq(to->rank, t->output[i].rank);
        ck_assert_mem_eq(to->shape, t->output[i].shape, (size_t)to->rank * sizeof *to->shape);
    }
    ck_assert_int_eq(handed_on, t->n_params + t->n_inputs - 2); /* all but ids and target */
    for (int i = 0; i < 3; i++)
        train(t);
    int32_t step;
    memcpy(&step, t->out[output(t, "step")], sizeof step);
    ck_assert_int_eq(step, 3);
    end(t);
}
END_TEST

START_TEST(a_net_learns)
{
    struct training *t = begin(CRESCENT_TCC, 1);
    float first = train(t), last = first;
    for (int i = 1; i < 40; i++)
        last = train(t);
    ck_assert_msg(last < 0.3f * first && first < 4, "loss %g at first, %g at last", (double)first,
                  (double)last);
    end(t);
}
END_TEST

static const struct {
    crescent_backend backend;
    int threads;
} ways[] = {{CRESCENT_TCC, 3}, {CRESCENT_CC, 2}, {CRESCENT_REF, 1}};

/* Ten steps, with dropout, give the same bits on all backends, and nearly the same numbers by the
 * interpreter. */
START_TEST(ten_steps_are_the_same)
{
    struct training *one = begin(CRESCENT_TCC, 1),
                    *other = begin(ways[_i].backend, ways[_i].threads);
    for (int i = 0; i < 10; i++)
        train(one), train(other);
    for (int i = 0; i < one->n_outputs; i++) {
        size_t bytes = bytes_of(&one->output[i]);
        if (ways[_i].backend != CRESCENT_REF)
            ck_assert_mem_eq(one->out[i], other->out[i], bytes);
        for (size_t j = 0; one->output[i].type == CRESCENT_F32 && j < bytes / sizeof(float); j++)
            ck_assert_float_eq_tol(one->out[i][j], other->out[i][j], 1e-4f);
    }
    end(one);
    end(other);
}
END_TEST

/* ---- outputs in the memory of the inputs and parameters that they replace ---- */

/* Returns a trainer of a script without data, ready for its first step. */
static crescent_trainer *start(crescent_context *context, const char *script, crescent_backend backend,
                               int threads)
{
    crescent_config config = {.backend = backend, .threads = threads};
    crescent_graph *graph;
    crescent_trainer *trainer;
    ck_assert_int_eq(crescent_graph_open(context, script, NULL, &graph), CRESCENT_OK);
    ck_assert_msg(crescent_trainer_open(graph, &config, &trainer) == CRESCENT_OK, "%s",
                  crescent_error(context));
    crescent_graph_close(graph);
    ck_assert_int_eq(crescent_draw_weights(crescent_trainer_model(trainer), 1), CRESCENT_OK);
    ck_assert_int_eq(crescent_trainer_start(trainer), CRESCENT_OK);
    return trainer;
}

static bool has_own_memory(const crescent_trainer *t, const char *output)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    for (int i = 0; i < e->n_outputs; i++)
        if (strcmp(e->outputs[i].name, output) == 0)
            return t->outputs.data[i];
    ck_abort_msg("no output %s", output);
}

/* A value that is read after its replacement was computed keeps its own memory. */
START_TEST(outputs_lie_over_inputs)
{
    static const struct {
        const char *name;
        bool own;
    } outputs[] = {{"own", false},  {"first_b", false}, {"step", false},    {"w", false},   {"late", true},
                   {"shifted", true}, {"product", true}, {"first_a", true}, {"seen", true}, {"turned", true}};
    crescent_context *context = crescent_context_new();
    crescent_trainer *t = start(context, "tests/scripts/replaced_inputs.lua", CRESCENT_TCC, 1);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        ck_assert_msg(has_own_memory(t, outputs[i].name) == outputs[i].own, "%s", outputs[i].name);
    crescent_trainer_close(t);
    crescent_context_free(context);
}
END_TEST

/* A parameter is stored in the layout that kernels read, unless one of its values is read after the
 * kernel that replaces it, or at another element in that kernel. */
START_TEST(parameters_lie_where_they_are_read)
{
    static const struct {
        const char *name;
        bool shared;
    } params[] = {{"shift", true}, {"scale", true}, {"read_late", false}, {"mixed", false}, {"w", true}};
    crescent_context *context = crescent_context_new();
    crescent_trainer *t = start(context, "tests/scripts/replaced_inputs.lua", CRESCENT_TCC, 1);
    const struct cr_engine *e = cr_trainer_engine(t);
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        for (int j = 0; j < e->n_params; j++)
            if (strcmp(e->params[j].name, params[i].name) == 0)
                ck_assert_msg(e->is_shared[j] == params[i].shared, "%s", params[i].name);
    crescent_trainer_close(t);
    crescent_context_free(context);
}
END_TEST

/* Compares a port that a training replaces with the result of a caller that provides separate
 * memory for outputs. */
static void compare_port(const crescent_trainer *t, crescent_port_kind kind, int i, const float *expected,
                         size_t bytes)
{
    float *found = malloc(bytes);
    ck_assert_int_eq(crescent_trainer_get(t, kind, i, found), CRESCENT_OK);
    ck_assert_mem_eq(found, expected, bytes);
    free(found);
}

static const struct {
    const char *path;
    int way; /* of `ways` */
} scripts[] = {{"tests/scripts/replaced_inputs.lua", 0},
               {"tests/scripts/replaced_inputs.lua", 1},
               {"tests/scripts/replaced_inputs.lua", 2},
               {"graphs/train_add.lua", 0}};

/* Three steps of a training give the bits of the same steps with separate memory for outputs. */
START_TEST(memory_does_not_matter)
{
    crescent_context *context = crescent_context_new();
    crescent_trainer *t = start(context, scripts[_i].path, ways[scripts[_i].way].backend, 2);
    struct training *apart = begin_of(scripts[_i].path, ways[scripts[_i].way].backend, 2);
    for (int i = 0; i < apart->n_inputs; i++)
        ck_assert_int_eq(crescent_trainer_get(t, CRESCENT_INPUT, i, apart->in[i]), CRESCENT_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(crescent_trainer_step(t), CRESCENT_OK);
        train(apart);
    }
    for (int i = 0; i < apart->n_inputs; i++)
        compare_port(t, CRESCENT_INPUT, i, apart->in[i], bytes_of(&apart->input[i]));
    for (int i = 0; i < apart->n_outputs; i++)
        compare_port(t, CRESCENT_OUTPUT, i, apart->out[i], bytes_of(&apart->output[i]));
    end(apart);
    crescent_trainer_close(t);
    crescent_context_free(context);
}
END_TEST

/* ---- the losses of a training ---- */

/* Returns the loss of a step, from 1 on; sums of these numbers are rounded in general. */
static double loss_of(int64_t step)
{
    return 1 / (double)(3 * step);
}

static void add_steps(struct cr_history *h, int64_t from, int64_t to)
{
    for (int64_t step = from + 1; step <= to; step++) {
        cr_history_add(h, loss_of(step));
        if (step % 3 == 0)
            cr_history_add_validation(h, step, loss_of(step));
    }
}

/* Returns a history after some steps that was written as text, and read back, after some of them,
 * as for a checkpoint. */
static struct cr_history interrupted(int64_t at, int64_t steps)
{
    struct cr_history before = {0}, after;
    add_steps(&before, 0, at);
    char *losses = cr_history_losses_text(&before);
    char *validations = cr_history_validations_text(&before);
    ck_assert_int_eq(cr_history_parse(&after, losses, validations, at), 0);
    add_steps(&after, at, steps);
    cr_history_free(&before);
    free(losses);
    free(validations);
    return after;
}

/* The history of a training does not depend on where it was interrupted and resumed, whatever the width
 * of its sums. */
START_TEST(a_history_goes_on)
{
    static const int64_t stops[] = {0, 1, 2, 1023, 1024, 1025, 2047, 2048, 3072, 4095, 4097, 9000};
    struct cr_history whole = interrupted(0, 10007), part = interrupted(stops[_i], 10007);
    ck_assert_int_eq(whole.n, part.n);
    ck_assert_int_le(whole.n, CR_MAX_POINTS);
    ck_assert_int_gt(whole.n, CR_MAX_POINTS / 2);
    ck_assert_mem_eq(whole.sums, part.sums, (size_t)whole.n * sizeof *whole.sums);
    ck_assert_int_eq(whole.n_validations, part.n_validations);
    ck_assert_int_le(whole.n_validations, CR_MAX_POINTS);
    ck_assert_mem_eq(whole.validations, part.validations,
                     (size_t)whole.n_validations * sizeof *whole.validations);
    cr_history_free(&whole);
    cr_history_free(&part);
}
END_TEST

/* A point has the mean loss of its steps, and stands at the middle one; each step is in one point. */
START_TEST(points_are_means)
{
    struct cr_history h = interrupted(0, 5000);
    double next = 1;
    for (int i = 0; i < h.n; i++) {
        struct cr_loss_point point = cr_history_point(&h, i);
        double count = 2 * (point.step - next) + 1, sum = 0;
        for (double step = next; step < next + count; step++)
            sum += loss_of((int64_t)step);
        ck_assert_double_eq_tol(point.loss, sum / count, 1e-12);
        next += count;
    }
    ck_assert_double_eq(next, 5001);
    ck_assert(cr_history_is_validated(&h, 4998));
    ck_assert(!cr_history_is_validated(&h, 4995));
    cr_history_free(&h);
}
END_TEST

/* A file that no training wrote is refused.  For a checkpoint without losses, as older ones are, the
 * history of losses begins at the resumed step. */
START_TEST(texts_are_checked)
{
    static const struct {
        const char *losses, *validations;
        int64_t steps;
        int status;
    } cases[] = {
        {NULL, NULL, 7, 0},        {"0 1", "", 0, 0},           {"0 1 5 6", NULL, 2, 0},
        {"1 1 5", NULL, 2, 0},     {"0 2 5", "0 1 2 1", 2, 0},  {"0 1 5", NULL, 2, -1},
        {"0 1 5 6", NULL, 1, -1},  {"0 3 5", NULL, 3, -1},      {"0 0", NULL, 0, -1},
        {"3 1", NULL, 2, -1},      {"-1 1 5", NULL, 0, -1},     {"0 1 nan", NULL, 1, -1},
        {"0 1 5x", NULL, 1, -1},   {"0 1  ", NULL, 0, -1},      {"", NULL, 0, -1},
        {"0 1 5", "2 1", 1, -1},   {"0 1 5", "1 1 1 1", 1, -1}, {"0 1 5", "1", 1, -1},
        {"0 1 5", "0.5 1", 1, -1}, {"0 1", NULL, 1 << 20, -1},  {"0 1 inf", NULL, 1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cr_history h;
        int status = cr_history_parse(&h, cases[i].losses, cases[i].validations, cases[i].steps);
        ck_assert_msg(status == cases[i].status, "case %zu: %d", i, status);
        if (!status)
            ck_assert_int_eq(h.first + h.steps, cases[i].steps);
        cr_history_free(&h);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("training");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, outputs_become_inputs);
    tcase_add_test(all, a_net_learns);
    tcase_add_loop_test(all, ten_steps_are_the_same, 0, sizeof ways / sizeof *ways);
    tcase_add_test(all, outputs_lie_over_inputs);
    tcase_add_test(all, parameters_lie_where_they_are_read);
    tcase_add_loop_test(all, memory_does_not_matter, 0, sizeof scripts / sizeof *scripts);
    tcase_add_loop_test(all, a_history_goes_on, 0, 12);
    tcase_add_test(all, points_are_means);
    tcase_add_test(all, texts_are_checked);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
