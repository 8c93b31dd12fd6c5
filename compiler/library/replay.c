/*
 * replay.c - computes a run again in double precision, node by node; see crescent.h.
 *
 * It iterates over the graph that the kernels were made from.  For each node it computes the exact
 * value from the inputs, and the local value from the results that earlier kernels stored.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/error_bounds.h"
#include "compiler/exec/interpret_lengths.h"
#include "compiler/exec/interpreter.h"
#include "compiler/ir/mem.h"
#include "handles.h"

/* The values of a graph's parameters and inputs, in the graph's order. */
struct leaves {
    const float **params;
    const void **inputs;
    void **own; /* memory that is freed with the struct: rounded parameters and copies of states */
    int n_params, n_inputs, n_own;
};

struct crescent_replay {
    crescent_context *context;
    crescent_model *model;

    /* the last run; all zero before the first run */
    crescent_replay_kind kind;
    struct cr_graph *bounded;     /* the graph of the stored values, with lengths at their bounds */
    struct cr_fixed fixed;        /* `bounded` with the lengths fixed at this run's values; empty if
                                     there are no lengths */
    const struct cr_graph *graph; /* `bounded`, or the graph of `fixed`: the one to iterate over */
    struct cr_graph *plain;       /* a copy of `graph` in which all products are in f32
                                     arithmetic */
    struct leaves leaves;
    float **kept;                 /* by stored item: the value that a kernel stored, row-major */
    int *item;                    /* by node: the first item that holds its value, or CR_NONE */
    int *also;                    /* by item: the next item that holds the same node's value, or
                                     CR_NONE */
    struct cr_interpreter exact;  /* computes each node from the inputs on, in double precision */
    struct cr_interpreter local;  /* computes each node from stored values; the other interpreters
                                     use its last_use */
    struct cr_interpreter bounds; /* computes bounds of the errors of `local` */
    cr_id at;                     /* the current node, or CR_NONE */
    int at_item;                  /* the current item of that node, or CR_NONE */
};

/* ---- opening ---- */

static void forget(crescent_replay *r);

/* Opens a replay; after a failure nothing is left open. */
static int open_replay(const crescent_graph *graph, const crescent_config *config,
                       crescent_replay **replay, struct cr_error *error)
{
    const char *path = graph->origin->path;
    if (config && config->backend != CRESCENT_TCC && config->backend != CRESCENT_CC)
        return cr_fail(error, "%.400s: found a replay with the backend %s, expected tcc or cc",
                       path, crescent_backend_name(config->backend));
    crescent_model *model;
    if (cr_compile_graph(graph->context, graph->origin, cr_graph_copy(graph->graph), config, CR_TO_WATCH, &model,
                         error))
        return -1;
    crescent_replay *r = cr_calloc(1, sizeof *r);
    r->context = cr_refer(graph->context);
    r->model = model;
    r->model->is_part = true;
    *replay = r;
    return 0;
}

int crescent_replay_open(const crescent_graph *graph, const crescent_config *config,
                         crescent_replay **replay)
{
    if (replay)
        *replay = NULL;
    CR_REQUIRE(graph, replay);
    CR_ENTER(graph->context);
    return cr_done(&guard, open_replay(graph, config, replay, guard.error));
}

void crescent_replay_close(crescent_replay *replay)
{
    if (!replay)
        return;
    forget(replay);
    cr_model_release(replay->model);
    cr_release(replay->context);
    free(replay);
}

crescent_model *crescent_replay_model(const crescent_replay *replay)
{
    return replay ? replay->model : NULL;
}

/* ---- a run that keeps stored values ---- */

struct keeping {
    const struct cr_engine *engine;
    float **kept; /* by item: a copy of its value */
    int next;     /* the index of the next item */
};

static size_t bytes_of(const struct cr_stored_nodes *stored, int item)
{
    const struct cr_node *node = &stored->graph->nodes[stored->items[item].node];
    return (size_t)cr_elements(node->rank, node->shape) * sizeof(float);
}

