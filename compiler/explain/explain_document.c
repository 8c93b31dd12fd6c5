/* explain_document.c - writes the document of an explanation, which docs/explain.md describes. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/sort_order.h"
#include "compiler/ir/text.h"
#include "explanation.h"

/* ---- model and totals ---- */

/* Writes the names of skipped passes as one text, "join, fma"; null if there are none. */
static void write_skipped(struct cr_doc *d, const crescent_explanation *e)
{
    struct cr_text text = {0};
    for (int i = 0; i < e->config.n_skip; i++)
        cr_put(&text, "%s%s", i ? ", " : "", e->config.skip[i]);
    cr_doc_text(d, "skip", text.data);
    free(text.data);
}

/* Writes the model's source and the options with which it was compiled. */
static void write_model(struct cr_doc *d, const crescent_explanation *e)
{
    const char *script = crescent_graph_script(e->graph), *folder = crescent_graph_folder(e->graph);
    bool gradients = false;
    crescent_setting option;
    crescent_port port;
    for (int i = 0; i < crescent_graph_port_count(e->graph, CRESCENT_OUTPUT); i++)
        gradients |= !crescent_graph_port_at(e->graph, CRESCENT_OUTPUT, i, &port) && port.of;
    cr_doc_begin(d, "model", '{');
    cr_doc_text(d, "name", e->report.name);
    cr_doc_text(d, "path", folder ? folder : script);
    cr_doc_text(d, "script", script);
    cr_doc_begin(d, "options", '{');
    for (int i = 0; i < crescent_graph_option_count(e->graph); i++)
        if (!crescent_graph_option_at(e->graph, i, &option))
            cr_doc_text(d, option.key, option.value);
    cr_doc_end(d, '}');
    cr_doc_text(d, "target", crescent_inspection_target(e->inspection));
    cr_doc_text(d, "format", e->config.format);
    cr_doc_text(d, "arithmetic", e->config.arithmetic);
    cr_doc_integer(d, "threads", e->config.threads);
    cr_doc_integer(d, "max_arena", e->config.max_arena);
    write_skipped(d, e);
    cr_doc_flag(d, "gradients", gradients);
    cr_doc_end(d, '}');
}

