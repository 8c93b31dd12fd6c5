/* Causal models of a case, and their sessions; see session.h. */
#include "session.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/incremental.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/rewrite/kept_factors.h"
#include "resize.h"
#include "runtime/select_runtime.h"

enum { GUARD = 16, PAST = 0x55555555 /* an id for places after the chunk */ };

/* ---- the model ---- */

cr_id cr_find_ids(const struct cr_graph *g)
{
    cr_id found = CR_NONE;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (!cr_is_input(node))
            continue;
        if (found != CR_NONE || strcmp(node->name, CR_IDS) != 0 || node->rank != 2 ||
            node->dtype != CR_I32)
            return CR_NONE;
        found = id;
    }
    return found;
}

int cr_find_logits(const struct cr_graph *g, cr_id ids)
{
    int found = -1;
    for (int i = 0; i < cr_n_results(g); i++)
        if (cr_n_results(g) == 1 || strcmp(g->outputs[i].name, CR_LOGITS) == 0)
            found = i;
    const struct cr_node *node = found < 0 ? NULL : &g->nodes[g->outputs[found].id];
    bool fits = node && node->rank > 2 && node->dtype == CR_F32 &&
                node->shape[0] == g->nodes[ids].shape[0] &&
                node->shape[1] == g->nodes[ids].shape[1];
    return fits ? found : -1;
}

/* True if a node has an axis that is a multiple of a size by chance: an axis of a parameter, or a
 * slice of an axis that is not a multiple. */
static bool has_multiple(const struct cr_graph *g, cr_id id, int64_t size)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op == CR_OP_gather && g->nodes[cr_in(g, id, 0)].shape[0] % size == 0)
        return true;
    for (int a = 0; a < node->rank; a++) {
        bool cut = node->op == CR_OP_slice && g->nodes[cr_in(g, id, 0)].shape[a] % size;
        if ((node->op == CR_OP_param || cut) && node->shape[a] % size == 0)
            return true;
    }
    return false;
}

enum { LEAST_SIZE = 5 }; /* smaller sizes divide too many others */

/* True if another axis or number may be a multiple of a size by chance, or may be computed from
 * it. */
static bool is_ambiguous(const struct cr_graph *g, int64_t size)
{
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        bool counts = node->op == CR_OP_const && node->value != 0 && fabs(node->value) < 1e6 &&
                      fmod(node->value, (double)size) == 0;
        if (counts || has_multiple(g, id, size))
            return true;
    }
    return size < LEAST_SIZE;
}

struct cr_graph *cr_causal_model(const struct cr_graph *g, cr_id ids, int output, int64_t batch,
                                 int64_t tokens)
{
    const struct cr_node *from = &g->nodes[ids];
    struct cr_resize sizes[2];
    int n = 0;
    if ((batch != from->shape[0] && is_ambiguous(g, from->shape[0])) ||
        (tokens != from->shape[1] && is_ambiguous(g, from->shape[1])))
        return NULL;
    if (batch != from->shape[0])
        sizes[n++] = (struct cr_resize){from->shape[0], batch};
    if (tokens != from->shape[1])
        sizes[n++] = (struct cr_resize){from->shape[1], tokens};
    struct cr_graph *made = cr_resize_graph(g, output, sizes, n);
    cr_id new_ids = made ? cr_find_ids(made) : CR_NONE;
    if (new_ids != CR_NONE && made->nodes[new_ids].shape[0] == batch &&
        made->nodes[new_ids].shape[1] == tokens && cr_find_logits(made, new_ids) == 0)
        return made;
    if (made)
        cr_graph_free(made);
    return NULL;
}

struct cr_graph *cr_in_chunks(struct cr_graph *g, int64_t chunk, bool last_only, struct cr_error *error)
{
    struct cr_graph *made = NULL;
    const struct cr_incremental_how wanted = {chunk, last_only};
    int status = cr_incremental(g, &wanted, &made, "g", error);
    cr_graph_free(g);
    return status ? NULL : cr_keep_factors(made);
}

/* ---- compiling ---- */

void cr_close_session(struct cr_session *s)
{
    for (int i = 0; s->code.program && s->inputs && i < s->code.program->n_inputs; i++)
        if (s->code.program->inputs[i].state)
            free((void *)(uintptr_t)s->inputs[i]);
    for (int i = 0; s->code.program && s->outputs && i < s->code.program->n_outputs; i++)
        free(s->outputs[i]);
    free(s->weights);
    free(s->arena);
    free(s->outputs);
    free(s->ids);
    free(s->inputs);
    cr_compiled_free(&s->code);
    *s = (struct cr_session){0};
}