/* Returns the address of a stored value, whose elements are float or int32_t. */
static const void *find(const struct cr_engine *e, const struct cr_storage *at)
{
    switch (at->space) {
    case CR_SPACE_OUTPUT:
        return e->program_outputs[at->offset];
    case CR_SPACE_STATE:
        return e->program_inputs[at->offset];
    default:
        CR_CHECK(at->space == CR_SPACE_ARENA);
        return e->arena + at->offset;
    }
}

/* Copies the values that a kernel's call has completed, before a later call overwrites them. */
static void keep(void *context, const struct cr_watched_call *call)
{
    struct keeping *k = context;
    const struct cr_stored_nodes *stored = &k->engine->stored;
    for (; k->next < stored->n && stored->items[k->next].call == call->number; k->next++)
        memcpy(k->kept[k->next], find(k->engine, &stored->items[k->next].at),
               bytes_of(stored, k->next));
}

/* Checks that all stored values fit the memory, then allocates it. */
static int make_room(crescent_replay *r, struct cr_error *error)
{
    const struct cr_stored_nodes *stored = &r->model->engine.stored;
    int64_t bytes = 0;
    for (int i = 0; i < stored->n; i++)
        bytes += (int64_t)bytes_of(stored, i);
    if (cr_memory_check(bytes, "what kernels store", error))
        return -1;
    r->kept = cr_calloc((size_t)stored->n, sizeof *r->kept);
    for (int i = 0; i < stored->n; i++)
        if (!(r->kept[i] = cr_memory_new((int64_t)bytes_of(stored, i), "a value", error)))
            return -1;
    return 0;
}

/* ---- parameters, inputs and states ---- */

static void *own(struct leaves *l, const struct cr_port *port, struct cr_error *error)
{
    void *memory =
        cr_memory_new(cr_port_elements(port) * (int64_t)sizeof(float), port->name, error);
    l->own[l->n_own++] = memory;
    return memory;
}

/* Adds a parameter to the leaves: rounded, as products read it, or unrounded if the model itself is
 * replayed. */
static int take_param(crescent_replay *r, struct cr_node *node, struct cr_error *error)
{
    const struct cr_engine *e = &r->model->engine;
    struct leaves *l = &r->leaves;
    int i = cr_port_find(e->params, e->n_params, node->name);
    const struct cr_port *port = &e->params[i];
    if (r->kind == CRESCENT_REPLAY_KERNELS)
        node->arithmetic = port->arithmetic;
    if (r->kind == CRESCENT_REPLAY_MODEL || port->format == CR_FORMAT_f32) {
        l->params[l->n_params++] = e->tensors[i];
        return 0;
    }
    float *rounded = own(l, port, error);
    if (!rounded)
        return -1;
    memcpy(rounded, e->tensors[i], (size_t)cr_port_elements(port) * sizeof *rounded);
    cr_read_panels(e->program, e->to_param[i], e->rt, e->weights, rounded);
    l->params[l->n_params++] = rounded;
    return 0;
}

/* Adds an input to the leaves; of a state, which the run replaces, a copy. */
static int take_input(crescent_replay *r, const struct cr_node *node, const void *const *inputs,
                      struct cr_error *error)
{
    const struct cr_engine *e = &r->model->engine;
    struct leaves *l = &r->leaves;
    if (node->op == CR_OP_input) {
        l->inputs[l->n_inputs++] = inputs[cr_port_find(e->inputs, e->n_inputs, node->name)];
        return 0;
    }
    int i = cr_port_find(e->states, e->n_states, node->name);
    void *state = own(l, &e->states[i], error);
    if (!state)
        return -1;
    cr_engine_get_state(e, i, state);
    l->inputs[l->n_inputs++] = state;
    return 0;
}

/* Collects the values of parameters and inputs in the graph's order, and sets the arithmetics of
 * parameters. */
static int take_leaves(crescent_replay *r, const void *const *inputs, struct cr_error *error)
{
    struct cr_graph *g = r->bounded = cr_graph_copy(r->model->engine.stored.graph);
    size_t n = (size_t)g->n_nodes + 1;
    r->leaves = (struct leaves){.params = cr_calloc(n, sizeof *r->leaves.params),
                                .inputs = cr_calloc(n, sizeof *r->leaves.inputs),
                                .own = cr_calloc(n, sizeof *r->leaves.own)};
    for (cr_id id = 0; id < g->n_nodes; id++) {
        struct cr_node *node = &g->nodes[id];
        if ((node->op == CR_OP_param && take_param(r, node, error)) ||
            (cr_is_input(node) && take_input(r, node, inputs, error)))
            return -1;
    }
    return 0;
}

