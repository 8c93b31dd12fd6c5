/* validation.c - a forward pass beside a training; see validation.h. */
#include "validation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "report.h"

#define OPTION "validation"
#define FILES "--validation-input"

/* ---- the graph ---- */

static bool has_option(const struct cr_script *script)
{
    for (int i = 0; i < script->n_options; i++)
        if (strcmp(script->options[i].name, OPTION) == 0)
            return true;
    return false;
}

/* Leaves the graph the output `loss` alone. */
static int keep_loss(struct cr_graph *g, const char *path, struct cr_error *error)
{
    for (int i = 0; i < g->n_outputs; i++) {
        if (strcmp(g->outputs[i].name, "loss") != 0)
            continue;
        g->outputs[0] = g->outputs[i];
        g->n_outputs = 1;
        return 0;
    }
    return cr_fail(error, "%.400s: no output loss with " OPTION " = true, expected one", path);
}

/* Nodes that the outputs depend on; to be freed. */
static bool *mark_live(const struct cr_graph *g)
{
    bool *live = cr_calloc((size_t)g->n_nodes, sizeof *live);
    for (int i = 0; i < g->n_outputs; i++)
        live[g->outputs[i].id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int j = 0; live[i] && j < g->nodes[i].n_in; j++)
            live[cr_in(g, i, j)] = true;
    return live;
}

/* A loss that depends on random numbers has dropout in it, or data drawn for training, unless
 * the script knows about validation. */
static int check_random(const struct cr_graph *g, const char *path, struct cr_error *error)
{
    bool *live = mark_live(g);
    int found = CR_NONE;
    for (int i = 0; i < g->n_nodes && found == CR_NONE; i++)
        if (live[i] && cr_kind_of(g, i) == CR_KIND_RANDOM)
            found = i;
    free(live);
    if (found == CR_NONE)
        return 0;
    const struct cr_where *where = &g->nodes[found].where;
    return cr_fail(error,
                   "%.400s:%d: the loss depends on random numbers, such as those of dropout, "
                   "expected an option " OPTION " of the script %.200s that leaves them out",
                   where->file, where->line, path);
}

/* Runs the script for validation and makes an engine of its loss. */
static int open_engine(struct cr_validation *v, struct cr_error *error)
{
    const char *path = v->options.model;
    if (cr_model_load(&v->model, &v->options, error))
        return -1;
    bool declared = has_option(&v->model.script);
    if (!declared && !v->options.validation_input.n)
        return cr_fail(error,
                       "%.400s: no data for the validation, expected " FILES " NAME=F.npy or an "
                       "option " OPTION " of the script",
                       path);
    if (keep_loss(v->model.script.graph, path, error) ||
        (!declared && check_random(v->model.script.graph, path, error)))
        return -1;
    return cr_model_open(&v->model, cr_model_backend(&v->options), &v->engine, error);
}

/* ---- what it shares with the training ---- */

/* The training's port of that name, of the same shape and type, or CR_NONE with the error set. */
static int find_same(const struct cr_port *ports, int n, const struct cr_port *port,
                     const char *path, struct cr_error *error)
{
    int found = cr_port_find(ports, n, port->name);
    if (found != CR_NONE && ports[found].dtype == port->dtype && ports[found].rank == port->rank &&
        memcmp(ports[found].shape, port->shape, (size_t)port->rank * sizeof *port->shape) == 0)
        return found;
    cr_fail(error, "%.400s: %.150s is %s in the validation, expected it as the training has it",
            path, port->name, cr_port_shape(port).text);
    return CR_NONE;
}

static int find_params(struct cr_validation *v, const struct cr_training *t, struct cr_error *error)
{
    const struct cr_engine *e = &v->engine;
    v->param = cr_calloc((size_t)e->n_params, sizeof *v->param);
    for (int i = 0; i < e->n_params; i++) {
        v->param[i] =
            find_same(t->engine.params, t->engine.n_params, &e->params[i], e->path, error);
        if (v->param[i] == CR_NONE)
            return -1;
    }
    return 0;
}

/* An input of the name of a state has the value that the training gives it. */
static int find_state(struct cr_validation *v, const struct cr_training *t, struct cr_error *error)
{
    const struct cr_engine *e = &v->engine, *from = &t->engine;
    v->state = cr_calloc((size_t)e->n_inputs, sizeof *v->state);
    for (int i = 0; i < e->n_inputs; i++) {
        int input = cr_port_find(from->inputs, from->n_inputs, e->inputs[i].name);
        v->state[i] = CR_NONE;
        if (input == CR_NONE || !t->handover.is_state[input])
            continue;
        v->state[i] = find_same(from->inputs, from->n_inputs, &e->inputs[i], e->path, error);
        if (v->state[i] == CR_NONE)
            return -1;
    }
    return 0;
}

