/* explain_document.c - the document of an explanation, as docs/explain.md describes it. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/emit.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/text.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/plan/stored.h"
#include "explanation.h"

/* ---- the model ---- */

/* The names of passes that were left out, "join, fma"; null: none. */
static void write_skipped(struct cr_doc *d, const crescent_explanation *e)
{
    struct cr_text text = {0};
    for (int i = 0; i < e->config.n_skip; i++)
        cr_put(&text, "%s%s", i ? ", " : "", e->config.skip[i]);
    cr_doc_text(d, "skip", text.data);
    free(text.data);
}

/* Where it comes from, and what it was compiled with. */
static void write_model(struct cr_doc *d, const crescent_explanation *e)
{
    const struct cr_origin *o = e->origin;
    cr_doc_begin(d, "model", '{');
    cr_doc_text(d, "name", e->program->name);
    cr_doc_text(d, "path", o->folder ? o->folder : o->path);
    cr_doc_text(d, "script", o->path);
    cr_doc_begin(d, "options", '{');
    for (int i = 0; i < o->n_options; i++)
        cr_doc_text(d, o->options[i].name, o->options[i].value);
    cr_doc_end(d, '}');
    cr_doc_text(d, "target", e->program->target);
    cr_doc_text(d, "format", e->config.format);
    cr_doc_text(d, "arithmetic", e->config.arithmetic);
    cr_doc_integer(d, "threads", e->config.threads);
    cr_doc_integer(d, "max_arena", e->config.max_arena);
    write_skipped(d, e);
    cr_doc_flag(d, "gradients", e->n_gradients > 0);
    cr_doc_end(d, '}');
}

/* The report of the whole program. */
static void write_totals(struct cr_doc *d, const crescent_explanation *e)
{
    const crescent_report r = cr_report_of(e->program);
    int64_t parameters = 0;
    for (int i = 0; i < e->program->n_params; i++)
        parameters += cr_port_elements(&e->program->params[i]);
    cr_doc_begin(d, "totals", '{');
    cr_doc_integer(d, "ops", r.ops);
    cr_doc_integer(d, "kernels", r.n_kernels);
    cr_doc_integer(d, "calls", r.n_calls);
    cr_doc_number(d, "flops", r.flops);
    cr_doc_number(d, "flops_again", r.flops_again);
    cr_doc_integer(d, "parameters", parameters);
    cr_doc_integer(d, "parameter_bytes", r.parameter_bytes);
    cr_doc_integer(d, "weights_bytes", r.weights_bytes);
    cr_doc_integer(d, "border_bytes", r.border_bytes);
    cr_doc_integer(d, "arena_bytes", r.arena_bytes);
    cr_doc_integer(d, "arena_bytes_least", r.arena_bytes_least);
    cr_doc_integer(d, "activation_bytes", r.activation_bytes);
    cr_doc_integer(d, "scratch_bytes", r.scratch_bytes);
    cr_doc_integer(d, "text_bytes", (int64_t)r.text_bytes);
    cr_doc_end(d, '}');
}

/* ---- kernels ---- */

/* The nodes that a kernel computes, and the constants and parameters it takes in: a walk from what it
 * stores to what it reads. */
struct walk {
    const struct cr_graph *g;
    int *seen; /* by node: 1 + the last kernel that came by */
    cr_id *nodes;
    int n;
    int mark;
};

static void visit(struct walk *w, cr_id id)
{
    if (w->seen[id] == w->mark)
        return;
    w->seen[id] = w->mark;
    w->nodes[w->n++] = id;
}

static int by_number(const void *a, const void *b)
{
    return (*(const cr_id *)a > *(const cr_id *)b) - (*(const cr_id *)a < *(const cr_id *)b);
}

/* In the order of the graph.  Operands that are in memory are seen before the walk begins, and so end
 * it. */