/* ---- the graph to iterate over ---- */

/* Makes a graph with the lengths of this run as sizes, and packs the stored values to these
 * sizes. */
static int fix_sizes(crescent_replay *r, struct cr_error *error)
{
    const struct cr_stored_nodes *stored = &r->model->engine.stored;
    if (cr_fixed_open(&r->fixed, r->bounded, r->leaves.inputs, error))
        return -1;
    for (int i = 0; i < stored->n; i++)
        cr_fixed_pack(&r->fixed, stored->items[i].node, r->kept[i]);
    r->graph = r->fixed.graph;
    return 0;
}

/* Finds the stored items of each node.  Nodes may become one node, with several items, when a
 * length equals its bound. */
static void find_items(crescent_replay *r)
{
    const struct cr_stored_nodes *stored = &r->model->engine.stored;
    r->item = cr_calloc((size_t)r->graph->n_nodes, sizeof *r->item);
    r->also = cr_calloc((size_t)stored->n, sizeof *r->also);
    for (cr_id id = 0; id < r->graph->n_nodes; id++)
        r->item[id] = CR_NONE;
    for (int i = stored->n - 1; i >= 0; i--) {
        cr_id id = stored->items[i].node;
        if (r->fixed.graph)
            id = r->fixed.map[id];
        r->also[i] = r->item[id];
        r->item[id] = i;
    }
}

/* Finds the last use of each value.  Nodes that no output and no stored value depends on get no
 * last use and are skipped. */
static void find_last_uses(crescent_replay *r)
{
    const struct cr_graph *g = r->graph;
    int *last = r->local.last_use;
    for (cr_id id = 0; id < g->n_nodes; id++)
        last[id] = r->item[id] >= 0 ? id : CR_NONE;
    for (int i = 0; i < g->n_outputs; i++)
        last[g->outputs[i].id] = g->n_nodes;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--)
        for (int i = 0; last[id] >= 0 && i < g->nodes[id].n_in; i++)
            if (last[cr_in(g, id, i)] < id)
                last[cr_in(g, id, i)] = id;
}

/* Opens the three interpreters.  They share parameters and inputs, but have their own values. */
static void open_walk(crescent_replay *r)
{
    const struct cr_graph *g = r->graph;
    const struct cr_interpreter in = {.graph = g,
                                      .params = r->leaves.params,
                                      .inputs = r->fixed.graph ? r->fixed.inputs : r->leaves.inputs,
                                      .error = &r->context->error};
    r->plain = cr_graph_copy(g);
    for (cr_id id = 0; id < g->n_nodes; id++)
        r->plain->nodes[id].arithmetic = CR_ARITHMETIC_f32;
    r->exact = r->local = r->bounds = in;
    r->bounds.graph = r->plain;
    cr_interpreter_open(&r->exact);
    cr_interpreter_open(&r->local);
    cr_interpreter_open(&r->bounds);
    find_items(r);
    find_last_uses(r);
    r->at = r->at_item = CR_NONE;
}

/* Frees the data of the last run. */
static void forget(crescent_replay *r)
{
    if (r->plain) {
        cr_interpreter_close(&r->exact);
        cr_interpreter_close(&r->local);
        cr_interpreter_close(&r->bounds);
        cr_graph_free(r->plain);
    }
    for (int i = 0; r->kept && i < r->model->engine.stored.n; i++)
        free(r->kept[i]);
    for (int i = 0; i < r->leaves.n_own; i++)
        free(r->leaves.own[i]);
    free(r->leaves.own);
    free(r->leaves.params);
    free(r->leaves.inputs);
    free(r->kept);
    free(r->item);
    free(r->also);
    cr_fixed_close(&r->fixed);
    cr_graph_free(r->bounded);
    *r = (crescent_replay){.context = r->context, .model = r->model};
}

/* ---- the run ---- */

