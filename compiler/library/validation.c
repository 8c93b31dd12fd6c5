/*
 * validation.c - computes the loss of a training on held-out data; see crescent.h.
 *
 * The script is run again, with its option `validation` set to true if it declares one.  `loss` is
 * the only output that is kept, so that the graph is a forward pass.  It uses the current
 * parameters and state of the training, and updates nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/micro_batches.h"
#include "compiler/exec/join_ranks.h"
#include "compiler/ir/mem.h"
#include "training.h"

#define OPTION "validation"
#define FILES "--validation-input"

struct cr_validation {
    crescent_model *model;
    struct cr_buffers inputs, outputs;
    struct cr_feeds feeds; /* the files of --validation-input */
    int *param, *state;    /* by parameter and by input: the index of the training's port with the
                              same name, or CR_NONE */
};

/* ---- the graph ---- */

/* Removes all outputs but `loss`; of a step over micro-batches, keeps the loss of one
 * micro-batch. */
static int keep_loss(struct cr_graph *g, const char *path, struct cr_error *error)
{
    if (cr_has_micro_batches(g))
        cr_keep_entry(g, cr_find_entry(g, CR_MICRO_BATCH));
    else if (cr_choose_entry(g, "", path, error))
        return -1;
    if (g->n_replaced)
        return cr_fail(error, "%.400s: state %.100s with " OPTION " = true, expected none", path,
                       g->outputs[cr_n_results(g)].name);
    for (int i = 0; i < g->n_outputs; i++) {
        if (strcmp(g->outputs[i].name, "loss") != 0)
            continue;
        g->outputs[0] = g->outputs[i];
        g->n_outputs = 1;
        return 0;
    }
    return cr_fail(error, "%.400s: no output loss with " OPTION " = true, expected one", path);
}

/* Marks the nodes that outputs depend on; the caller frees the array. */
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

/* Fails if the loss depends on random numbers: either dropout in a script without an option for
 * validation, or data drawn for training. */
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

/* Keeps only the loss; fails if there is no data, or if the loss is random. */
static int check_graph(crescent_graph *graph, int n_files, struct cr_error *error)
{
    const char *path = graph->origin->path;
    bool declared = cr_origin_option(graph->origin, OPTION) != NULL;
    if (!declared && !n_files)
        return cr_fail(error,
                       "%.400s: no data for the validation, expected " FILES " NAME=F.npy or an "
                       "option " OPTION " of the script",
                       path);
    if (keep_loss(graph->graph, path, error))
        return -1;
    return declared ? 0 : check_random(graph->graph, path, error);
}

/* Runs the script for validation and compiles the loss. */
static int open_model(struct cr_validation *v, const crescent_trainer *t, int n_files,
                      struct cr_error *error)
{
    const struct cr_setting on = {OPTION, "true", true /* a script need not declare it */};
    crescent_graph *graph;
    if (cr_graph_again(t->context, t->model->origin, &on, 1, &graph))
        return -1;
    crescent_config config = t->model->config;
    config.format = "f32"; /* training is in f32, whatever formats the file has */
    int status = check_graph(graph, n_files, error);
    if (!status) {
        status = cr_compile_graph(t->context, graph->origin, graph->graph, &config, CR_TO_TRAIN, &v->model, error);
        graph->graph = NULL;
    }
    crescent_graph_close(graph);
    return status;
}

/* ---- shared with the training ---- */

/* Returns the training's port with the same name, shape and type; CR_NONE with an error if there is
 * none. */
static int find_same(const struct cr_port *ports, int n, const struct cr_port *port,
                     const char *path, struct cr_error *error)
{
    char shape[224];
    int found = cr_port_find(ports, n, port->name);
    if (found != CR_NONE && ports[found].dtype == port->dtype &&
        cr_has_shape(&ports[found], port->rank, port->shape))
        return found;
    cr_fail(error,
            "%.400s: %.150s is %s in the validation, expected the shape and type of the training",
            path, port->name, cr_shape_text(shape, sizeof shape, port->rank, port->shape));
    return CR_NONE;
}

static int find_params(struct cr_validation *v, const crescent_trainer *t, struct cr_error *error)
{
    const struct cr_engine *e = &v->model->engine, *from = cr_trainer_engine(t);
    v->param = cr_calloc((size_t)e->n_params, sizeof *v->param);
    for (int i = 0; i < e->n_params; i++) {
        v->param[i] = find_same(from->params, from->n_params, &e->params[i], e->path, error);
        if (v->param[i] == CR_NONE)
            return -1;
    }
    return 0;
}

