/* explain.c - a compilation whose passes are kept; see crescent.h and docs/explain.md. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/emit.h"
#include "compiler/explain/page.h"
#include "compiler/ir/mem.h"
#include "explanation.h"
#include "targets.h"

/* ---- what the passes leave ---- */

/* The same nodes and outputs, with strings in common, so that nodes can be compared by addresses. */
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

static const struct cr_graph *last_graph(const crescent_explanation *e)
{
    int i = e->n_stages - 1;
    while (i >= 0 && !e->stages[i].graph)
        i--;
    return i >= 0 ? e->stages[i].graph : NULL;
}

/* Whether two graphs have the same nodes with the same operands; kernels do not count. */
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

/* What a module has by then, in numbers. */
static void count_stage(struct cr_stage *s, const struct cr_module *m)
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

/* Time goes on when all is kept: keeping it is no part of the next pass. */
static void keep_stage(crescent_explanation *e, const char *name, const char *doc,
                       const struct cr_module *m)
{
    struct cr_stage stage = {.name = name, .doc = doc, .ns = cr_clock() - e->stage_began};
    const struct cr_graph *last = last_graph(e);
    if (!last || !same_graph(last, m->graph))
        stage.graph = keep_graph(m->graph);
    count_stage(&stage, m);
    *CR_PUSH(e->stages, e->n_stages, e->cap_stages) = stage;
    e->stage_began = cr_clock();
}

static void after_pass(void *context, const struct cr_pass *pass, const struct cr_module *module)
{
    keep_stage(context, pass->name, pass->doc, module);
}

/* ---- compiling ---- */

/* By function the first kernel that has its code: functions are numbered in the order of those. */
static void find_first_kernels(crescent_explanation *e)
{
    int n = 0;
    e->first_kernel = cr_calloc((size_t)e->program->n_functions, sizeof *e->first_kernel);
    for (int i = 0; i < e->module->n_kernels; i++)
        if (e->module->function[i] == i)
            e->first_kernel[n++] = i;
}

/* Runs all passes, and emit, on a copy of the source. */
static int compile(crescent_explanation *e, const crescent_config *c, struct cr_error *error)
{
    struct cr_target target;
    const char *path = e->origin->path;
    const struct cr_use use = cr_use_of(e->source, c->isa, c->threads);
    if (cr_choose_target(e->context, c->target ? c->target : "host", &use, &target, error) ||
        cr_want_weights(e->source, c, path, error))
        return -1;
    const struct cr_pass_options options = {.settings = cr_settings_of(c, path, &target),
                                            .after = after_pass,
                                            .context = e};
    e->module = cr_module_new(cr_graph_copy(e->source));
    e->stage_began = cr_clock();
    keep_stage(e, "script", "the graph as the script built it", e->module);
    if (cr_run_passes(e->module, &options, error))
        return -1;
    e->program = cr_emit_program(e->module);
    struct cr_stage emitted = {.name = "emit",
                               .doc = "the model as C",
                               .kernels = -1,
                               .functions = -1,
                               .loops = -1,
                               .ns = cr_clock() - e->stage_began};
    *CR_PUSH(e->stages, e->n_stages, e->cap_stages) = emitted;
    e->module->settings.target = NULL; /* it was on the stack */
    find_first_kernels(e);
    return 0;
}

/* ---- the handle ---- */

/* Also one that could not be made in full. */
static void close_explanation(crescent_explanation *e)
{
    if (e->model)
        cr_model_release(e->model);
    for (int i = 0; i < e->n_stages; i++)
        cr_graph_free(e->stages[i].graph);
    free(e->stages);
    cr_program_free(e->program);
    cr_module_free(e->module);
    cr_graph_free(e->source);
    cr_config_free(&e->config);
    cr_measurement_free(e->measured);
    free(e->errors);
    free(e->first_kernel);
    cr_origin_release(e->origin);
    cr_release(e->context);
    free(e);
}

