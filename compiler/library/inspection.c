/* inspection.c - a compilation that keeps its graphs after each pass, its kernels and its C; see
 * crescent.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/emit.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/steps.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/plan/stored_nodes.h"
#include "handles.h"
#include "targets.h"

struct crescent_inspection {
    crescent_context *context;
    struct cr_origin *origin;
    crescent_config config;
    struct cr_module *module; /* the result of all passes, without the program, which is in
                                 `program` */
    struct cr_program *program;
    int64_t stage_began;
    crescent_stage *stages;
    int n_stages, cap_stages;
    struct cr_graph **graphs; /* the graphs after passes, each different one once; they share
                                 strings and axes */
    int n_graphs, cap_graphs;
    crescent_output *outputs; /* the inspection owns their names */
    int n_outputs;
    int *first_call; /* by function: the first kernel of the module that calls it */
    crescent_lines *lines;
    int n_lines, cap_lines;
    crescent_live_range *ranges;
    int n_ranges, cap_ranges;
};

/* ---- after each pass ---- */

/* Returns a copy of a graph's nodes and outputs.  It shares strings with the graph, so that nodes
 * can be compared by addresses. */
static struct cr_graph *keep_graph(const struct cr_graph *g)
{
    struct cr_graph *kept = cr_graph_successor(g);
    cr_graph_reserve(kept, g->n_nodes + 1, g->n_operands + 1);
    memcpy(kept->nodes, g->nodes, (size_t)g->n_nodes * sizeof *g->nodes);
    memcpy(kept->operands, g->operands, (size_t)g->n_operands * sizeof *g->operands);
    kept->n_nodes = g->n_nodes;
    kept->n_operands = g->n_operands;
    cr_copy_outputs(kept, g, NULL);
    return kept;
}

/* True if two graphs have the same nodes with the same operands; kernels may differ. */
static bool same_graph(const struct cr_graph *a, const struct cr_graph *b)
{
    if (a->n_nodes != b->n_nodes || a->n_operands != b->n_operands ||
        memcmp(a->operands, b->operands, (size_t)a->n_operands * sizeof *a->operands) != 0)
        return false;
    for (cr_id id = 0; id < a->n_nodes; id++) {
        const struct cr_node *x = &a->nodes[id], *y = &b->nodes[id];
        if (x->op != y->op || x->shape != y->shape || x->index != y->index || x->name != y->name ||
            x->axis != y->axis || x->dtype != y->dtype || x->first_in != y->first_in ||
            memcmp(&x->value, &y->value, sizeof x->value) != 0)
            return false;
    }
    return true;
}

static int count_functions(const struct cr_module *m)
{
    int n = 0;
    for (int i = 0; i < m->n_kernels; i++)
        n += m->function[i] == i;
    return n;
}

/* Sets the counts of a stage from the module in its current form. */
static void count_stage(crescent_stage *s, const struct cr_module *m)
{
    const int64_t unit = sizeof(float);
    s->kernels = m->has & CR_HAS_KERNELS ? m->n_kernels : -1;
    s->functions = m->has & CR_HAS_LOOPS ? count_functions(m) : -1;
    s->loops = m->has & CR_HAS_LOOPS ? m->n_loops : -1;
    if (m->has & CR_HAS_PLAN) {
        s->weights_bytes = unit * m->weights_floats;
        s->arena_bytes = unit * m->arena_floats;
        s->arena_bytes_least = unit * m->lower_bound_floats;
    }
    if (!(m->has & CR_HAS_PROGRAM))
        return;
    s->steps = m->program->n_steps;
    for (int i = 0; i < m->program->n_functions; i++)
        s->statements += m->program->functions[i].n_body;
}

/* Appends a stage.  The time of copying the graph is not counted as time of the next pass. */
static void keep_stage(crescent_inspection *in, const char *name, const char *doc,
                       const struct cr_module *m)
{
    crescent_stage stage = {.name = name, .doc = doc, .ns = cr_clock() - in->stage_began};
    if (!in->n_graphs || !same_graph(in->graphs[in->n_graphs - 1], m->graph))
        *CR_PUSH(in->graphs, in->n_graphs, in->cap_graphs) = keep_graph(m->graph);
    stage.graph = in->n_graphs - 1;
    count_stage(&stage, m);
    *CR_PUSH(in->stages, in->n_stages, in->cap_stages) = stage;
    in->stage_began = cr_clock();
}

static void after_pass(void *context, const struct cr_pass *pass, const struct cr_module *module)
{
    keep_stage(context, pass->name, pass->doc, module);
}

/* ---- after the last pass ---- */

/* Finds the first kernel that calls each function; functions are numbered in the order of these
 * kernels. */