/* ---- data ---- */

/* Files for data; an input that the training reads from a file needs one of its own here. */
static int open_feeds(struct cr_validation *v, const struct cr_training *t, struct cr_error *error)
{
    const struct cr_engine *e = &v->engine;
    bool *is_state = cr_calloc((size_t)e->n_inputs, sizeof *is_state);
    for (int i = 0; i < e->n_inputs; i++)
        is_state[i] = v->state[i] != CR_NONE;
    const struct cr_feed_source source = {FILES, e->path, &v->options.validation_input, is_state};
    int status = cr_feeds_open(&v->feeds, e, &source, v->inputs.data, error);
    free(is_state);
    for (int i = 0; i < e->n_inputs && !status; i++) {
        const char *name = e->inputs[i].name;
        int input = cr_port_find(t->engine.inputs, t->engine.n_inputs, name);
        bool read = input != CR_NONE && cr_feeds_find(&t->feeds, input);
        if (v->state[i] != CR_NONE || cr_feeds_find(&v->feeds, i))
            continue;
        if (read || !cr_has_init(&e->inputs[i]))
            status = cr_fail(error,
                             "%.400s: input %.100s has no data for the validation, expected " FILES
                             " %.100s=F.npy",
                             e->path, name, name);
        else
            cr_draw_input(e, i, (uint64_t)v->options.seed, v->inputs.data[i]);
    }
    return status;
}

/* ---- a validation ---- */

static int start(struct cr_validation *v, const struct cr_training *t, struct cr_error *error)
{
    struct cr_engine *e = &v->engine;
    int loss;
    if (open_engine(v, error) || cr_training_number(e, "loss", false, &loss, error) ||
        find_params(v, t, error) || find_state(v, t, error) ||
        cr_arrays_new(&v->inputs, e->inputs, e->n_inputs, error) ||
        cr_arrays_new(&v->outputs, e->outputs, e->n_outputs, error))
        return -1;
    return open_feeds(v, t, error);
}

int cr_validation_open(struct cr_validation *v, const struct cr_training *t, struct cr_error *error)
{
    *v = (struct cr_validation){.options = cr_options_copy(t->options)};
    struct cr_pairs *set = &v->options.set;
    *CR_PUSH(set->items, set->n, set->cap) =
        (struct cr_setting){cr_strdup(OPTION), "true", true /* a script need not have it */};
    if (start(v, t, error) == 0)
        return 0;
    cr_validation_close(v);
    return -1;
}

void cr_validation_close(struct cr_validation *v)
{
    cr_feeds_close(&v->feeds);
    cr_arrays_free(&v->inputs);
    cr_arrays_free(&v->outputs);
    cr_engine_close(&v->engine);
    cr_model_free(&v->model);
    cr_options_free(&v->options);
    free(v->param);
    free(v->state);
    *v = (struct cr_validation){0};
}

/* The parameters, packed as this engine's kernels read them. */
static int take_params(struct cr_validation *v, const struct cr_training *t, struct cr_error *error)
{
    for (int i = 0; i < v->engine.n_params; i++) {
        struct cr_contents contents = {.data = t->engine.tensors[v->param[i]]};
        if (cr_engine_set_param(&v->engine, i, &contents, error))
            return -1;
    }
    return 0;
}

/* The loss of a batch. */
static int run_batch(struct cr_validation *v, const void *const *inputs, int64_t index,
                     double *loss, struct cr_error *error)
{
    if (cr_feeds_take(&v->feeds, &v->engine, index, v->inputs.data, error) ||
        cr_engine_run(&v->engine, inputs, v->outputs.data, error))
        return -1;
    *loss = (double)*(const float *)v->outputs.data[0];
    return 0;
}

int cr_validation_run(struct cr_validation *v, const struct cr_training *t,
                      const volatile sig_atomic_t *stop, double *loss, struct cr_error *error)
{
    int64_t n = cr_feeds_batches(&v->feeds);
    double sum = 0, one;
    int status = take_params(v, t, error);
    const void **inputs = cr_calloc((size_t)v->engine.n_inputs, sizeof *inputs);
    for (int i = 0; i < v->engine.n_inputs; i++)
        inputs[i] = v->state[i] == CR_NONE ? v->inputs.data[i] : t->inputs.data[v->state[i]];
    for (int64_t i = 0; i < n && !status; i++) {
        status = stop && *stop ? 1 : run_batch(v, inputs, i, &one, error);
        sum += status ? 0 : one;
    }
    free(inputs);
    *loss = sum / (double)n;
    if (!status && !isfinite(*loss))
        return cr_fail(error,
                       "%.400s: the loss of the validation after step %" PRId64 " is %g, expected "
                       "a finite number",
                       t->options->model, t->step, *loss);
    return status;
}
