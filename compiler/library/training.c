/* training.c - opens a training, sets its data, and starts it; see training.h. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/emit/micro_batches.h"
#include "compiler/ir/mem.h"

/* ---- opening ---- */

/* Finds the outputs loss, lr and tokens, which crescent_trainer_status reads. */
static int find_numbers(crescent_trainer *t, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    bool parts = t->next_state.micro_batches > 0;
    if (cr_find_number(e, parts ? CR_UPDATE ".loss" : "loss", false, &t->loss, error) ||
        cr_find_number(e, parts ? CR_UPDATE ".lr" : "lr", false, &t->rate, error) ||
        cr_find_number(e, parts ? CR_UPDATE ".tokens" : "tokens", true, &t->tokens, error))
        return -1;
    if (t->loss == CR_NONE)
        return cr_fail(error, "%.400s: no output loss, expected the number to minimise",
                       e->path);
    return 0;
}

/* Allocates memory for the outputs that do not use the memory of a parameter or an input. */
static int new_outputs(crescent_trainer *t, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    bool *shared = cr_calloc((size_t)e->n_outputs, sizeof *shared);
    for (int i = 0; i < e->n_outputs; i++) {
        int param = t->next_state.to_param[i], input = t->next_state.to_input[i];
        bool stored_over = input != CR_NONE && cr_engine_may_store_over(e, i);
        shared[i] = t->next_state.to_sum[i] != CR_NONE || param != CR_NONE || stored_over;
        if (param != CR_NONE)
            t->learned[param] = true;
    }
    struct cr_port *own = cr_own_outputs(t);
    int status = cr_buffers_new(&t->outputs, own, shared, e->n_outputs, error);
    free(own);
    free(shared);
    return status;
}

/* Makes the engine keep the parameters.  If a step may overwrite a parameter in place with its next
 * value, it is kept where kernels read it, which saves a copy. */
static int keep_params(crescent_trainer *t, struct cr_error *error)
{
    struct cr_engine *e = cr_trainer_engine(t);
    bool *shared = cr_calloc((size_t)e->n_params, sizeof *shared);
    for (int i = 0; i < e->n_outputs; i++)
        if (t->next_state.to_param[i] != CR_NONE)
            shared[t->next_state.to_param[i]] = cr_engine_may_store_over(e, i);
    int status = cr_engine_keep_params(e, shared, error);
    free(shared);
    return status;
}

static int new_inputs(crescent_trainer *t, struct cr_error *error)
{
    struct cr_port *own = cr_own_inputs(t);
    int status = cr_buffers_new(&t->inputs, own, t->next_state.is_sum, cr_trainer_engine(t)->n_inputs, error);
    free(own);
    return status;
}

/* Finds the training's ports, then allocates memory. */
static int prepare(crescent_trainer *t, int micro_batches, struct cr_error *error)
{
    struct cr_engine *e = cr_trainer_engine(t);
    const struct cr_ports ports = {e->params,   e->inputs,   e->outputs,
                                   e->n_params, e->n_inputs, e->n_outputs};
    if (cr_next_state_find(&t->next_state, &ports, micro_batches, e->path, error) ||
        find_numbers(t, error))
        return -1;
    t->model->is_part = true;
    t->is_set = cr_calloc((size_t)e->n_inputs, sizeof *t->is_set);
    t->results = cr_calloc((size_t)e->n_outputs, sizeof *t->results);
    t->learned = cr_calloc((size_t)e->n_params, sizeof *t->learned);
    cr_shares_find(t);
    if (cr_join_ranks(t, error) || new_inputs(t, error) || new_outputs(t, error) ||
        (micro_batches && cr_accumulation_new(t, error)))
        return -1;
    return keep_params(t, error);
}

/* Keeps all entries of a step over micro-batches; of any other graph, chooses the only entry. */
static int choose_step(struct cr_graph *graph, const char *path, struct cr_error *error)
{
    return cr_has_micro_batches(graph) ? 0 : cr_choose_entry(graph, "", path, error);
}

int crescent_trainer_micro_batches(const crescent_trainer *trainer)
{
    return trainer && trainer->next_state.micro_batches ? trainer->next_state.micro_batches : 1;
}

/* Opens a training; after a failure nothing is left open. */
static int open_trainer(const crescent_graph *graph, const crescent_config *config,
                        crescent_trainer **trainer, struct cr_error *error)
{
    const char *path = graph->origin->path;
    struct cr_graph *copy = cr_graph_copy(graph->graph);
    int micro_batches;
    if (choose_step(copy, path, error) ||
        cr_find_micro_batches(copy, path, &micro_batches, error)) {
        cr_graph_free(copy);
        return -1;
    }
    crescent_trainer *t = cr_calloc(1, sizeof *t);
    t->context = cr_refer(graph->context);
    if (cr_compile_graph(graph->context, graph->origin, copy, config, CR_TO_TRAIN, &t->model, error) ||
        prepare(t, micro_batches, error)) {
        crescent_trainer_close(t);
        return -1;
    }
    *trainer = t;
    return 0;
}

int crescent_trainer_open(const crescent_graph *graph, const crescent_config *config,
                          crescent_trainer **trainer)
{
    if (trainer)
        *trainer = NULL;
    CR_REQUIRE(graph, trainer);
    CR_ENTER(graph->context);
    return cr_done(&guard, open_trainer(graph, config, trainer, guard.error));
}