static void find_first_calls(crescent_inspection *in)
{
    int n = 0;
    in->first_call = cr_calloc((size_t)in->program->n_functions, sizeof *in->first_call);
    for (int i = 0; i < in->module->n_kernels; i++)
        if (in->module->function[i] == i)
            in->first_call[n++] = i;
}

/* Lists the outputs, with names that live as long as the inspection. */
static void find_outputs(crescent_inspection *in)
{
    const struct cr_graph *g = in->module->graph;
    in->outputs = cr_calloc((size_t)g->n_outputs, sizeof *in->outputs);
    for (; in->n_outputs < g->n_outputs; in->n_outputs++) {
        const struct cr_output *from = &g->outputs[in->n_outputs];
        char *name = cr_output_name(g, in->n_outputs);
        in->outputs[in->n_outputs] = (crescent_output){.name = name,
                                                       .of = cr_gradient_of(name),
                                                       .node = from->id,
                                                       .state = from->state != CR_NONE};
    }
}

/* Lists the live ranges of buffers in the arena: the call that first writes a buffer, and the call
 * that last reads it. */
static void find_ranges(crescent_inspection *in)
{
    const struct cr_module *m = in->module;
    const int64_t unit = sizeof(float);
    int *last_read = cr_find_last_reads(m);
    bool *seen = cr_calloc((size_t)m->graph->n_nodes, sizeof *seen);
    for (int i = 0; i < m->n_kernels; i++) {
        for (int s = 0; s < m->kernels[i].n_stored; s++) {
            cr_id id = m->kernels[i].stored[s];
            const struct cr_node *node = &m->graph->nodes[id];
            if (seen[id] || m->storage[id].space != CR_SPACE_ARENA)
                continue;
            seen[id] = true;
            *CR_PUSH(in->ranges, in->n_ranges, in->cap_ranges) =
                (crescent_live_range){id, unit * m->storage[id].offset,
                                      unit * cr_elements(node->rank, node->shape), i,
                                      last_read[id] < i ? i : last_read[id]};
        }
    }
    free(seen);
    free(last_read);
}

/* ---- lines of C ---- */

/* Converts offsets in a text to line numbers, counted from 1.  Fast if offsets ascend. */
struct line_counter {
    const char *text;
    size_t at;
    int line;
};

static int line_at(struct line_counter *c, size_t offset)
{
    if (offset < c->at)
        *c = (struct line_counter){c->text, 0, 1};
    for (; c->at < offset; c->at++)
        c->line += c->text[c->at] == '\n';
    return c->line;
}

/* Appends an item for the lines of a span of the text; span->end is one past the last character. */
static void add_lines(crescent_inspection *in, struct line_counter *c, crescent_lines_kind kind,
                      const struct cr_span *span, int number)
{
    int first = line_at(c, span->begin), last = line_at(c, span->end - 1);
    *CR_PUSH(in->lines, in->n_lines, in->cap_lines) = (crescent_lines){kind, first, last, number};
}

static void add_node_lines(crescent_inspection *in, struct line_counter *c, int function,
                           const struct cr_span *statements)
{
    const struct cr_function *f = &in->program->functions[function];
    for (int s = 0; s < f->n_body; s++)
        if (f->body[s].kind == CR_STATEMENT_CALL)
            add_lines(in, c, CRESCENT_LINES_NODE, &statements[s], f->calls[f->body[s].call].node);
}

/* Finds the lines of each kernel, of each call, and of each node in the first call of a kernel. */
static void find_lines(crescent_inspection *in)
{
    const struct cr_program *p = in->program;
    struct cr_spans spans;
    struct line_counter c = {p->text, 0, 1};
    cr_spans_find(&spans, p);
    for (int i = 0; i < p->n_functions; i++) {
        struct cr_span span = spans.functions[i];
        span.begin++; /* skips the empty line before the kernel */
        add_lines(in, &c, CRESCENT_LINES_KERNEL, &span, i);
    }
    for (int i = 0; i < p->n_steps; i++)
        if (cr_step_is(&p->steps[i], CR_STEP_OPERANDS))
            add_lines(in, &c, CRESCENT_LINES_CALL, &spans.steps[i], p->steps[i].function);
    for (int i = 0; i < p->n_functions; i++)
        add_node_lines(in, &c, i, spans.statements[i]);
    cr_spans_free(&spans);
}

/* ---- the handle ---- */

