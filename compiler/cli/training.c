/* training.c - what goes from step to step; see training.h.  Checkpoints: checkpoint.c. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "near.h"
#include "report.h"

/* ---- what a step is made of ---- */

/* The output of that name, which must be one f32 or, if `whole`, one i32. */
static int find_number(const struct cr_training *t, const char *name, bool whole, int *output,
                       struct cr_error *error)
{
    const struct cr_engine *e = &t->engine;
    *output = cr_port_find(e->outputs, e->n_outputs, name);
    if (*output == CR_NONE)
        return 0;
    const struct cr_port *port = &e->outputs[*output];
    if (cr_port_elements(port) == 1 && (port->dtype == CR_F32 || (whole && port->dtype == CR_I32)))
        return 0;
    return cr_fail(error, "%.400s: output %s is %s %s, expected one number", t->options->model,
                   name, cr_dtype_name(port->dtype), cr_port_shape(port).text);
}

static int find_numbers(struct cr_training *t, struct cr_error *error)
{
    if (find_number(t, "loss", false, &t->loss, error) ||
        find_number(t, "lr", false, &t->rate, error) ||
        find_number(t, "tokens", true, &t->tokens, error))
        return -1;
    if (t->loss == CR_NONE)
        return cr_fail(error, "%.400s: no output loss, expected the number that training lowers",
                       t->options->model);
    return 0;
}

/* ---- data ---- */

/* The part of a file that is batch number i. */
static struct cr_npy batch_of(const struct cr_feed *feed, const struct cr_port *port, int64_t i)
{
    struct cr_npy batch = feed->file;
    if (batch.rank == port->rank)
        return batch;
    int width = batch.type == CR_NPY_F8 || batch.type == CR_NPY_I8 ? 8 : 4;
    batch.rank--;
    memmove(batch.shape, batch.shape + 1, (size_t)batch.rank * sizeof *batch.shape);
    batch.elements /= feed->batches;
    batch.data += i * batch.elements * width;
    return batch;
}

/* A file has the input's shape, or an axis more, which counts batches. */
static int check_feed_shape(struct cr_feed *feed, const struct cr_port *port,
                            struct cr_error *error)
{
    const struct cr_npy *file = &feed->file;
    char found[400];
    int extra = file->rank - port->rank;
    feed->batches = extra == 1 ? file->shape[0] : 1;
    if ((extra == 0 || extra == 1) && feed->batches > 0 &&
        memcmp(file->shape + extra, port->shape, (size_t)port->rank * sizeof *port->shape) == 0)
        return 0;
    cr_shape_text(found, sizeof found, file->rank < 16 ? file->rank : 16, file->shape);
    return cr_fail(error, "%.300s: the array has shape %s, expected %s or [batches, ...] of it",
                   file->path, found, cr_port_shape(port).text);
}

/* Reads every batch once, so that what is wrong with one is known before any step is made. */
static int check_feed(struct cr_training *t, struct cr_feed *feed, struct cr_error *error)
{
    const struct cr_port *port = &t->engine.inputs[feed->input];
    if (check_feed_shape(feed, port, error))
        return -1;
    for (int64_t i = 0; i < feed->batches; i++) {
        struct cr_npy batch = batch_of(feed, port, i);
        if (cr_take_input(&t->engine, feed->input, &batch, t->inputs.data[feed->input], error))
            return -1;
    }
    return 0;
}

/* Opens what --input names; of several files for an input the last one counts. */
static int open_feeds(struct cr_training *t, struct cr_error *error)
{
    const struct cr_pairs *files = &t->options->input;
    t->feeds = cr_calloc((size_t)t->engine.n_inputs, sizeof *t->feeds);
    for (int i = 0; i < t->engine.n_inputs; i++) {
        const char *path = NULL;
        for (int j = 0; j < files->n; j++)
            if (strcmp(files->items[j].key, t->engine.inputs[i].name) == 0)
                path = files->items[j].value;
        if (!path)
            continue;
        if (t->handover.is_state[i])
            return cr_fail(error,
                           "%.400s: --input %.100s: an output of that name is its value, "
                           "expected an input that is data",
                           t->options->model, t->engine.inputs[i].name);
        struct cr_feed *feed = &t->feeds[t->n_feeds];
        feed->input = i;
        if (cr_npy_open(&feed->file, path, error->text, sizeof error->text))
            return -1;
        t->n_feeds++;
        if (check_feed(t, feed, error))
            return -1;
    }
    return 0;
}

static bool is_fed(const struct cr_training *t, int input)
{
    for (int i = 0; i < t->n_feeds; i++)
        if (t->feeds[i].input == input)
            return true;
    return false;
}

/* Inputs without a file start as the script says; data that nobody gives would be noise. */
static int start_inputs(struct cr_training *t, struct cr_error *error)
{
    const struct cr_engine *e = &t->engine;
    for (int i = 0; i < e->n_inputs; i++) {
        const struct cr_port *port = &e->inputs[i];
        if (is_fed(t, i))
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
            fprintf(stderr, "crescent: note: %.400s: output %.150s replaces nothing%s\n",
                    t->options->model, e->outputs[i].name, near);
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
    if (cr_handover_find(&t->handover, &ports, t->options->model, error) ||
        find_numbers(t, error) || cr_check_input_names(e, t->options, error) ||
        cr_arrays_new(&t->inputs, e->inputs, e->n_inputs, error) ||
        cr_arrays_new(&t->outputs, e->outputs, e->n_outputs, error) || open_feeds(t, error) ||
        start_inputs(t, error) || cr_engine_keep_params(e, error) ||
        cr_fill_params(e, t->options, &t->surplus, error))
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
    for (int i = 0; i < t->n_feeds; i++)
        cr_npy_close(&t->feeds[i].file);
    free(t->feeds);
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
    for (int i = 0; i < t->n_feeds; i++) {
        const struct cr_feed *feed = &t->feeds[i];
        struct cr_npy batch =
            batch_of(feed, &t->engine.inputs[feed->input], t->step % feed->batches);
        if (cr_take_input(&t->engine, feed->input, &batch, t->inputs.data[feed->input], error))
            return -1;
    }
    if (cr_engine_run(&t->engine, (const void *const *)t->inputs.data, t->outputs.data, error))
        return -1;
    hand_over(t);
    t->step++;
    return 0;
}

double cr_training_value(const struct cr_training *t, int output)
{
    bool whole = t->engine.outputs[output].dtype == CR_I32;
    const void *data = t->outputs.data[output];
    return whole ? (double)*(const int32_t *)data : (double)*(const float *)data;
}
