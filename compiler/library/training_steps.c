/* training_steps.c - makes steps of a training and reports its status; see training.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "training.h"

/* ---- checks ---- */

int cr_find_number(const struct cr_engine *e, const char *name, bool whole, int *output,
                   struct cr_error *error)
{
    char shape[224];
    *output = cr_port_find(e->outputs, e->n_outputs, name);
    if (*output == CR_NONE)
        return 0;
    const struct cr_port *port = &e->outputs[*output];
    if (cr_port_elements(port) == 1 && (port->dtype == CR_F32 || (whole && port->dtype == CR_I32)))
        return 0;
    return cr_fail(error, "%.400s: output %s is %s %s, expected one number", e->path, name,
                   cr_dtype_name(port->dtype),
                   cr_shape_text(shape, sizeof shape, port->rank, port->shape));
}

int cr_check_started(const crescent_trainer *t, struct cr_error *error)
{
    const char *path = cr_trainer_engine(t)->path;
    return t->started ? 0
                      : cr_fail(error,
                                "%.400s: the training has not started, expected "
                                "crescent_trainer_start",
                                path);
}

/* ---- steps ---- */

/* Chooses where a step, or its entry update, writes each output.  An output that replaces a
 * parameter or an input may be written to the memory of it. */
static void choose_result_memory(crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    for (int i = 0; i < e->n_outputs; i++) {
        int param = t->next_state.to_param[i];
        if (t->next_state.to_sum[i] != CR_NONE)
            t->results[i] = NULL;
        else if (param != CR_NONE)
            t->results[i] = cr_share_of_param(t, param);
        else
            t->results[i] =
                t->outputs.data[i] ? t->outputs.data[i] : t->inputs.data[t->next_state.to_input[i]];
    }
}

/* Prepares the next step: packs the new parameters; an output that replaces an input but has memory
 * of its own is swapped with the input. */
static void swap_results(crescent_trainer *t)
{
    struct cr_engine *e = cr_trainer_engine(t);
    for (int i = 0; i < e->n_outputs; i++) {
        int input = t->next_state.to_input[i];
        if (t->next_state.to_param[i] != CR_NONE || input == CR_NONE || !t->outputs.data[i])
            continue;
        void *old = t->inputs.data[input];
        t->inputs.data[input] = t->outputs.data[i];
        t->outputs.data[i] = old;
    }
    cr_engine_take_tensors(e, t->learned);
}

/* Returns the current value of port number i of a kind; null with an error if it has none. */
static const void *current(const crescent_trainer *t, crescent_port_kind kind, int i,
                           struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    if (kind == CRESCENT_OUTPUT && t->next_state.to_sum[i] != CR_NONE)
        return cr_sum_of(t, t->next_state.to_sum[i]);
    if (kind == CRESCENT_INPUT && t->next_state.is_sum[i])
        return cr_check_started(t, error) ? NULL : cr_sum_of(t, i);
    if (kind == CRESCENT_OUTPUT && t->next_state.to_param[i] != CR_NONE)
        return e->tensors[t->next_state.to_param[i]];
    if (kind == CRESCENT_OUTPUT && t->next_state.to_input[i] != CR_NONE)
        return t->inputs.data[t->next_state.to_input[i]];
    if (kind == CRESCENT_OUTPUT)
        return t->outputs.data[i];
    if (kind == CRESCENT_INPUT)
        return cr_check_started(t, error) ? NULL : t->inputs.data[i];
    if (kind == CRESCENT_STATE)
        return e->memory[i];
    return e->tensors[i];
}

/* Returns the value that a scalar output had after the last step. */
static double value_of(const crescent_trainer *t, int output)
{
    if (output == CR_NONE || !t->has_step)
        return NAN;
    bool whole = cr_trainer_engine(t)->outputs[output].dtype == CR_I32;
    const void *data = current(t, CRESCENT_OUTPUT, output, NULL);
    return whole ? (double)*(const int32_t *)data : (double)*(const float *)data;
}

/* Runs a step of a script without micro-batches. */
static int run_whole(crescent_trainer *t, struct cr_error *error)
{
    struct cr_engine *e = cr_trainer_engine(t);
    if (cr_feeds_take(&t->feeds, e, t->step, t->inputs.data, error))
        return -1;
    choose_result_memory(t);
    return cr_engine_run(e, (const void *const *)t->inputs.data, t->results, error);
}

/* Runs a step over micro-batches. */
static int run_parts(crescent_trainer *t, struct cr_error *error)
{
    if (cr_run_micro_batches(t, error))
        return -1;
    choose_result_memory(t);
    return cr_engine_run_entry(cr_trainer_engine(t), t->accumulation.update, cr_update_inputs(t),
                               t->results, error);
}