static void find_nodes(struct walk *w, const struct cr_kernel *k, int kernel)
{
    w->n = 0;
    w->mark = kernel + 1;
    for (int r = 0; r < k->n_refs; r++)
        if (w->g->nodes[k->refs[r]].op != CR_OP_param)
            w->seen[k->refs[r]] = w->mark;
    w->seen[k->root] = 0;
    visit(w, k->root);
    for (int s = 1; s < k->n_stored; s++)
        visit(w, k->stored[s]);
    for (int i = 0; i < w->n; i++)
        for (int j = 0; j < w->g->nodes[w->nodes[i]].n_in; j++)
            if (!cr_is_input(&w->g->nodes[cr_in(w->g, w->nodes[i], j)]))
                visit(w, cr_in(w->g, w->nodes[i], j));
    qsort(w->nodes, (size_t)w->n, sizeof *w->nodes, by_number);
}

static void write_ids(struct cr_doc *d, const char *key, const cr_id *ids, int n)
{
    cr_doc_begin(d, key, '[');
    for (int i = 0; i < n; i++)
        cr_doc_integer(d, NULL, ids[i]);
    cr_doc_end(d, ']');
}

/* The layer of a kernel that a loop stands for, or -1. */
static int layer_of(const struct cr_module *m, int kernel)
{
    const struct cr_loop *loop = cr_loop_of(m, kernel);
    return loop ? cr_layer_of(loop, (kernel - loop->first) / loop->period) : -1;
}

/* A call of a kernel: an instance, as a layer has one. */
static void write_call(struct cr_doc *d, const crescent_explanation *e, struct walk *w,
                       int call)
{
    const struct cr_kernel *k = &e->module->kernels[call];
    cr_doc_begin(d, NULL, '{');
    cr_doc_integer(d, "kernel", e->program->sequence[call]);
    cr_doc_integer(d, "layer", layer_of(e->module, call));
    cr_doc_integer(d, "root", k->root);
    cr_doc_integer(d, "main", cr_main_node(k));
    if (k->buffer != k->root)
        cr_doc_integer(d, "buffer", k->buffer);
    if (k->n_stored > 1)
        write_ids(d, "stores", k->stored, k->n_stored);
    if (k->again)
        cr_doc_flag(d, "again", true);
    find_nodes(w, k, call);
    write_ids(d, "nodes", w->nodes, w->n);
    write_ids(d, "reads", k->refs, k->n_refs);
    cr_doc_end(d, '}');
}

/* In the order of a run. */
static void write_calls(struct cr_doc *d, const crescent_explanation *e)
{
    size_t n = (size_t)e->module->graph->n_nodes;
    struct walk walk = {.g = e->module->graph,
                        .seen = cr_calloc(n, sizeof *walk.seen),
                        .nodes = cr_calloc(n, sizeof *walk.nodes)};
    cr_doc_begin(d, "calls", '[');
    for (int i = 0; i < e->module->n_kernels; i++)
        write_call(d, e, &walk, i);
    cr_doc_end(d, ']');
    free(walk.seen);
    free(walk.nodes);
}

/* Calls first .. first + period - 1 are repeated `count` times, a layer each. */
static void write_loops(struct cr_doc *d, const struct cr_module *m)
{
    cr_doc_begin(d, "loops", '[');
    for (int i = 0; i < m->n_loops; i++) {
        cr_doc_begin(d, NULL, '{');
        cr_doc_integer(d, "first", m->loops[i].first);
        cr_doc_integer(d, "period", m->loops[i].period);
        cr_doc_integer(d, "count", m->loops[i].count);
        cr_doc_integer(d, "start", m->loops[i].start);
        cr_doc_integer(d, "direction", m->loops[i].direction);
        cr_doc_end(d, '}');
    }
    cr_doc_end(d, ']');
}

/* ---- lines of C ---- */

/* Offsets of a text turned into lines, from 1 on; they are asked for in rising order. */
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

/* [first line, last line, number]; a span ends behind its last line. */
static void write_span(struct cr_doc *d, struct line_counter *c, const struct cr_span *span,
                       int64_t number)
{
    cr_doc_begin(d, NULL, '[');
    cr_doc_integer(d, NULL, line_at(c, span->begin));
    cr_doc_integer(d, NULL, line_at(c, span->end - 1));
    cr_doc_integer(d, NULL, number);
    cr_doc_end(d, ']');
}

