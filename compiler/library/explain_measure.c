/* explain_measure.c - runs the model of an explanation: when calls begin and end, and by how much they err. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/exec.h"
#include "compiler/exec/ref_lengths.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/module/starts.h"
#include "compiler/passes/plan/stored.h"
#include "explanation.h"

/* ---- times ---- */

static void note_call(void *context, const struct cr_watched_call *call)
{
    struct cr_measurement *m = context;
    m->begin_ns[call->number] = call->begin_ns;
    m->end_ns[call->number] = call->end_ns;
}

/* When each call of one run began and ended, counted from the first one. */
static int trace_run(crescent_model *model, struct cr_measurement *m, const void *const *inputs,
                     void *const *outputs, struct cr_error *error)
{
    const struct cr_watch watch = {note_call, m};
    int n = model->engine.program->n_sequence;
    if (model->engine.n_states)
        cr_engine_reset_states(&model->engine);
    if (cr_run_watched(model, inputs, outputs, &watch, error))
        return -1;
    int64_t start = n ? m->begin_ns[0] : 0;
    for (int i = 0; i < n; i++) {
        m->begin_ns[i] -= start;
        m->end_ns[i] -= start;
    }
    return 0;
}

static int check_model(const crescent_explanation *e, struct cr_error *error)
{
    if (e->model)
        return 0;
    return cr_fail(error, "%.400s: no model, expected crescent_explanation_model before",
                   e->origin->path);
}

/* The machine is measured by the model's own threads, so both are open. */
int crescent_explanation_measure(crescent_explanation *e, const void *const *inputs,
                                 void *const *outputs, double seconds)
{
    CR_REQUIRE(e, inputs && outputs);
    CR_ENTER(e->context);
    crescent_machine *machine;
    if (check_model(e, guard.error))
        return cr_done(&guard, -1);
    int status = crescent_machine_open(e->model, &machine);
    if (status)
        return status;
    if (!e->measured)
        e->measured = cr_measurement_new(e->model);
    status = cr_measure(e->measured, e->model, machine, inputs, outputs, seconds);
    crescent_machine_close(machine);
    if (!status)
        status = trace_run(e->model, e->measured, inputs, outputs, guard.error);
    return cr_done(&guard, status);
}

/* ---- errors ---- */

/* What is held against the interpreter. */
struct checking {
    crescent_explanation *e;
    struct cr_stored_list stored; /* results of kernels; its graph gives out what items are of */
    struct cr_fixed fixed;        /* that graph in the sizes of this run, if it has lengths */
    int *row;                     /* by call: the item that it completes, or -1 */
    double **exact;               /* by item */
};

/* What kernels write beside their results is not held against anything: it is left out. */
static void find_stored(struct checking *c)
{
    const struct cr_module *m = c->e->module;
    struct cr_stored_list *stored = &c->stored;
    cr_find_stored(m, stored);
    c->row = cr_calloc((size_t)m->n_kernels, sizeof *c->row);
    c->exact = cr_calloc((size_t)stored->n, sizeof *c->exact);
    int n_all = stored->n;
    stored->n = stored->graph->n_outputs = stored->graph->n_replaced = 0;
    for (int i = 0; i < m->n_kernels; i++)
        c->row[i] = -1;
    for (int i = 0; i < n_all; i++) {
        const struct cr_stored item = stored->items[i];
        if (item.node != m->kernels[item.call].buffer)
            continue;
        c->row[item.call] = stored->n;
        stored->items[stored->n++] = item;
        cr_add_output(stored->graph, "", item.node);
    }
}

static void close_checking(struct checking *c)
{
    for (int i = 0; i < c->stored.n; i++)
        free(c->exact[i]);
    free(c->exact);
    free(c->row);
    cr_fixed_close(&c->fixed);
    cr_stored_free(&c->stored);
}

/* What an item is of, in the sizes of this run. */
static const struct cr_node *sized_node(const struct checking *c, int item)
{
    cr_id node = c->stored.items[item].node;
    return c->fixed.graph ? &c->fixed.graph->nodes[c->fixed.map[node]]
                          : &c->stored.graph->nodes[node];
}