/* Runs all passes and emit on a copy of the graph. */
static int compile(crescent_inspection *in, const struct cr_graph *graph, struct cr_error *error)
{
    struct cr_target target;
    const crescent_config *c = &in->config;
    const char *path = in->origin->path;
    const struct cr_use use = cr_use_of(graph, c->isa, c->threads);
    in->module = cr_module_new(cr_graph_copy(graph));
    if (cr_choose_target(in->context, c->target ? c->target : "host", &use, &target, error) ||
        cr_want_weights(in->module->graph, c, path, error))
        return -1;
    const struct cr_pass_options options = {.settings = cr_settings_of(c, path, &target),
                                            .after = after_pass,
                                            .context = in};
    in->stage_began = cr_clock();
    keep_stage(in, "script", "the graph as the script built it", in->module);
    if (cr_run_passes(in->module, &options, error))
        return -1;
    in->program = cr_emit_program(in->module);
    *CR_PUSH(in->stages, in->n_stages, in->cap_stages) =
        (crescent_stage){.name = "emit",
                         .doc = "the model as C",
                         .ns = cr_clock() - in->stage_began,
                         .graph = in->n_graphs - 1,
                         .kernels = -1,
                         .functions = -1,
                         .loops = -1};
    in->module->settings.target = NULL; /* the target is a local variable here */
    return 0;
}

/* Makes an inspection.  The backend must be tcc or cc, as others have no kernels. */
static int inspect(const crescent_graph *graph, const crescent_config *config,
                   crescent_inspection **inspection, struct cr_error *error)
{
    crescent_config c;
    if (cr_take_config(config, graph->origin->path, &c, error))
        return -1;
    if (c.backend != CRESCENT_TCC && c.backend != CRESCENT_CC)
        return cr_fail(error, "%.400s: backend %s has no kernels, expected tcc or cc",
                       graph->origin->path, crescent_backend_name(c.backend));
    crescent_inspection *in = cr_calloc(1, sizeof *in);
    in->context = cr_refer(graph->context);
    in->origin = cr_origin_refer(graph->origin);
    in->config = cr_config_copy(&c);
    if (compile(in, graph->graph, error)) {
        crescent_inspection_close(in);
        return -1;
    }
    find_first_calls(in);
    find_outputs(in);
    find_ranges(in);
    find_lines(in);
    *inspection = in;
    return 0;
}

int crescent_inspect(const crescent_graph *graph, const crescent_config *config,
                     crescent_inspection **inspection)
{
    if (inspection)
        *inspection = NULL;
    CR_REQUIRE(graph, inspection);
    CR_ENTER(graph->context);
    return cr_done(&guard, inspect(graph, config, inspection, guard.error));
}

/* Frees an inspection, also an incomplete one. */
void crescent_inspection_close(crescent_inspection *in)
{
    if (!in)
        return;
    for (int i = 0; i < in->n_graphs; i++)
        cr_graph_free(in->graphs[i]);
    for (int i = 0; i < in->n_outputs; i++)
        free((char *)in->outputs[i].name);
    free(in->graphs);
    free(in->outputs);
    free(in->stages);
    free(in->first_call);
    free(in->lines);
    free(in->ranges);
    cr_program_free(in->program);
    cr_module_free(in->module);
    cr_config_free(&in->config);
    cr_origin_release(in->origin);
    cr_release(in->context);
    free(in);
}

/* ---- reading ---- */

crescent_node cr_public_node(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    const struct cr_text_line *library = cr_line_of(g, node->where.library);
    return (crescent_node){.op = (int)node->op,
                           .type = (crescent_type)node->dtype,
                           .rank = node->rank,
                           .shape = node->shape,
                           .index = node->index,
                           .axis = node->axis,
                           .value = node->value,
                           .name = node->name,
                           .tap = node->tap,
                           .scope = node->where.scope,
                           .file = node->where.file,
                           .line = node->where.line,
                           .library = library ? library->file : NULL,
                           .library_line = library ? library->line : 0,
                           .backward = node->where.backward,
                           .n_operands = node->n_in,
                           .operands = cr_inputs(g, node)};
}

/* Returns CRESCENT_OK if 0 <= index < n, else reports an error about `what`. */
static int check(const crescent_inspection *in, const char *what, int index, int n)
{
    return cr_check_index(in->origin->path, what, index, n, &in->context->error);
}

int crescent_inspection_config(const crescent_inspection *inspection, crescent_config *config)
{
    CR_REQUIRE(inspection, config);
    *config = inspection->config;
    return CRESCENT_OK;
}

const char *crescent_inspection_target(const crescent_inspection *inspection)
{
    return inspection ? inspection->program->target : NULL;
}

int crescent_inspection_report(const crescent_inspection *inspection, crescent_report *report)
{
    CR_REQUIRE(inspection, report);
    *report = cr_report_of(inspection->program);
    return CRESCENT_OK;
}

int crescent_stage_count(const crescent_inspection *inspection)
{
    return inspection ? inspection->n_stages : 0;
}