/* Fails if an input is null, which the interpreter does not check. */
static int check_inputs(const crescent_model *m, const void *const *inputs, struct cr_error *error)
{
    for (int i = 0; i < m->engine.n_inputs; i++)
        if (!inputs || !inputs[i])
            return cr_fail(error, "%.400s: the tensor of %.200s is null, expected one",
                           m->engine.path, m->engine.inputs[i].name);
    return 0;
}

/* Runs the model.  Copies the leaves first, since the run replaces states. */
static int run(crescent_replay *r, const void *const *inputs, void *const *outputs,
               struct cr_error *error)
{
    if (check_inputs(r->model, inputs, error) || cr_check_kept(r->model, error) ||
        make_room(r, error) || take_leaves(r, inputs, error))
        return -1;
    struct keeping k = {&r->model->engine, r->kept, 0};
    if (cr_run_watched(r->model, inputs, outputs, &(struct cr_watch){keep, &k}, error))
        return -1;
    r->graph = r->bounded;
    if (r->graph->n_lengths && fix_sizes(r, error))
        return -1;
    open_walk(r);
    return 0;
}

/* Runs the model and begins to iterate over the nodes.  After a failed run no nodes can be read. */
int crescent_replay_run(crescent_replay *replay, crescent_replay_kind kind,
                        const void *const *inputs, void *const *outputs)
{
    CR_REQUIRE(replay, true);
    CR_ENTER(replay->context);
    if (kind != CRESCENT_REPLAY_KERNELS && kind != CRESCENT_REPLAY_MODEL)
        return cr_refuse(replay->context, __func__, "found an unknown kind, expected a crescent_replay_kind");
    forget(replay);
    replay->kind = kind;
    int status = run(replay, inputs, outputs, guard.error);
    if (status)
        forget(replay);
    return cr_done(&guard, status);
}

/* ---- iterating over the nodes ---- */

static void row_saturate(const struct cr_row_walk *walk, int64_t n, double *const *at,
                         const int64_t *step)
{
    (void)walk;
    for (int64_t i = 0; i < n; i++) {
        double *value = &at[0][i * step[0]];
        if (fabs(*value) >= (double)FLT_MAX * (1 + 0x1p-25))
            *value = copysign(INFINITY, *value);
    }
}

/* Replaces values beyond the range of floats by infinity, as float arithmetic in kernels does. */
static void saturate(const struct cr_view *view, const struct cr_node *node)
{
    const struct cr_row_walk walk = {.rank = node->rank,
                                     .shape = node->shape,
                                     .n = 1,
                                     .data = {view->data},
                                     .stride = {view->stride}};
    enum cr_kind kind = cr_ops[node->op].kind;
    if (node->dtype == CR_F32 && kind != CR_KIND_LEAF && kind != CR_KIND_MOVE)
        cr_walk_rows(&walk, row_saturate);
}

static int compute(crescent_replay *r, cr_id id)
{
    if (cr_interpreter_compute(&r->exact, id, &r->exact.values[id]))
        return -1;
    if (r->kind == CRESCENT_REPLAY_MODEL)
        return 0;
    if (cr_interpreter_compute(&r->local, id, &r->local.values[id]))
        return -1;
    saturate(&r->local.values[id], &r->graph->nodes[id]);
    return cr_bound_node(&r->bounds, &r->local, id);
}

/* Replaces a node's local value by the value that a kernel stored; its error bound is 0. */
static int adopt(crescent_replay *r, cr_id id, const float *kept)
{
    const struct cr_node *node = &r->graph->nodes[id];
    const int32_t *whole = (const int32_t *)(const void *)kept;
    struct cr_view own = {0};
    if (cr_view_own_all(&r->local, &own, node))
        return -1;
    for (int64_t i = 0; i < cr_elements(node->rank, node->shape); i++)
        own.data[i] = node->dtype == CR_I32 ? (double)whole[i] : (double)kept[i];
    cr_view_drop(&r->local, &r->local.values[id]);
    r->local.values[id] = own;
    cr_view_drop(&r->bounds, &r->bounds.values[id]);
    return cr_bound_nothing(&r->bounds, &r->bounds.values[id]);
}

