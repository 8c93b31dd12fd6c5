/*
 * test_training.c - training as a caller does it: a step after another, outputs handed back
 * as the parameters and inputs of their names.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

enum { MAX_PORTS = 64, MAX_ELEMENTS = 1024 };

/* A model with room for what goes in and out of it. */
struct training {
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

/* A model with drawn weights, a state of zeros, and something to learn. */
static struct training *begin(crescent_backend backend, int threads)
{
    struct training *t = calloc(1, sizeof *t);
    crescent_config config = {.backend = backend, .threads = threads};
    ck_assert_msg(crescent_open("tests/scripts/train_one.lua", &config, &t->model) == 0, "%s",
                  crescent_error());
    ck_assert_int_eq(crescent_draw_weights(t->model, 1), CRESCENT_OK);
    t->n_inputs = read_ports(t->model, CRESCENT_INPUT, t->input);
    t->n_outputs = read_ports(t->model, CRESCENT_OUTPUT, t->output);
    t->n_params = read_ports(t->model, CRESCENT_PARAM, t->param);
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
    free(t);
}

/* One step; returns the loss before it. */
static float train(struct training *t)
{
    const void *in[MAX_PORTS];
    void *out[MAX_PORTS];
    for (int i = 0; i < t->n_inputs; i++)
        in[i] = t->in[i];
    for (int i = 0; i < t->n_outputs; i++)
        out[i] = t->out[i];
    ck_assert_msg(crescent_run(t->model, in, out) == 0, "%s", crescent_error());
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

/* All that is handed from step to step has the shape of where it goes, and nothing is left out. */
START_TEST(the_state_goes_round)
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

/* Ten steps, dropout and all, end in the same bits, and nearly so for the interpreter. */
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

int main(void)
{
    Suite *suite = suite_create("training");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, the_state_goes_round);
    tcase_add_test(all, a_net_learns);
    tcase_add_loop_test(all, ten_steps_are_the_same, 0, sizeof ways / sizeof *ways);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