int crescent_stage_at(const crescent_inspection *inspection, int index, crescent_stage *stage)
{
    CR_REQUIRE(inspection, stage);
    if (check(inspection, "stage", index, inspection->n_stages))
        return CRESCENT_FAILED;
    *stage = inspection->stages[index];
    return CRESCENT_OK;
}

int crescent_node_count(const crescent_inspection *inspection, int graph)
{
    bool known = inspection && graph >= 0 && graph < inspection->n_graphs;
    return known ? inspection->graphs[graph]->n_nodes : 0;
}

int crescent_node_at(const crescent_inspection *inspection, int graph, int index,
                     crescent_node *node)
{
    CR_REQUIRE(inspection, node);
    if (check(inspection, "graph", graph, inspection->n_graphs) ||
        check(inspection, "node", index, inspection->graphs[graph]->n_nodes))
        return CRESCENT_FAILED;
    *node = cr_public_node(inspection->graphs[graph], index);
    return CRESCENT_OK;
}

int crescent_output_count(const crescent_inspection *inspection)
{
    return inspection ? inspection->n_outputs : 0;
}

int crescent_output_at(const crescent_inspection *inspection, int index, crescent_output *output)
{
    CR_REQUIRE(inspection, output);
    if (check(inspection, "output", index, inspection->n_outputs))
        return CRESCENT_FAILED;
    *output = inspection->outputs[index];
    return CRESCENT_OK;
}

/* Describes a kernel.  All calls of a function have the same kind, so the function's first call is
 * described. */
int crescent_inspection_kernel_at(const crescent_inspection *inspection, int index,
                                  crescent_kernel *kernel, crescent_kernel_detail *detail)
{
    CR_REQUIRE(inspection, kernel && detail);
    if (check(inspection, "kernel", index, inspection->program->n_kernels))
        return CRESCENT_FAILED;
    const struct cr_function *f = &inspection->program->functions[index];
    int first = inspection->first_call[index];
    *kernel = cr_public_kernel(inspection->program, index);
    *detail = (crescent_kernel_detail){
        .title = f->title,
        .kind = cr_kernel_kinds[inspection->module->kernels[first].kind].name,
        .about = f->comment,
        .first_call = first,
        .scratch_bytes = f->scratch_floats * (int64_t)sizeof(float)};
    return CRESCENT_OK;
}

int crescent_call_count(const crescent_inspection *inspection)
{
    return inspection ? inspection->module->n_kernels : 0;
}

/* Describes call number `index` of a run, which is one kernel of the module. */
int crescent_call_at(const crescent_inspection *inspection, int index, crescent_call *call)
{
    CR_REQUIRE(inspection, call);
    if (check(inspection, "call", index, inspection->module->n_kernels))
        return CRESCENT_FAILED;
    const struct cr_kernel *k = &inspection->module->kernels[index];
    *call = (crescent_call){.kernel = inspection->program->sequence[index],
                            .root = k->root,
                            .main = cr_main_node(k),
                            .buffer = k->buffer,
                            .n_stores = k->n_stored,
                            .stores = k->stored,
                            .n_reads = k->n_refs,
                            .reads = k->refs,
                            .again = k->again};
    return CRESCENT_OK;
}

int crescent_loop_count(const crescent_inspection *inspection)
{
    return inspection ? inspection->module->n_loops : 0;
}

int crescent_loop_at(const crescent_inspection *inspection, int index, crescent_loop *loop)
{
    CR_REQUIRE(inspection, loop);
    if (check(inspection, "loop", index, inspection->module->n_loops))
        return CRESCENT_FAILED;
    const struct cr_loop *from = &inspection->module->loops[index];
    *loop = (crescent_loop){from->first, from->period, from->count, from->start, from->direction};
    return CRESCENT_OK;
}

const char *crescent_inspection_c(const crescent_inspection *inspection, size_t *length)
{
    if (inspection && length)
        *length = inspection->program->text_length;
    return inspection ? inspection->program->text : NULL;
}

int crescent_lines_count(const crescent_inspection *inspection)
{
    return inspection ? inspection->n_lines : 0;
}

int crescent_lines_at(const crescent_inspection *inspection, int index, crescent_lines *lines)
{
    CR_REQUIRE(inspection, lines);
    if (check(inspection, "span of lines", index, inspection->n_lines))
        return CRESCENT_FAILED;
    *lines = inspection->lines[index];
    return CRESCENT_OK;
}

int crescent_live_range_count(const crescent_inspection *inspection)
{
    return inspection ? inspection->n_ranges : 0;
}

int crescent_live_range_at(const crescent_inspection *inspection, int index,
                           crescent_live_range *range)
{
    CR_REQUIRE(inspection, range);
    if (check(inspection, "live range", index, inspection->n_ranges))
        return CRESCENT_FAILED;
    *range = inspection->ranges[index];
    return CRESCENT_OK;
}