/* The tensors of parameters, or of inputs and states, in the order of the graph's nodes. */
static const void **leaves_of(const struct cr_graph *g, const struct cr_engine *e, bool params,
                              const void *const *inputs)
{
    const void **leaves = cr_calloc((size_t)g->n_nodes, sizeof *leaves);
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (params && node->op == CR_OP_param)
            leaves[n++] = e->tensors[cr_port_find(e->params, e->n_params, node->name)];
        else if (!params && node->op == CR_OP_input)
            leaves[n++] = inputs[cr_port_find(e->inputs, e->n_inputs, node->name)];
        else if (!params && node->op == CR_OP_state)
            leaves[n++] = e->memory[cr_port_find(e->states, e->n_states, node->name)];
    }
    return leaves;
}

/* Before the run, which changes states. */
static int interpret(struct checking *c, const void *const *inputs, struct cr_error *error)
{
    const struct cr_graph *g = c->stored.graph;
    const void **params = leaves_of(g, &c->e->model->engine, true, inputs);
    const void **rest = leaves_of(g, &c->e->model->engine, false, inputs);
    int status = g->n_lengths ? cr_fixed_open(&c->fixed, g, rest, error) : 0;
    for (int i = 0; i < c->stored.n && !status; i++) {
        const struct cr_node *node = sized_node(c, i);
        int64_t bytes = cr_elements(node->rank, node->shape) * (int64_t)sizeof(double);
        c->exact[i] = cr_memory_new(bytes, "what kernels store", error);
        status = c->exact[i] ? 0 : -1;
    }
    if (!status)
        status = cr_interpret(c->fixed.graph ? c->fixed.graph : g, (const float *const *)params,
                              c->fixed.graph ? c->fixed.inputs : rest, c->exact, error);
    free(params);
    free(rest);
    return status;
}

/* Where a call stores its tensor: the last argument, less what lies before its own part. */
static const void *stored_at(const struct checking *c, const struct cr_watched_call *call)
{
    const struct cr_module *m = c->e->module;
    const struct cr_function *f = &c->e->program->functions[c->e->program->sequence[call->number]];
    const char *out = ((const char *const *)call->args)[f->n_bound];
    int64_t start = m->starts ? m->starts[call->number].at[CR_START_RESULT] : 0;
    return out - start * (int64_t)sizeof(float);
}

/* A copy of what a call stores of an item: those elements that there are. */
static void *copy_stored(const struct checking *c, const struct cr_watched_call *call, int item)
{
    cr_id id = c->stored.items[item].node;
    const struct cr_node *node = &c->stored.graph->nodes[id];
    size_t bytes = (size_t)cr_elements(node->rank, node->shape) * sizeof(float);
    void *copy = memcpy(cr_calloc(1, bytes), stored_at(c, call), bytes);
    if (c->fixed.graph)
        cr_fixed_pack(&c->fixed, id, copy);
    return copy;
}

static double rms_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum / (double)n);
}

/* Compares what a call completes. */
static void check_call(void *context, const struct cr_watched_call *call)
{
    static const crescent_tolerance any = {.atol = INFINITY, .max_ulp = -1};
    struct checking *c = context;
    int row = c->row[call->number];
    if (row < 0)
        return;
    const struct cr_node *node = sized_node(c, row);
    int64_t n = cr_elements(node->rank, node->shape);
    void *stored = copy_stored(c, call, row);
    double *got = cr_calloc((size_t)n, sizeof *got);
    for (int64_t i = 0; i < n; i++)
        got[i] = node->dtype == CR_I32 ? ((const int32_t *)stored)[i]
                                       : (double)((const float *)stored)[i];
    crescent_difference d;
    crescent_compare(got, c->exact[row], n, &any, &d);
    c->e->errors[call->number] =
        (struct cr_call_error){true, d.max_abs, d.max_ulp, rms_of(c->exact[row], n), d.nans};
    free(got);
    free(stored);
}

/* One run, which is watched; what it is held against is computed before, from the same states. */
static int check(crescent_explanation *e, const void *const *inputs, void *const *outputs,
                 struct cr_error *error)
{
    struct checking c = {.e = e};
    if (check_model(e, error) || cr_check_kept(e->model, error))
        return -1;
    free(e->errors);
    e->errors = cr_calloc((size_t)e->program->n_sequence, sizeof *e->errors);
    find_stored(&c);
    int status = interpret(&c, inputs, error);
    if (!status)
        status =
            cr_run_watched(e->model, inputs, outputs, &(struct cr_watch){check_call, &c}, error);
    close_checking(&c);
    return status;
}

int crescent_explanation_check(crescent_explanation *e, const void *const *inputs,
                               void *const *outputs)
{
    CR_REQUIRE(e, inputs && outputs);
    CR_ENTER(e->context);
    return cr_done(&guard, check(e, inputs, outputs, guard.error));
}