/* Allocates memory for kernels, filled with NaN. */
static float *new_floats(int64_t n)
{
    float *made;
    if (posix_memalign((void **)&made, 64, (size_t)(n + 1) * sizeof *made))
        abort();
    for (int64_t i = 0; i < n; i++)
        made[i] = NAN;
    return made;
}

/* Returns the data of one input: the ids, the number of new tokens, or a state. */
static const void *input_of(struct cr_session *s, const struct cr_port *port)
{
    int64_t n = cr_elements(port->rank, port->shape);
    if (port->state)
        return cr_calloc((size_t)n + GUARD, sizeof(float));
    return strcmp(port->name, CR_TOKENS) == 0 ? &s->n : s->ids;
}

/* Allocates the outputs; returns the port of the logits: the output with that name, or the only
 * one. */
static const struct cr_port *make_outputs(struct cr_session *s, const struct cr_program *p)
{
    const struct cr_port *logits = &p->outputs[0];
    s->outputs = cr_calloc((size_t)p->n_outputs, sizeof *s->outputs);
    for (int i = 0; i < p->n_outputs; i++) {
        const struct cr_port *port = &p->outputs[i];
        s->outputs[i] = new_floats(cr_elements(port->rank, port->shape) + GUARD);
        if (p->n_outputs == 1 || strcmp(port->name, CR_LOGITS) == 0) {
            logits = port;
            s->logits = s->outputs[i];
        }
    }
    s->floats = cr_elements(logits->rank, logits->shape);
    return logits;
}

static void make_memory(struct cr_session *s, const struct cr_case *c)
{
    const struct cr_program *p = s->code.program;
    const struct cr_port *logits = make_outputs(s, p), *ids = NULL;
    s->weights = new_floats(p->weights_bytes / 4);
    s->arena = new_floats((p->arena_bytes + p->scratch_bytes) / 4);
    for (int i = 0; i < p->n_inputs; i++)
        if (strcmp(p->inputs[i].name, CR_IDS) == 0)
            ids = &p->inputs[i];
    s->batch = logits->shape[0];
    s->room = ids ? ids->shape[1] : logits->shape[1];
    s->row = s->floats / (s->batch * logits->shape[1]);
    s->ids = cr_calloc((size_t)(s->batch * s->room), sizeof *s->ids);
    s->inputs = cr_calloc((size_t)p->n_inputs + 1, sizeof *s->inputs);
    for (int i = 0; i < p->n_inputs; i++)
        s->inputs[i] = input_of(s, &p->inputs[i]);
    cr_load_case(c, p, s->rt, NULL, s->weights);
}

bool cr_open_session(struct cr_session *s, const struct cr_case *c, struct cr_graph *g,
                     const struct cr_session_options *how, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_program *program = NULL;
    struct cr_pass_options options = {.settings = {.path = "g"}};
    *s = (struct cr_session){.rt = cr_runtime_select(how->isa)};
    s->rt = s->rt ? s->rt : cr_runtime_select(NULL);
    if (how->ranks) {
        options.settings.rank = how->ranks->rank;
        options.settings.ranks = how->ranks->count;
    }
    if (cr_keep_weights(g, &how->keep, &error))
        cr_graph_free(g);
    else
        program = cr_program_of(g, &options, &error);
    if (!program)
        return cr_found(report, "refused: %.400s", error.text);
    if (!cr_compile_program(&s->code, program, cr_compile_tcc, report))
        return false;
    s->code.ranks = how->ranks;
    make_memory(s, c);
    return true;
}

/* ---- running ---- */

bool cr_run_tokens(struct cr_session *s, const int32_t *all, int64_t context, int64_t text,
                       int64_t at, int64_t n, struct cr_report *report)
{
    s->n = (int32_t)n;
    for (int64_t i = 0; i < s->batch * s->room; i++) {
        int64_t t = i % s->room;
        s->ids[i] = t < n ? all[(text + i / s->room) * context + at + t] : PAST;
    }
    if (cr_run_entry(&s->code, 0, s->rt, NULL, s->weights, s->inputs, s->outputs, s->arena))
        return cr_found(report, "the run fails");
    for (int i = 0; i < GUARD; i++)
        if (!isnan(s->logits[s->floats + i]))
            return cr_found(report, "float %d behind the logits was written", i);
    for (int i = 0; i < s->code.program->n_inputs; i++) {
        const struct cr_port *port = &s->code.program->inputs[i];
        const int32_t *behind =
            (const int32_t *)s->inputs[i] + cr_elements(port->rank, port->shape);
        for (int k = 0; port->state && k < GUARD; k++)
            if (behind[k])
                return cr_found(report, "word %d behind the state %s was written", k, port->name);
    }
    return true;
}
