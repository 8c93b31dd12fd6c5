/* explain.c - makes texts that explain how a model was compiled; see crescent.h and
 * docs/explain.md. */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "compiler/ir/mem.h"
#include "explanation.h"
#include "page.h"

/* ---- the handle ---- */

/* Frees an explanation; also one that was opened only halfway. */
void crescent_explanation_close(crescent_explanation *e)
{
    if (!e)
        return;
    crescent_replay_close(e->replay);
    crescent_inspection_close(e->inspection);
    crescent_graph_close(e->graph);
    cr_measurement_free(e->measured);
    free(e->nodes);
    free(e->errors);
    free(e);
}

/* Copies and inspects the graph.  The copy, from which the model is compiled, keeps the context
 * alive. */
static int open_explanation(crescent_explanation *e, const crescent_graph *graph,
                            const crescent_config *config)
{
    int status = crescent_graph_copy(graph, &e->graph);
    if (!status)
        status = crescent_inspect(e->graph, config, &e->inspection);
    if (status)
        return status;
    crescent_inspection_config(e->inspection, &e->config);
    crescent_inspection_report(e->inspection, &e->report);
    crescent_stage last;
    crescent_stage_at(e->inspection, crescent_stage_count(e->inspection) - 1, &last);
    e->n_graphs = last.graph + 1;
    e->nodes = cr_nodes_of(e->inspection, last.graph, &e->n_nodes);
    return CRESCENT_OK;
}

/* Makes an explanation.  It owns the inspection, from which the texts are made on request. */
int crescent_explain(const crescent_graph *graph, const crescent_config *config,
                     crescent_explanation **explanation)
{
    if (explanation)
        *explanation = NULL;
    crescent_context *context = crescent_graph_context(graph);
    CR_CLIENT_REQUIRE(context, graph && explanation);
    CR_CLIENT_ENTER(context);
    crescent_explanation *e = cr_calloc(1, sizeof *e);
    e->context = context;
    int status = open_explanation(e, graph, config);
    if (status)
        crescent_explanation_close(e);
    else
        *explanation = e;
    return status;
}

/* Returns the explanation's model.  The first call compiles the graph again. */
int crescent_explanation_model(crescent_explanation *e, crescent_model **model)
{
    if (model)
        *model = NULL;
    CR_CLIENT_REQUIRE(e ? e->context : NULL, e && model);
    int status = e->replay ? CRESCENT_OK : crescent_replay_open(e->graph, &e->config, &e->replay);
    *model = crescent_replay_model(e->replay);
    return status;
}

/* ---- texts ---- */

/* Writes the document; if `against` is not null, with its document as the member "against". */
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

/* Writes the HTML page with the document inside. */
static int write_html(FILE *out, const crescent_explanation *e, const crescent_explanation *against)
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return cr_client_fail(e->context, "out of memory");
    write_document(memory, e, against);
    bool written = !ferror(memory);
    if (fclose(memory) != 0 || !written) {
        free(text);
        return cr_client_fail(e->context, "out of memory");
    }
    cr_explain_page(out, e->report.name, text, length);
    free(text);
    return 0;
}

static int write_text(FILE *out, const crescent_explanation *e, const crescent_explanation *against,
                      crescent_explanation_format format)
{
    if (format == CRESCENT_EXPLAIN_HTML)
        return write_html(out, e, against);
    if (format == CRESCENT_EXPLAIN_JSON)
        write_document(out, e, against);
    else
        cr_explain_trace(out, e);
    return 0;
}

/* Writes one format of the explanation to memory. */
static int make_text(const crescent_explanation *e, const crescent_explanation *against,
                     crescent_explanation_format format, char **text, size_t *length)
{
    if ((unsigned)format >= CRESCENT_EXPLAIN_FORMATS)
        return cr_client_fail(e->context, "%.400s: found format %d, expected one of "
                              "crescent_explanation_format", crescent_graph_script(e->graph),
                              (int)format);
    if (format == CRESCENT_EXPLAIN_TRACE && !e->measured)
        return cr_client_fail(e->context, "%.400s: found a trace without a measurement, expected "
                              "a measurement before it", crescent_graph_script(e->graph));
    char *memory = NULL;
    FILE *out = open_memstream(&memory, length);
    if (!out)
        return cr_client_fail(e->context, "out of memory");
    int status = write_text(out, e, against, format);
    bool written = !ferror(out);
    if ((fclose(out) != 0 || !written) && !status)
        status = cr_client_fail(e->context, "out of memory");
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
    CR_CLIENT_REQUIRE(explanation ? explanation->context : NULL, explanation && text && length);
    CR_CLIENT_ENTER(explanation->context);
    return make_text(explanation, against, format, text, length);
}