/* Finds the inputs that are states of the training; they use its values. */
static int find_state(struct cr_validation *v, const crescent_trainer *t, struct cr_error *error)
{
    const struct cr_engine *e = &v->model->engine, *from = cr_trainer_engine(t);
    v->state = cr_calloc((size_t)e->n_inputs, sizeof *v->state);
    for (int i = 0; i < e->n_inputs; i++) {
        int input = cr_port_find(from->inputs, from->n_inputs, e->inputs[i].name);
        v->state[i] = CR_NONE;
        if (input == CR_NONE || !t->next_state.is_state[input])
            continue;
        v->state[i] = find_same(from->inputs, from->n_inputs, &e->inputs[i], e->path, error);
        if (v->state[i] == CR_NONE)
            return -1;
    }
    return 0;
}

/* ---- data ---- */

/* Sets an input without a file to its initial values.  Fails if the training reads data for it:
 * then validation needs a file, too. */
static int start_input(struct cr_validation *v, const crescent_trainer *t, int i,
                       struct cr_error *error)
{
    const struct cr_engine *e = &v->model->engine, *from = cr_trainer_engine(t);
    const char *name = e->inputs[i].name;
    int input = cr_port_find(from->inputs, from->n_inputs, name);
    bool given = input != CR_NONE && (cr_feeds_find(&t->feeds, input) || t->is_set[input]);
    if (given || !cr_has_init(&e->inputs[i]))
        return cr_fail(error,
                       "%.400s: input %.100s has no data for the validation, expected " FILES
                       " %.100s=F.npy",
                       e->path, name, name);
    cr_draw_input(e, i, (uint64_t)t->model->origin->seed, v->inputs.data[i]);
    return 0;
}

/* Fails if another rank has other validation data. */
static int compare_data(const crescent_trainer *t, uint64_t hash, struct cr_error *error)
{
    int other = t->accumulation.ranks ? cr_ranks_compare(t->accumulation.ranks, hash) : -1;
    if (other < 0)
        return 0;
    return cr_fail(error, "%.400s: data of the validation of rank %d differ from those of rank 0, expected the same files "
                   "for all ranks", cr_trainer_engine(t)->path, other);
}

/* Opens the files, then sets the other inputs to their initial values. */
static int open_feeds(struct cr_validation *v, const crescent_trainer *t,
                      const crescent_input_file *files, int n, struct cr_error *error)
{
    const struct cr_engine *e = &v->model->engine;
    bool *is_state = cr_calloc((size_t)e->n_inputs, sizeof *is_state);
    for (int i = 0; i < e->n_inputs; i++)
        is_state[i] = v->state[i] != CR_NONE;
    uint64_t hash = 0;
    const struct cr_feed_source source = {FILES, files, n, is_state, &hash};
    int status = cr_feeds_open(&v->feeds, e, &source, v->inputs.data, error);
    for (int i = 0; i < e->n_inputs && !status; i++)
        if (!is_state[i] && !cr_feeds_find(&v->feeds, i))
            status = start_input(v, t, i, error);
    free(is_state);
    return status ? status : compare_data(t, hash, error);
}

/* ---- opening ---- */

/* Prepares a validation.  Checks the script before it reads the files. */
static int prepare(struct cr_validation *v, const crescent_trainer *t,
                   const crescent_input_file *files, int n, struct cr_error *error)
{
    int loss;
    if (open_model(v, t, n, error))
        return -1;
    const struct cr_engine *e = &v->model->engine;
    if (cr_find_number(e, "loss", false, &loss, error) || find_params(v, t, error) ||
        find_state(v, t, error) || cr_buffers_new(&v->inputs, e->inputs, NULL, e->n_inputs, error) ||
        cr_buffers_new(&v->outputs, e->outputs, NULL, e->n_outputs, error))
        return -1;
    return open_feeds(v, t, files, n, error);
}