static void drop(crescent_replay *r, cr_id id)
{
    cr_view_drop(&r->exact, &r->exact.values[id]);
    cr_view_drop(&r->local, &r->local.values[id]);
    cr_view_drop(&r->bounds, &r->bounds.values[id]);
}

/* Leaves the current node: replaces its local value by the stored one, and frees values that are
 * not read later. */
static int leave(crescent_replay *r)
{
    cr_id id = r->at;
    const struct cr_node *node = &r->graph->nodes[id];
    const int *last = r->local.last_use;
    if (r->at_item >= 0 && r->kind == CRESCENT_REPLAY_KERNELS && adopt(r, id, r->kept[r->at_item]))
        return -1;
    for (int i = 0; i < node->n_in; i++)
        if (last[cr_in(r->graph, id, i)] == id)
            drop(r, cr_in(r->graph, id, i));
    if (last[id] == id)
        drop(r, id);
    return 0;
}

static crescent_values values_of(const struct cr_view *view)
{
    crescent_values values = {.data = view->buffer ? view->data : NULL};
    if (view->buffer)
        memcpy(values.stride, view->stride, sizeof values.stride);
    return values;
}

/* Describes the current node and item; `again`: an earlier item of the same node was described. */
static void describe(const crescent_replay *r, bool again, crescent_replayed *value)
{
    const struct cr_engine *e = &r->model->engine;
    cr_id id = r->at;
    *value = (crescent_replayed){.node = cr_public_node(r->graph, id),
                                 .number = id,
                                 .is_output = r->local.last_use[id] == r->graph->n_nodes,
                                 .again = again,
                                 .call = CRESCENT_NONE,
                                 .exact = values_of(&r->exact.values[id]),
                                 .local = values_of(&r->local.values[id]),
                                 .bound = values_of(&r->bounds.values[id])};
    if (r->at_item < 0)
        return;
    const struct cr_stored *item = &e->stored.items[r->at_item];
    value->call = item->call;
    value->result = item->result;
    value->kernel = e->program->kernels[e->program->sequence[item->call]].name;
    value->stored = r->kept[r->at_item];
}

/* Moves on to the next item of the same node or, if there is none, to the next node. */
static int next(crescent_replay *r, crescent_replayed *value)
{
    int also = r->at_item >= 0 ? r->also[r->at_item] : CR_NONE;
    if (also >= 0) {
        r->at_item = also;
        describe(r, true, value);
        return 0;
    }
    if (r->at >= 0 && r->at < r->graph->n_nodes && leave(r))
        return -1;
    do
        r->at++;
    while (r->at < r->graph->n_nodes && r->local.last_use[r->at] < 0);
    r->at_item = CR_NONE;
    if (r->at == r->graph->n_nodes)
        return CRESCENT_STOPPED;
    r->at_item = r->item[r->at];
    if (compute(r, r->at))
        return -1;
    describe(r, false, value);
    return 0;
}

/* Moves on to the next node or item; after a failure no more nodes can be read. */
int crescent_replay_next(crescent_replay *replay, crescent_replayed *value)
{
    CR_REQUIRE(replay, value);
    CR_ENTER(replay->context);
    if (!replay->graph || replay->at == replay->graph->n_nodes)
        return CRESCENT_STOPPED;
    int status = next(replay, value);
    if (status == CRESCENT_STOPPED)
        return status;
    if (status)
        forget(replay);
    return cr_done(&guard, status);
}

int crescent_replay_operand(const crescent_replay *replay, int index, crescent_values *local)
{
    CR_REQUIRE(replay, local);
    bool given = replay->graph && replay->at >= 0 && replay->at < replay->graph->n_nodes;
    const struct cr_node *node = given ? &replay->graph->nodes[replay->at] : NULL;
    if (cr_check_index(replay->model->engine.path, "operand", index, node ? node->n_in : 0,
                       &replay->context->error))
        return CRESCENT_FAILED;
    *local = values_of(&replay->local.values[cr_inputs(replay->graph, node)[index]]);
    return CRESCENT_OK;
}

int crescent_replay_size(const crescent_replay *replay)
{
    return replay && replay->graph ? replay->graph->n_nodes : 0;
}