/* Writes the report of the whole program. */
static void write_totals(struct cr_doc *d, const crescent_explanation *e)
{
    const crescent_report r = e->report;
    int64_t parameters = 0;
    crescent_port port;
    for (int i = 0; i < crescent_graph_port_count(e->graph, CRESCENT_PARAM); i++)
        if (!crescent_graph_port_at(e->graph, CRESCENT_PARAM, i, &port))
            parameters += crescent_port_elements(&port);
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

/* Finds the nodes that a kernel computes, and its constants and parameters: from the values that
 * the kernel stores back to those that it reads. */
struct walk {
    const crescent_node *graph;
    int *seen; /* by node: 1 + the number of the last call that visited it */
    int *nodes;
    int n;
    int mark;
};

static void visit(struct walk *w, int id)
{
    if (w->seen[id] == w->mark)
        return;
    w->seen[id] = w->mark;
    w->nodes[w->n++] = id;
}

static bool is_op(const struct walk *w, int id, const char *op)
{
    return strcmp(cr_op_of(&w->graph[id]), op) == 0;
}

/* Finds the nodes of a call, in the graph's order.  Marks operands in memory as visited first, so
 * that the search stops there. */
static void find_nodes(struct walk *w, const crescent_call *call, int number)
{
    w->n = 0;
    w->mark = number + 1;
    for (int r = 0; r < call->n_reads; r++)
        if (!is_op(w, call->reads[r], "param"))
            w->seen[call->reads[r]] = w->mark;
    w->seen[call->root] = 0;
    visit(w, call->root);
    for (int s = 1; s < call->n_stores; s++)
        visit(w, call->stores[s]);
    for (int i = 0; i < w->n; i++) {
        const crescent_node *node = &w->graph[w->nodes[i]];
        for (int j = 0; j < node->n_operands; j++)
            if (!is_op(w, node->operands[j], "input") && !is_op(w, node->operands[j], "state"))
                visit(w, node->operands[j]);
    }
    qsort(w->nodes, (size_t)w->n, sizeof *w->nodes, cr_compare_ints);
}

static void write_ids(struct cr_doc *d, const char *key, const int *ids, int n)
{
    cr_doc_begin(d, key, '[');
    for (int i = 0; i < n; i++)
        cr_doc_integer(d, NULL, ids[i]);
    cr_doc_end(d, ']');
}

/* Returns the layer for which a call inside a loop is made; -1 for other calls. */
static int layer_of(const crescent_inspection *in, int call)
{
    crescent_loop loop;
    for (int i = 0; i < crescent_loop_count(in); i++) {
        crescent_loop_at(in, i, &loop);
        if (call >= loop.first && call < loop.first + loop.period * loop.count)
            return loop.start + (call - loop.first) / loop.period * loop.direction;
    }
    return -1;
}

/* Writes one call of a kernel.  A kernel may be called once for each layer. */
static void write_call(struct cr_doc *d, const crescent_explanation *e, struct walk *w, int number)
{
    crescent_call call;
    crescent_call_at(e->inspection, number, &call);
    cr_doc_begin(d, NULL, '{');
    cr_doc_integer(d, "kernel", call.kernel);
    cr_doc_integer(d, "layer", layer_of(e->inspection, number));
    cr_doc_integer(d, "root", call.root);
    cr_doc_integer(d, "main", call.main);
    if (call.buffer != call.root)
        cr_doc_integer(d, "buffer", call.buffer);
    if (call.n_stores > 1)
        write_ids(d, "stores", call.stores, call.n_stores);
    if (call.again)
        cr_doc_flag(d, "again", true);
    find_nodes(w, &call, number);
    write_ids(d, "nodes", w->nodes, w->n);
    write_ids(d, "reads", call.reads, call.n_reads);
    cr_doc_end(d, '}');
}

/* Writes all calls, in the order of a run. */
static void write_calls(struct cr_doc *d, const crescent_explanation *e)
{
    size_t n = (size_t)e->n_nodes;
    struct walk walk = {.graph = e->nodes,
                        .seen = cr_calloc(n, sizeof *walk.seen),
                        .nodes = cr_calloc(n, sizeof *walk.nodes)};
    cr_doc_begin(d, "calls", '[');
    for (int i = 0; i < crescent_call_count(e->inspection); i++)
        write_call(d, e, &walk, i);
    cr_doc_end(d, ']');
    free(walk.seen);
    free(walk.nodes);
}

/* Writes the loops.  A loop makes calls first .. first + period - 1 `count` times, once for each
 * layer. */
static void write_loops(struct cr_doc *d, const crescent_inspection *in)
{
    crescent_loop loop;
    cr_doc_begin(d, "loops", '[');
    for (int i = 0; i < crescent_loop_count(in); i++) {
        crescent_loop_at(in, i, &loop);
        cr_doc_begin(d, NULL, '{');
        cr_doc_integer(d, "first", loop.first);
        cr_doc_integer(d, "period", loop.period);
        cr_doc_integer(d, "count", loop.count);
        cr_doc_integer(d, "start", loop.start);
        cr_doc_integer(d, "direction", loop.direction);
        cr_doc_end(d, '}');
    }
    cr_doc_end(d, ']');
}

/* Writes a kernel, with the operations and bytes of one call. */
static void write_kernel(struct cr_doc *d, const crescent_explanation *e, int i)
{
    crescent_kernel k;
    crescent_kernel_detail detail;
    crescent_inspection_kernel_at(e->inspection, i, &k, &detail);
    cr_doc_begin(d, NULL, '{');
    cr_doc_text(d, "name", k.name);
    cr_doc_text(d, "title", detail.title);
    cr_doc_text(d, "kind", detail.kind);
    cr_doc_text(d, "scope", k.scope);
    cr_doc_text(d, "where", k.where);
    cr_doc_text(d, "about", detail.about);
    cr_doc_integer(d, "first_call", detail.first_call);
    cr_doc_integer(d, "calls", k.calls);
    cr_doc_number(d, "flops", k.flops);
    cr_doc_number(d, "bytes_read", k.bytes_read);
    cr_doc_number(d, "bytes_written", k.bytes_written);
    cr_doc_number(d, "bytes_weights", k.bytes_weights);
    cr_doc_number(d, "bytes_to_l1", k.bytes_to_l1);
    cr_doc_number(d, "bytes_to_l2", k.bytes_to_l2);
    cr_doc_integer(d, "scratch_bytes", detail.scratch_bytes);
    cr_doc_end(d, '}');
}

static void write_kernels(struct cr_doc *d, const crescent_explanation *e)
{
    cr_doc_begin(d, "kernels", '[');
    for (int i = 0; i < e->report.n_kernels; i++)
        write_kernel(d, e, i);
    cr_doc_end(d, ']');
}

/* ---- lines of C ---- */

static void write_text(struct cr_doc *d, const crescent_inspection *in)
{
    size_t length;
    const char *text = crescent_inspection_c(in, &length);
    cr_doc_begin(d, "lines", '[');
    for (size_t at = 0; at < length;) {
        size_t n = strcspn(text + at, "\n");
        cr_doc_bytes(d, NULL, text + at, n);
        at += n + 1;
    }
    cr_doc_end(d, ']');
}

/* Writes the ranges of lines of one kind, each as [first line, last line, number]. */
static void write_lines(struct cr_doc *d, const char *key, const crescent_inspection *in,
                        crescent_lines_kind kind)
{
    crescent_lines lines;
    cr_doc_begin(d, key, '[');
    for (int i = 0; i < crescent_lines_count(in); i++) {
        crescent_lines_at(in, i, &lines);
        if (lines.kind != kind)
            continue;
        cr_doc_begin(d, NULL, '[');
        cr_doc_integer(d, NULL, lines.first);
        cr_doc_integer(d, NULL, lines.last);
        cr_doc_integer(d, NULL, lines.number);
        cr_doc_end(d, ']');
    }
    cr_doc_end(d, ']');
}

static void write_c(struct cr_doc *d, const crescent_inspection *in)
{
    cr_doc_begin(d, "c", '{');
    write_text(d, in);
    write_lines(d, "kernels", in, CRESCENT_LINES_KERNEL);
    write_lines(d, "steps", in, CRESCENT_LINES_CALL);
    write_lines(d, "nodes", in, CRESCENT_LINES_NODE);
    cr_doc_end(d, '}');
}

/* ---- the arena ---- */

/* Writes each value that is stored in the arena as [node, offset, bytes, first call, last call]. */
static void write_arena(struct cr_doc *d, const crescent_inspection *in)
{
    crescent_live_range range;
    cr_doc_begin(d, "arena", '[');
    for (int i = 0; i < crescent_live_range_count(in); i++) {
        crescent_live_range_at(in, i, &range);
        cr_doc_begin(d, NULL, '[');
        cr_doc_integer(d, NULL, range.node);
        cr_doc_integer(d, NULL, range.offset);
        cr_doc_integer(d, NULL, range.bytes);
        cr_doc_integer(d, NULL, range.first_call);
        cr_doc_integer(d, NULL, range.last_call);
        cr_doc_end(d, ']');
    }
    cr_doc_end(d, ']');
}

/* ---- measured errors ---- */

/* Writes the error of each call's result; null for a call whose tensor a later call completes. */
static void write_errors(struct cr_doc *d, const crescent_explanation *e)
{
    if (!e->errors)
        return;
    cr_doc_begin(d, "check", '[');
    for (int i = 0; i < e->report.n_calls; i++) {
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

/* ---- the document and the trace ---- */

void cr_explain_document(struct cr_doc *d, const char *key, const crescent_explanation *e)
{
    cr_doc_begin(d, key, '{');
    write_model(d, e);
    write_totals(d, e);
    cr_explain_graphs(d, e);
    write_kernels(d, e);
    write_calls(d, e);
    write_loops(d, e->inspection);
    write_c(d, e->inspection);
    write_arena(d, e->inspection);
    if (e->measured)
        cr_write_measurement(d, e->measured, crescent_replay_model(e->replay));
    write_errors(d, e);
    cr_doc_end(d, '}');
}

/* Writes the calls of a run as complete events of Chrome's trace format; times are in
 * microseconds. */
void cr_explain_trace(FILE *out, const crescent_explanation *e)
{
    struct cr_doc d = {.out = out};
    cr_doc_begin(&d, NULL, '{');
    cr_doc_text(&d, "displayTimeUnit", "ns");
    cr_doc_begin(&d, "traceEvents", '[');
    for (int i = 0; i < e->report.n_calls; i++) {
        crescent_call call;
        crescent_kernel k;
        crescent_kernel_detail detail;
        crescent_call_at(e->inspection, i, &call);
        crescent_inspection_kernel_at(e->inspection, call.kernel, &k, &detail);
        int layer = layer_of(e->inspection, i);
        const crescent_call_time *time = &e->measured->calls[i];
        double ns = (double)(time->end_ns - time->begin_ns);
        cr_doc_begin(&d, NULL, '{');
        cr_doc_text(&d, "name", k.name);
        cr_doc_text(&d, "cat", detail.kind);
        cr_doc_text(&d, "ph", "X");
        cr_doc_integer(&d, "pid", 1);
        cr_doc_integer(&d, "tid", 1);
        cr_doc_number(&d, "ts", (double)time->begin_ns / 1000);
        cr_doc_number(&d, "dur", ns / 1000);
        cr_doc_begin(&d, "args", '{');
        cr_doc_text(&d, "where", k.where);
        cr_doc_text(&d, "scope", e->nodes[call.root].scope);
        if (layer >= 0)
            cr_doc_integer(&d, "layer", layer);
        cr_doc_number(&d, "gflops", k.flops / ns);
        cr_doc_end(&d, '}');
        cr_doc_end(&d, '}');
    }
    cr_doc_end(&d, ']');
    cr_doc_end(&d, '}');
    fputc('\n', out);
}
