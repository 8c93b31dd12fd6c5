/* autopsy.c - which node is the first to go wrong; see crescent.h. */
#include "compiler/exec/autopsy.h"
#include "compiler/exec/ref_lengths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "handles.h"

_Static_assert((int)CRESCENT_SOUND == (int)CR_FINDING_SOUND &&
                   (int)CRESCENT_WRONG == (int)CR_FINDING_WRONG &&
                   (int)CRESCENT_NAN == (int)CR_FINDING_NAN &&
                   (int)CRESCENT_INFINITE == (int)CR_FINDING_INFINITE,
               "verdicts have the same numbers");

struct crescent_autopsy {
    crescent_context *context;
    crescent_model *model;
    struct cr_autopsy of;        /* the last run */
    struct cr_fixed fixed;       /* its graph, if the model has lengths */
    struct cr_stored_list sized; /* what is stored, of that graph */
    char **where;                /* by finding */
};

/* ---- opening ---- */

/* Its kernels are seen at work. */
static int check_graph(const crescent_graph *graph, const crescent_config *config,
                       struct cr_error *error)
{
    const char *path = graph->origin->path;
    if (config && config->backend != CRESCENT_TCC && config->backend != CRESCENT_CC)
        return cr_fail(error, "%.400s: an autopsy with the backend %s, expected tcc or cc", path,
                       crescent_backend_name(config->backend));
    return cr_check_chosen(graph, error);
}

/* After a failure nothing is left of it. */
static int open_autopsy(const crescent_graph *graph, const crescent_config *config,
                        crescent_autopsy **autopsy, struct cr_error *error)
{
    if (check_graph(graph, config, error))
        return -1;
    crescent_autopsy *a = cr_calloc(1, sizeof *a);
    struct cr_graph *copy = cr_graph_copy(graph->graph);
    a->context = cr_refer(graph->context);
    if (cr_compile_stored(graph->context, graph->origin, copy, config, &a->model, error) ||
        cr_engine_keep_params(&a->model->engine, error)) {
        crescent_autopsy_close(a);
        return -1;
    }
    a->model->is_part = true;
    *autopsy = a;
    return 0;
}

int crescent_autopsy_open(const crescent_graph *graph, const crescent_config *config,
                          crescent_autopsy **autopsy)
{
    if (autopsy)
        *autopsy = NULL;
    CR_REQUIRE(graph, autopsy);
    CR_ENTER(graph->context);
    return cr_done(&guard, open_autopsy(graph, config, autopsy, guard.error));
}

static void forget(crescent_autopsy *a)
{
    for (int i = 0; a->where && i < a->of.n; i++)
        free(a->where[i]);
    free(a->where);
    free(a->of.findings);
    free(a->sized.items);
    cr_fixed_close(&a->fixed);
    a->sized = (struct cr_stored_list){0};
    a->where = NULL;
    a->of = (struct cr_autopsy){0};
}

void crescent_autopsy_close(crescent_autopsy *autopsy)
{
    if (!autopsy)
        return;
    forget(autopsy);
    cr_model_release(autopsy->model);
    cr_release(autopsy->context);
    free(autopsy);
}

crescent_model *crescent_autopsy_model(crescent_autopsy *autopsy)
{
    return autopsy ? autopsy->model : NULL;
}

/* ---- a run that keeps what kernels store ---- */

struct keeping {
    const struct cr_engine *engine;
    const struct cr_stored_list *stored;
    float **kept; /* by item */
    int next;     /* item */
};

static size_t bytes_of(const struct cr_stored_list *stored, int item)
{
    const struct cr_node *node = &stored->graph->nodes[stored->items[item].node];
    return (size_t)cr_elements(node->rank, node->shape) * sizeof(float);
}

/* Where a stored value is; elements are floats or int32_t. */
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

/* Copies what a call has completed, before another takes its place. */
static void keep(void *context, const struct cr_watched_call *call)
{
    struct keeping *k = context;
    for (; k->next < k->stored->n && k->stored->items[k->next].call == call->number; k->next++)
        memcpy(k->kept[k->next], find(k->engine, &k->stored->items[k->next].at),
               bytes_of(k->stored, k->next));
}