/* Opens a validation.  After a failure the training is unchanged and has no validation. */
static int open_validation(crescent_trainer *t, const crescent_input_file *files, int n,
                           struct cr_error *error)
{
    if (cr_check_started(t, error))
        return -1;
    if (t->validation)
        return cr_fail(error, "%.400s: the training has a validation already, expected one call",
                       cr_trainer_engine(t)->path);
    struct cr_validation *v = cr_calloc(1, sizeof *v);
    if (prepare(v, t, files, n, error)) {
        cr_validation_close(v);
        return -1;
    }
    t->validation = v;
    return 0;
}

int crescent_trainer_validation(crescent_trainer *trainer, const crescent_input_file *files, int n)
{
    CR_REQUIRE(trainer, n >= 0 && (files || !n));
    CR_ENTER(trainer->context);
    return cr_done(&guard, open_validation(trainer, files, n, guard.error));
}

void cr_validation_close(struct cr_validation *v)
{
    if (!v)
        return;
    cr_feeds_close(&v->feeds);
    cr_buffers_free(&v->inputs);
    cr_buffers_free(&v->outputs);
    crescent_close(v->model);
    free(v->param);
    free(v->state);
    free(v);
}

/* ---- validating ---- */

/* Sets all parameters to the training's values, packed for this engine's kernels. */
static int take_params(struct cr_validation *v, const crescent_trainer *t, struct cr_error *error)
{
    struct cr_engine *e = &v->model->engine;
    for (int i = 0; i < e->n_params; i++) {
        struct cr_contents contents = {.data = cr_trainer_engine(t)->tensors[v->param[i]]};
        if (cr_engine_set_param(e, i, &contents, error))
            return -1;
    }
    return 0;
}

/* Computes the loss of batch number `index`. */
static int run_batch(struct cr_validation *v, const void *const *inputs, int64_t index,
                     double *loss, struct cr_error *error)
{
    struct cr_engine *e = &v->model->engine;
    if (cr_feeds_take(&v->feeds, e, index, v->inputs.data, error) ||
        cr_engine_run(e, inputs, v->outputs.data, error))
        return -1;
    *loss = (double)*(const float *)v->outputs.data[0];
    return 0;
}

/* Computes the mean loss of all batches; returns CRESCENT_STOPPED if `stop` returns true. */
static int run_batches(struct cr_validation *v, const crescent_trainer *t, int (*stop)(void *),
                       void *argument, double *loss, struct cr_error *error)
{
    int64_t n = cr_feeds_batches(&v->feeds);
    double sum = 0, one;
    int status = 0, n_inputs = v->model->engine.n_inputs;
    const void **inputs = cr_calloc((size_t)n_inputs, sizeof *inputs);
    for (int i = 0; i < n_inputs; i++) {
        bool shared = v->state[i] != CR_NONE && cr_is_shared_input(t, v->state[i]);
        if (shared)
            cr_gather_input(t, v->state[i], v->inputs.data[i]);
        inputs[i] = v->state[i] == CR_NONE || shared ? v->inputs.data[i] : t->inputs.data[v->state[i]];
    }
    for (int64_t i = 0; i < n && !status; i++) {
        status = stop && stop(argument) ? CRESCENT_STOPPED : run_batch(v, inputs, i, &one, error);
        sum += status ? 0 : one;
    }
    free(inputs);
    *loss = sum / (double)n;
    return status;
}

/* Computes the validation loss, and records it once for each step. */
static int validate(crescent_trainer *t, int (*stop)(void *), void *argument, double *loss,
                    struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    double mean;
    if (!t->validation)
        return cr_fail(error, "%.400s: found no validation data, expected a call of crescent_trainer_validation before",
                       e->path);
    if (cr_check_weights(t->model, error) || take_params(t->validation, t, error))
        return -1;
    int status = run_batches(t->validation, t, stop, argument, &mean, error);
    if (status)
        return status;
    if (!isfinite(mean))
        return cr_fail(error,
                       "%.400s: the loss of the validation after step %" PRId64 " is %g, expected "
                       "a finite number",
                       e->path, t->step, mean);
    if (!cr_history_is_validated(&t->history, t->step))
        cr_history_add_validation(&t->history, t->step, mean);
    if (loss)
        *loss = mean;
    return 0;
}

int crescent_trainer_validate(crescent_trainer *trainer, int (*stop)(void *), void *argument,
                              double *loss)
{
    CR_REQUIRE(trainer, true);
    CR_ENTER(trainer->context);
    int status = validate(trainer, stop, argument, loss, guard.error);
    return status == CRESCENT_STOPPED ? status : cr_done(&guard, status);
}