/* Frees a training, also one whose opening failed halfway. */
void crescent_trainer_close(crescent_trainer *t)
{
    if (!t)
        return;
    cr_validation_close(t->validation);
    if (t->model)
        cr_accumulation_free(t);
    cr_feeds_close(&t->feeds);
    cr_history_free(&t->history);
    cr_shares_free(t);
    cr_next_state_free(&t->next_state);
    cr_buffers_free(&t->inputs);
    cr_buffers_free(&t->outputs);
    cr_model_release(t->model);
    cr_release(t->context);
    free(t->is_set);
    free(t->results);
    free(t->learned);
    free(t);
}

crescent_model *crescent_trainer_model(crescent_trainer *trainer)
{
    return trainer ? trainer->model : NULL;
}

/* ---- data ---- */

/* Fails if a step over micro-batches sets input i itself, so that the caller must not. */
static int check_data(const crescent_trainer *t, int i, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    if (!t->next_state.is_sum[i] && i != t->next_state.number)
        return 0;
    return cr_fail(error,
                   "%.400s: found data for input %.100s, which the training sets, expected an input "
                   "that is data",
                   e->path, e->inputs[i].name);
}

static int check_files(const crescent_trainer *t, const crescent_input_file *files, int n,
                       struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    for (int i = 0; i < n; i++) {
        int input = files[i].name ? cr_port_find(e->inputs, e->n_inputs, files[i].name) : CR_NONE;
        if (input != CR_NONE && check_data(t, input, error))
            return -1;
    }
    return 0;
}

/* Opens the files of inputs.  After a failure they are closed, and the caller may name other
 * files. */
static int feed(crescent_trainer *t, const crescent_input_file *files, int n,
                struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    uint64_t *hash = t->accumulation.ranks ? &t->accumulation.data : NULL;
    const struct cr_feed_source source = {"--input", files, n, t->next_state.is_state, hash};
    if (t->fed || t->started)
        return cr_fail(error, "%.400s: found files for inputs a second time, or after the "
                       "training has started, expected them once, before", e->path);
    if (check_files(t, files, n, error))
        return -1;
    int status = cr_feeds_open(&t->feeds, e, &source, t->inputs.data, error);
    if (status)
        cr_feeds_close(&t->feeds);
    t->fed = !status;
    return status;
}

int crescent_trainer_feed(crescent_trainer *trainer, const crescent_input_file *files, int n)
{
    CR_REQUIRE(trainer, n >= 0 && (files || !n));
    CR_ENTER(trainer->context);
    return cr_done(&guard, feed(trainer, files, n, guard.error));
}

/* Copies the value of an input from memory; checks ids. */
static int set_input(crescent_trainer *t, int i, const void *tensor, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    if (cr_check_index(e->path, "input", i, e->n_inputs, error))
        return -1;
    if (cr_feeds_find(&t->feeds, i))
        return cr_fail(error, "%.400s: input %.100s has a file, expected one that has none",
                       e->path, e->inputs[i].name);
    if (check_data(t, i, error))
        return -1;
    if (t->next_state.micro_batches && !t->next_state.is_state[i]) {
        t->is_set[i] = !cr_give_micro_batches(t, i, tensor, error);
        return t->is_set[i] ? 0 : -1;
    }
    if (e->id_limits[i] && cr_check_ids(e, i, e->inputs[i].name, tensor, NULL, error))
        return -1;
    if (cr_is_shared_input(t, i))
        cr_set_shared(t, i, tensor);
    else
        memcpy(t->inputs.data[i], tensor, (size_t)cr_port_elements(&e->inputs[i]) * sizeof(float));
    t->is_set[i] = true;
    return 0;
}

int crescent_trainer_set_input(crescent_trainer *trainer, int index, const void *tensor)
{
    CR_REQUIRE(trainer, tensor);
    CR_ENTER(trainer->context);
    return cr_done(&guard, set_input(trainer, index, tensor, guard.error));
}

/* Draws the initial value of an input.  A rank that has a share of the input draws the whole value
 * and copies its share. */
static int draw_input(crescent_trainer *t, int i, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    uint64_t seed = (uint64_t)t->model->origin->seed;
    if (!cr_is_shared_input(t, i)) {
        cr_draw_input(e, i, seed, t->inputs.data[i]);
        return 0;
    }
    void *whole = cr_whole_new(t, i, error);
    if (!whole)
        return -1;
    cr_draw_input(e, i, seed, whole);
    cr_set_shared(t, i, whole);
    free(whole);
    return 0;
}

/* Starts a training.  Inputs without data get their initial values; fails for an input that has
 * neither. */
static int start(crescent_trainer *t, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    if (t->started)
        return cr_fail(error, "%.400s: the training has started already, expected one start",
                       e->path);
    for (int i = 0; i < e->n_inputs; i++) {
        const struct cr_port *port = &e->inputs[i];
        if (cr_feeds_find(&t->feeds, i) || t->is_set[i] || t->next_state.is_sum[i])
            continue;
        if (!t->next_state.is_state[i] && !cr_has_init(port))
            return cr_fail(error,
                           "%.400s: input %.100s has no data, expected --input %.100s=F.npy, or "
                           "an output of its name",
                           e->path, port->name, port->name);
        if (draw_input(t, i, error))
            return -1;
    }
    t->started = true;
    return 0;
}

int crescent_trainer_start(crescent_trainer *trainer)
{
    CR_REQUIRE(trainer, true);
    CR_ENTER(trainer->context);
    return cr_done(&guard, start(trainer, guard.error));
}