static int make_room(struct keeping *k, struct cr_error *error)
{
    int64_t bytes = 0;
    for (int i = 0; i < k->stored->n; i++)
        bytes += (int64_t)bytes_of(k->stored, i);
    if (cr_memory_check(bytes, "what kernels store", error))
        return -1;
    for (int i = 0; i < k->stored->n; i++)
        if (!(k->kept[i] = cr_memory_new((int64_t)bytes_of(k->stored, i), "a value", error)))
            return -1;
    return 0;
}

/* ---- what the interpreter reads ---- */

/* The leaves of a graph, in its order, and what is theirs alone. */
struct leaves {
    const float **params;
    const void **inputs;
    void **own; /* parameters as formats round them, then states */
    int n_params, n_inputs, n_own;
};

static void *own(struct leaves *l, const struct cr_port *port, struct cr_error *error)
{
    void *memory =
        cr_memory_new(cr_port_elements(port) * (int64_t)sizeof(float), port->name, error);
    l->own[l->n_own++] = memory;
    return memory;
}

/* A parameter as products read it. */
static int take_param(struct leaves *l, const struct cr_engine *e, struct cr_node *node,
                      struct cr_error *error)
{
    int i = cr_port_find(e->params, e->n_params, node->name);
    const struct cr_port *port = &e->params[i];
    node->arithmetic = port->arithmetic;
    if (port->format == CR_FORMAT_f32) {
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

/* An input, or a copy of a state, which the run replaces. */
static int take_input(struct leaves *l, const struct cr_engine *e, const struct cr_node *node,
                      const void *const *inputs, struct cr_error *error)
{
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

/* Parameters and inputs as the list's graph has them, which is told the arithmetics. */
static int take_leaves(struct leaves *l, struct cr_engine *e, const void *const *inputs,
                       struct cr_error *error)
{
    struct cr_graph *g = e->stored.graph;
    size_t n = (size_t)g->n_nodes + 1;
    l->params = cr_calloc(n, sizeof *l->params);
    l->inputs = cr_calloc(n, sizeof *l->inputs);
    l->own = cr_calloc(n, sizeof *l->own);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        struct cr_node *node = &g->nodes[id];
        if ((node->op == CR_OP_param && take_param(l, e, node, error)) ||
            (cr_is_input(node) && take_input(l, e, node, inputs, error)))
            return -1;
    }
    return 0;
}

static void free_leaves(struct leaves *l)
{
    for (int i = 0; i < l->n_own; i++)
        free(l->own[i]);
    free(l->own);
    free(l->params);
    free(l->inputs);
}

/* ---- the run ---- */

/* "FILE:LINE" of each finding. */
static void note_lines(crescent_autopsy *a)
{
    const struct cr_graph *g = a->of.stored->graph;
    a->where = cr_calloc((size_t)a->of.n, sizeof *a->where);
    for (int i = 0; i < a->of.n; i++) {
        const struct cr_where *where = &g->nodes[a->of.findings[i].node].where;
        char text[512] = "";
        if (where->file && where->line > 0)
            snprintf(text, sizeof text, "%.480s:%d", where->file, where->line);
        a->where[i] = cr_strdup(text);
    }
}

/* What is stored, and what was read, in the sizes that the lengths have in this run. */
static int fix_sizes(crescent_autopsy *a, struct cr_error *error)
{
    const struct cr_stored_list *stored = a->of.stored;
    if (cr_fixed_open(&a->fixed, stored->graph, a->of.inputs, error))
        return -1;
    a->sized = (struct cr_stored_list){.graph = a->fixed.graph};
    for (int i = 0; i < stored->n; i++) {
        struct cr_stored *item = CR_PUSH(a->sized.items, a->sized.n, a->sized.cap);
        *item = stored->items[i];
        item->node = a->fixed.map[item->node];
        cr_fixed_pack(&a->fixed, stored->items[i].node, a->of.kept[i]);
    }
    a->of.stored = &a->sized;
    a->of.inputs = a->fixed.inputs;
    return 0;
}

/* The leaves are taken before the run, which replaces states. */
static int run(crescent_autopsy *a, const void *const *inputs, void *const *outputs,
               struct cr_error *error)
{
    struct cr_engine *e = &a->model->engine;
    struct leaves leaves = {0};
    struct keeping k = {e, &e->stored, cr_calloc((size_t)e->stored.n, sizeof *k.kept), 0};
    forget(a);
    int status = cr_check_kept(a->model, error) || make_room(&k, error) ||
                 take_leaves(&leaves, e, inputs, error) ||
                 cr_run_watched(a->model, inputs, outputs, &(struct cr_watch){keep, &k}, error);
    a->of = (struct cr_autopsy){
        .stored = &e->stored, .kept = k.kept, .params = leaves.params, .inputs = leaves.inputs};
    if (!status && e->stored.graph->n_lengths)
        status = fix_sizes(a, error);
    if (!status)
        status = cr_autopsy_run(&a->of, error);
    if (!status)
        note_lines(a);
    else
        forget(a);
    free_leaves(&leaves);
    for (int i = 0; i < k.stored->n; i++)
        free(k.kept[i]);
    free(k.kept);
    return status ? -1 : 0;
}

/* The tensors are looked at before the inputs are, for the interpreter. */
static int check_inputs(const crescent_model *m, const void *const *inputs, struct cr_error *error)
{
    for (int i = 0; i < m->engine.n_inputs; i++)
        if (!inputs || !inputs[i])
            return cr_fail(error, "%.400s: the tensor of %.200s is null, expected one",
                           m->engine.path, m->engine.inputs[i].name);
    return 0;
}

int crescent_autopsy_run(crescent_autopsy *autopsy, const void *const *inputs, void *const *outputs)
{
    CR_REQUIRE(autopsy, true);
    CR_ENTER(autopsy->context);
    int status = check_inputs(autopsy->model, inputs, guard.error);
    if (!status)
        status = run(autopsy, inputs, outputs, guard.error);
    return cr_done(&guard, status);
}

/* ---- what was found ---- */

int crescent_autopsy_count(const crescent_autopsy *autopsy)
{
    return autopsy ? autopsy->of.n : 0;
}

static bool is_culprit(const struct cr_finding *f)
{
    return f->kind == CR_FINDING_WRONG || (f->kind != CR_FINDING_SOUND && f->reaches_output);
}

int crescent_autopsy_culprit(const crescent_autopsy *autopsy)
{
    for (int i = 0; i < crescent_autopsy_count(autopsy); i++)
        if (is_culprit(&autopsy->of.findings[i]))
            return i;
    return CRESCENT_NONE;
}

/* The part that is of the node, not of its elements. */
static crescent_tapped describe(const crescent_autopsy *a, const struct cr_finding *f,
                                const char *where)
{
    const struct cr_engine *e = &a->model->engine;
    const struct cr_node *node = &a->of.stored->graph->nodes[f->node];
    const char *op = cr_ops[node->op].name, *scope = node->where.scope ? node->where.scope : "";
    crescent_tapped out = {.name = node->tap               ? node->tap
                                   : cr_is_interface(node) ? node->name
                                   : *scope                ? scope
                                                           : op,
                           .op = op,
                           .scope = scope,
                           .where = where,
                           .backward = node->where.backward,
                           .type = (crescent_type)node->dtype,
                           .rank = node->rank};
    if (f->call >= 0)
        out.kernel = e->program->kernels[e->program->sequence[f->call]].name;
    memcpy(out.shape, node->shape, sizeof out.shape);
    return out;
}

/* Strings are those of the engine, and of this autopsy. */
int crescent_autopsy_at(const crescent_autopsy *autopsy, int index, crescent_tapped *node)
{
    CR_REQUIRE(autopsy, node);
    const struct cr_autopsy *of = &autopsy->of;
    if (index < 0 || index >= of->n)
        return cr_fail(&autopsy->context->error, "%.400s: node %d, there are %d",
                       autopsy->model->engine.path, index, of->n);
    const struct cr_finding *f = &of->findings[index];
    const struct cr_node *from = &of->stored->graph->nodes[f->node];
    bool elementwise = cr_ops[from->op].kind == CR_KIND_ELEMENTWISE;
    *node = describe(autopsy, f, autopsy->where[index]);
    node->verdict = (crescent_verdict)f->kind;
    node->culprit = is_culprit(f);
    node->error = f->error;
    node->inherited = f->inherited;
    node->own = f->own;
    node->bound = f->bound;
    node->worst = f->worst;
    node->failing = f->failing;
    node->got = isnan(f->got) ? fabs(f->got) : f->got; /* "nan", of no sign */
    node->want = isnan(f->want) ? fabs(f->want) : f->want;
    node->n_operands = elementwise && f->kind > CR_FINDING_WRONG ? from->n_in : 0;
    memcpy(node->operands, f->operands, sizeof node->operands);
    return CRESCENT_OK;
}