static void write_text(struct cr_doc *d, const struct cr_program *p)
{
    cr_doc_begin(d, "lines", '[');
    for (size_t at = 0; at < p->text_length;) {
        size_t n = strcspn(p->text + at, "\n");
        cr_doc_bytes(d, NULL, p->text + at, n);
        at += n + 1;
    }
    cr_doc_end(d, ']');
}

/* Which lines are which kernel's, which call it, and which are for one node of its first call. */
static void write_c(struct cr_doc *d, const struct cr_program *p)
{
    struct cr_spans spans;
    struct line_counter c = {p->text, 0, 1};
    cr_spans_find(&spans, p);
    cr_doc_begin(d, "c", '{');
    write_text(d, p);
    cr_doc_begin(d, "kernels", '[');
    for (int i = 0; i < p->n_functions; i++) {
        struct cr_span span = spans.functions[i];
        span.begin++; /* the empty line before it */
        write_span(d, &c, &span, i);
    }
    cr_doc_end(d, ']');
    cr_doc_begin(d, "steps", '[');
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == CR_STEP_CALL)
            write_span(d, &c, &spans.steps[i], p->steps[i].function);
    cr_doc_end(d, ']');
    cr_doc_begin(d, "nodes", '[');
    for (int i = 0; i < p->n_functions; i++)
        for (int s = 0; s < p->functions[i].n_body; s++)
            if (p->functions[i].body[s].kind == CR_STATEMENT_CALL)
                write_span(d, &c, &spans.statements[i][s],
                           p->functions[i].calls[p->functions[i].body[s].call].node);
    cr_doc_end(d, ']');
    cr_doc_end(d, '}');
    cr_spans_free(&spans);
}

/* Numbers are of one call. */
static void write_kernel(struct cr_doc *d, const crescent_explanation *e, int i)
{
    const struct cr_kernel_info *info = &e->program->kernels[i];
    const struct cr_function *f = &e->program->functions[i];
    const struct cr_kernel *k = &e->module->kernels[e->first_kernel[i]];
    cr_doc_begin(d, NULL, '{');
    cr_doc_text(d, "name", info->name);
    cr_doc_text(d, "title", f->title);
    cr_doc_text(d, "kind", cr_kernel_kinds[k->kind].name);
    cr_doc_text(d, "scope", info->scope);
    cr_doc_text(d, "where", info->where);
    cr_doc_text(d, "about", f->comment);
    cr_doc_integer(d, "first_call", e->first_kernel[i]);
    cr_doc_integer(d, "calls", info->calls);
    cr_doc_number(d, "flops", info->flops);
    cr_doc_number(d, "bytes_read", info->bytes_read);
    cr_doc_number(d, "bytes_written", info->bytes_written);
    cr_doc_number(d, "bytes_weights", info->bytes_weights);
    cr_doc_number(d, "bytes_to_l1", info->traffic.to_l1);
    cr_doc_number(d, "bytes_to_l2", info->traffic.to_l2);
    cr_doc_integer(d, "scratch_bytes", f->scratch_floats * (int64_t)sizeof(float));
    cr_doc_end(d, '}');
}

static void write_kernels(struct cr_doc *d, const crescent_explanation *e)
{
    cr_doc_begin(d, "kernels", '[');
    for (int i = 0; i < e->program->n_kernels; i++)
        write_kernel(d, e, i);
    cr_doc_end(d, ']');
}

/* ---- the arena ---- */