/* Interpreted models, and those that are built as files, have no kernels to show. */
static int explain(const crescent_graph *graph, const crescent_config *config,
                   crescent_explanation **explanation, struct cr_error *error)
{
    crescent_config c;
    if (cr_take_config(config, graph->origin->path, &c, error))
        return -1;
    if (c.backend != CRESCENT_TCC && c.backend != CRESCENT_CC)
        return cr_fail(error, "%.400s: backend %s shows no kernels, expected tcc or cc",
                       graph->origin->path, crescent_backend_name(c.backend));
    crescent_explanation *e = cr_calloc(1, sizeof *e);
    e->context = cr_refer(graph->context);
    e->origin = cr_origin_refer(graph->origin);
    e->source = cr_graph_copy(graph->graph);
    e->config = cr_config_copy(&c);
    for (int i = 0; i < cr_n_results(graph->graph); i++)
        e->n_gradients += cr_gradient_of(graph->graph->outputs[i].name) != NULL;
    if (compile(e, &c, error)) {
        close_explanation(e);
        return -1;
    }
    *explanation = e;
    return 0;
}

int crescent_explain(const crescent_graph *graph, const crescent_config *config,
                     crescent_explanation **explanation)
{
    if (explanation)
        *explanation = NULL;
    CR_REQUIRE(graph, explanation);
    CR_ENTER(graph->context);
    return cr_done(&guard, explain(graph, config, explanation, guard.error));
}

void crescent_explanation_close(crescent_explanation *explanation)
{
    if (explanation)
        close_explanation(explanation);
}

/* The source has the formats of the configuration, and is compiled under it a second time. */
int crescent_explanation_model(crescent_explanation *e, crescent_model **model)
{
    if (model)
        *model = NULL;
    CR_REQUIRE(e, model);
    CR_ENTER(e->context);
    int status = 0;
    if (!e->model)
        status = cr_compile_graph(e->context, e->origin, cr_graph_copy(e->source), &e->config,
                                  &e->model, guard.error);
    if (!status)
        e->model->is_part = true;
    *model = e->model;
    return cr_done(&guard, status);
}

/* ---- texts ---- */

/* The document, with the other one beside it under "against". */
static void write_document(FILE *out, const crescent_explanation *e,
                           const crescent_explanation *against)
{
    struct cr_doc d = {.out = out};
    cr_doc_begin(&d, NULL, '{');
    cr_doc_text(&d, "crescent", crescent_version());
    cr_doc_integer(&d, "document", 1);
    cr_explain_document(&d, "compilation", e);
    if (against)
        cr_explain_document(&d, "against", against);
    cr_doc_end(&d, '}');
    fputc('\n', out);
}

/* The document is made as a text first, then put into the page. */
static int write_html(FILE *out, const crescent_explanation *e, const crescent_explanation *against,
                      struct cr_error *error)
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return cr_fail(error, "out of memory");
    write_document(memory, e, against);
    bool written = !ferror(memory);
    if (fclose(memory) != 0 || !written) {
        free(text);
        return cr_fail(error, "out of memory");
    }
    cr_explain_page(out, e->program->name, text, length);
    free(text);
    return 0;
}

static int write_text(FILE *out, const crescent_explanation *e, const crescent_explanation *against,
                      crescent_explanation_format format, struct cr_error *error)
{
    if (format == CRESCENT_EXPLAIN_HTML)
        return write_html(out, e, against, error);
    if (format == CRESCENT_EXPLAIN_JSON)
        write_document(out, e, against);
    else
        cr_explain_trace(out, e);
    return 0;
}

/* Printed into memory, whose end no file need have. */
static int make_text(const crescent_explanation *e, const crescent_explanation *against,
                     crescent_explanation_format format, char **text, size_t *length,
                     struct cr_error *error)
{
    if ((unsigned)format >= CRESCENT_EXPLAIN_FORMATS)
        return cr_fail(error, "%.400s: format %d, expected one of the enum", e->origin->path,
                       (int)format);
    if (format == CRESCENT_EXPLAIN_TRACE && !e->measured)
        return cr_fail(error, "%.400s: a trace of what was not measured", e->origin->path);
    char *memory = NULL;
    FILE *out = open_memstream(&memory, length);
    if (!out)
        return cr_fail(error, "out of memory");
    int status = write_text(out, e, against, format, error);
    bool written = !ferror(out);
    if ((fclose(out) != 0 || !written) && !status)
        status = cr_fail(error, "out of memory");
    if (status)
        free(memory);
    else
        *text = memory;
    return status;
}

int crescent_explanation_text(const crescent_explanation *explanation,
                              const crescent_explanation *against,
                              crescent_explanation_format format, char **text, size_t *length)
{
    CR_REQUIRE(explanation, text && length);
    CR_ENTER(explanation->context);
    return cr_done(&guard, make_text(explanation, against, format, text, length, guard.error));
}