/* Makes a step: runs the model, and makes its outputs the inputs of the next step. */
static int step(crescent_trainer *t, struct cr_error *error)
{
    if (cr_check_started(t, error) || cr_check_weights(t->model, error) ||
        cr_compare_ranks(t, error) ||
        (t->next_state.micro_batches ? run_parts(t, error) : run_whole(t, error)))
        return -1;
    cr_gather_params(t);
    swap_results(t);
    t->step++;
    t->has_step = true;
    double loss = value_of(t, t->loss);
    if (!isfinite(loss))
        return cr_fail(error,
                       "%.400s: the loss of step %" PRId64 " is %g, expected a finite number",
                       cr_trainer_engine(t)->path, t->step, loss);
    cr_history_add(&t->history, loss);
    return 0;
}

int crescent_trainer_compare_ranks(crescent_trainer *trainer)
{
    CR_REQUIRE(trainer, true);
    CR_ENTER(trainer->context);
    int status = cr_check_started(trainer, guard.error) || cr_check_weights(trainer->model, guard.error) ||
                 cr_compare_ranks(trainer, guard.error);
    return cr_done(&guard, status ? -1 : 0);
}

int crescent_trainer_step(crescent_trainer *trainer)
{
    CR_REQUIRE(trainer, true);
    CR_ENTER(trainer->context);
    return cr_done(&guard, step(trainer, guard.error));
}

/* ---- status ---- */

/* Returns the status; numbers that the script does not output are NAN. */
int crescent_trainer_status(const crescent_trainer *trainer, crescent_training *status)
{
    CR_REQUIRE(trainer, status);
    const struct cr_history *h = &trainer->history;
    *status = (crescent_training){.step = trainer->step,
                                  .loss = value_of(trainer, trainer->loss),
                                  .lr = value_of(trainer, trainer->rate),
                                  .tokens = value_of(trainer, trainer->tokens),
                                  .has_lr = trainer->rate != CR_NONE,
                                  .has_tokens = trainer->tokens != CR_NONE,
                                  .validated = -1,
                                  .validation = NAN};
    if (h->n_validations) {
        struct cr_loss_point last = h->validations[h->n_validations - 1];
        status->validated = (int64_t)last.step;
        status->validation = last.loss;
    }
    return CRESCENT_OK;
}

/* Copies the value of a port to `tensor`; fails if the port has no value yet. */
static int get(const crescent_trainer *t, crescent_port_kind kind, int index, void *tensor,
               struct cr_error *error)
{
    crescent_port port;
    if (crescent_port_at(t->model, kind, index, &port))
        return -1;
    if (kind == CRESCENT_OUTPUT && !t->has_step)
        return cr_fail(error, "%.400s: found no step, expected one before its outputs are read",
                       cr_trainer_engine(t)->path);
    if (kind == CRESCENT_PARAM && !t->model->given[index])
        return cr_fail(error, "%.400s: parameter %.200s has no values, expected some",
                       cr_trainer_engine(t)->path, port.name);
    int input = kind == CRESCENT_INPUT ? index : kind == CRESCENT_OUTPUT ? t->next_state.to_input[index] : CR_NONE;
    const void *data = current(t, kind, index, error);
    if (data && input != CR_NONE && !t->next_state.is_sum[input] && cr_is_shared_input(t, input))
        cr_gather_input(t, input, tensor);
    else if (data)
        memcpy(tensor, data, (size_t)crescent_port_elements(&port) * sizeof(float));
    return data ? 0 : -1;
}

int crescent_trainer_get(const crescent_trainer *trainer, crescent_port_kind kind, int index,
                         void *tensor)
{
    CR_REQUIRE(trainer, tensor);
    CR_ENTER(trainer->context);
    return cr_done(&guard, get(trainer, kind, index, tensor, guard.error));
}

/* ---- losses ---- */

int crescent_loss_count(const crescent_trainer *trainer, crescent_loss_kind kind)
{
    if (!trainer)
        return 0;
    return kind == CRESCENT_VALIDATION_LOSSES ? trainer->history.n_validations : trainer->history.n;
}

/* Returns a point of the losses: the mean loss over some steps, or the loss of a validation. */
int crescent_loss_at(const crescent_trainer *trainer, crescent_loss_kind kind, int index,
                     crescent_loss *loss)
{
    CR_REQUIRE(trainer, loss);
    const struct cr_history *h = &trainer->history;
    if (cr_check_index(cr_trainer_engine(trainer)->path, "loss", index,
                       crescent_loss_count(trainer, kind), &trainer->context->error))
        return CRESCENT_FAILED;
    struct cr_loss_point point =
        kind == CRESCENT_VALIDATION_LOSSES ? h->validations[index] : cr_history_point(h, index);
    *loss = (crescent_loss){point.step, point.loss};
    return CRESCENT_OK;
}

int crescent_loss_range(const crescent_trainer *trainer, int64_t *first, int64_t *last)
{
    CR_REQUIRE(trainer, first && last);
    *first = trainer->history.first;
    *last = trainer->history.first + trainer->history.steps;
    return CRESCENT_OK;
}