/* [node, offset, bytes, first call, last call] of each value that lies there. */
static void write_arena(struct cr_doc *d, const struct cr_module *m)
{
    int *last_read = cr_find_last_reads(m);
    bool *seen = cr_calloc((size_t)m->graph->n_nodes, sizeof *seen);
    cr_doc_begin(d, "arena", '[');
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id id = m->kernels[i].buffer;
        if (seen[id] || m->storage[id].space != CR_SPACE_ARENA)
            continue;
        const struct cr_node *node = &m->graph->nodes[id];
        const int64_t unit = sizeof(float);
        seen[id] = true;
        cr_doc_begin(d, NULL, '[');
        cr_doc_integer(d, NULL, id);
        cr_doc_integer(d, NULL, unit * m->storage[id].offset);
        cr_doc_integer(d, NULL, unit * cr_elements(node->rank, node->shape));
        cr_doc_integer(d, NULL, i);
        cr_doc_integer(d, NULL, last_read[id] < i ? i : last_read[id]);
        cr_doc_end(d, ']');
    }
    cr_doc_end(d, ']');
    free(seen);
    free(last_read);
}

/* ---- what was measured ---- */

/* By call; null where a later call completes the tensor. */
static void write_errors(struct cr_doc *d, const crescent_explanation *e)
{
    if (!e->errors)
        return;
    cr_doc_begin(d, "check", '[');
    for (int i = 0; i < e->program->n_sequence; i++) {
        const struct cr_call_error *x = &e->errors[i];
        if (!x->known) {
            cr_doc_text(d, NULL, NULL);
            continue;
        }
        cr_doc_begin(d, NULL, '{');
        cr_doc_number(d, "max_abs", x->max_abs);
        cr_doc_number(d, "max_ulp", x->max_ulp);
        cr_doc_number(d, "rms", x->rms);
        if (x->nans)
            cr_doc_integer(d, "nan_against_number", x->nans);
        cr_doc_end(d, '}');
    }
    cr_doc_end(d, ']');
}

/* ---- all of it ---- */

void cr_explain_document(struct cr_doc *d, const char *key, const crescent_explanation *e)
{
    cr_doc_begin(d, key, '{');
    write_model(d, e);
    write_totals(d, e);
    cr_explain_graphs(d, e);
    write_kernels(d, e);
    write_calls(d, e);
    write_loops(d, e->module);
    write_c(d, e->program);
    write_arena(d, e->module);
    if (e->measured)
        cr_write_measurement(d, e->measured, e->model);
    write_errors(d, e);
    cr_doc_end(d, '}');
}

/* Complete events, in microseconds: the calls of one run, one after another. */
void cr_explain_trace(FILE *out, const crescent_explanation *e)
{
    struct cr_doc d = {.out = out};
    cr_doc_begin(&d, NULL, '{');
    cr_doc_text(&d, "displayTimeUnit", "ns");
    cr_doc_begin(&d, "traceEvents", '[');
    for (int i = 0; i < e->program->n_sequence; i++) {
        const struct cr_kernel_info *k = &e->program->kernels[e->program->sequence[i]];
        int layer = layer_of(e->module, i);
        const struct cr_measurement *m = e->measured;
        cr_doc_begin(&d, NULL, '{');
        cr_doc_text(&d, "name", k->name);
        cr_doc_text(&d, "cat", cr_kernel_kinds[e->module->kernels[i].kind].name);
        cr_doc_text(&d, "ph", "X");
        cr_doc_integer(&d, "pid", 1);
        cr_doc_integer(&d, "tid", 1);
        cr_doc_number(&d, "ts", (double)m->begin_ns[i] / 1000);
        cr_doc_number(&d, "dur", (double)(m->end_ns[i] - m->begin_ns[i]) / 1000);
        cr_doc_begin(&d, "args", '{');
        cr_doc_text(&d, "where", k->where);
        cr_doc_text(&d, "scope", e->module->graph->nodes[e->module->kernels[i].root].where.scope);
        if (layer >= 0)
            cr_doc_integer(&d, "layer", layer);
        cr_doc_number(&d, "gflops", k->flops / (double)(m->end_ns[i] - m->begin_ns[i]));
        cr_doc_end(&d, '}');
        cr_doc_end(&d, '}');
    }
    cr_doc_end(&d, ']');
    cr_doc_end(&d, '}');
    fputc('\n', out);
}
