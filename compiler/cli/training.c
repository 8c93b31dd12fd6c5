/* training.c - what goes from step to step; see training.h.  Checkpoints: checkpoint.c. */
#include "training.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "near.h"
#include "report.h"

/* ---- what a step is made of ---- */

int cr_training_number(const struct cr_engine *e, const char *name, bool whole, int *output,
                       struct cr_error *error)
{
    *output = cr_port_find(e->outputs, e->n_outputs, name);
    if (*output == CR_NONE)
        return 0;
    const struct cr_port *port = &e->outputs[*output];
    if (cr_port_elements(port) == 1 && (port->dtype == CR_F32 || (whole && port->dtype == CR_I32)))
        return 0;
    return cr_fail(error, "%.400s: output %s is %s %s, expected one number", e->path, name,
                   cr_dtype_name(port->dtype), cr_port_shape(port).text);
}

static int find_numbers(struct cr_training *t, struct cr_error *error)
{
    const struct cr_engine *e = &t->engine;
    if (cr_training_number(e, "loss", false, &t->loss, error) ||
        cr_training_number(e, "lr", false, &t->rate, error) ||
        cr_training_number(e, "tokens", true, &t->tokens, error))
        return -1;
    if (t->loss == CR_NONE)
        return cr_fail(error, "%.400s: no output loss, expected the number that training lowers",
                       t->options->model);
    return 0;
}

/* ---- data ---- */

/* Inputs without a file start as the script says; data that nobody gives would be noise. */
static int start_inputs(struct cr_training *t, struct cr_error *error)
{
    const struct cr_engine *e = &t->engine;
    for (int i = 0; i < e->n_inputs; i++) {
        const struct cr_port *port = &e->inputs[i];
        if (cr_feeds_find(&t->feeds, i))
            continue;
        if (!t->handover.is_state[i] && !cr_has_init(port))
            return cr_fail(error,
                           "%.400s: input %.100s has no data, expected --input %.100s=F.npy, or "
                           "an output of its name",
                           t->options->model, port->name, port->name);
        cr_draw_input(e, i, (uint64_t)t->options->seed, t->inputs.data[i]);
    }
    return 0;
}

/* ---- words ---- */

/* A line on stderr about an output whose name is nearly that of a parameter that no output
 * replaces: it may be a measurement, or the parameter misspelt, which then never changes. */
static void note_names(const struct cr_training *t)
{
    const struct cr_engine *e = &t->engine;
    const char **names = cr_calloc((size_t)e->n_params, sizeof *names);
    char near[256];
    for (int i = 0; i < e->n_params; i++)
        names[i] = e->params[i].name;
    for (int i = 0; i < e->n_outputs; i++)
        if (t->handover.to_param[i] != CR_NONE)
            names[t->handover.to_param[i]] = NULL;
    for (int i = 0; i < e->n_outputs; i++) {
        bool replaces = t->handover.to_param[i] != CR_NONE || t->handover.to_input[i] != CR_NONE;
        if (replaces || i == t->loss || i == t->rate || i == t->tokens)
            continue;
        cr_did_you_mean(near, sizeof near, e->outputs[i].name, names, e->n_params);
        if (*near)
            cr_note("%.400s: output %.150s replaces nothing%s", t->options->model,
                    e->outputs[i].name, near);
    }
    free(names);
}

void cr_training_note(const struct cr_training *t)
{
    cr_note_surplus(&t->surplus);
    note_names(t);
}

/* ---- a training ---- */

/* Checks first, then what takes memory and time. */
static int start(struct cr_training *t, struct cr_error *error)
{
    struct cr_engine *e = &t->engine;
    const struct cr_ports ports = {e->params,   e->inputs,   e->outputs,
                                   e->n_params, e->n_inputs, e->n_outputs};
    if (cr_handover_find(&t->handover, &ports, t->options->model, error) || find_numbers(t, error))
        return -1;
    const struct cr_feed_source source = {"--input", t->options->model, &t->options->input,
                                          t->handover.is_state};
    if (cr_arrays_new(&t->inputs, e->inputs, e->n_inputs, error) ||
        cr_arrays_new(&t->outputs, e->outputs, e->n_outputs, error) ||
        cr_feeds_open(&t->feeds, e, &source, t->inputs.data, error) || start_inputs(t, error) ||
        cr_engine_keep_params(e, error) || cr_fill_params(e, t->options, &t->surplus, error))
        return -1;
    return 0;
}

int cr_training_open(struct cr_training *t, struct cr_model *model, struct cr_error *error)
{
    *t = (struct cr_training){.options = model->options, .script = &model->script};
    if (cr_model_open(model, cr_model_backend(t->options), &t->engine, error))
        return -1;
    if (start(t, error) == 0)
        return 0;
    cr_training_close(t);
    return -1;
}

void cr_training_close(struct cr_training *t)
{
    cr_feeds_close(&t->feeds);
    cr_history_free(&t->history);
    cr_handover_free(&t->handover);
    cr_arrays_free(&t->inputs);
    cr_arrays_free(&t->outputs);
    cr_engine_close(&t->engine);
    *t = (struct cr_training){0};
}

/* What came out changes places with what went in, so nothing is copied but into the panels
 * that the kernels read. */
static void hand_over(struct cr_training *t)
{
    for (int i = 0; i < t->engine.n_outputs; i++) {
        void **out = &t->outputs.data[i];
        if (t->handover.to_param[i] != CR_NONE) {
            float *tensor = *out;
            cr_engine_exchange_param(&t->engine, t->handover.to_param[i], &tensor);
            *out = tensor;
        } else if (t->handover.to_input[i] != CR_NONE) {
            void **in = &t->inputs.data[t->handover.to_input[i]], *old = *in;
            *in = *out;
            *out = old;
        }
    }
}

int cr_training_step(struct cr_training *t, struct cr_error *error)
{
    if (cr_feeds_take(&t->feeds, &t->engine, t->step, t->inputs.data, error) ||
        cr_engine_run(&t->engine, (const void *const *)t->inputs.data, t->outputs.data, error))
        return -1;
    hand_over(t);
    t->step++;
    double loss = cr_training_value(t, t->loss);
    if (!isfinite(loss))
        return cr_fail(error,
                       "%.400s: the loss of step %" PRId64 " is %g, expected a finite number",
                       t->options->model, t->step, loss);
    cr_history_add(&t->history, loss);
    return 0;
}

double cr_training_value(const struct cr_training *t, int output)
{
    bool whole = t->engine.outputs[output].dtype == CR_I32;
    const void *data = t->outputs.data[output];
    return whole ? (double)*(const int32_t *)data : (double)*(const float *)data;
}
