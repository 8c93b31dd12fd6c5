/* explain.c - crescent explain: writes a page that shows how a model was compiled. */
#include <string.h>

#include "bench_case.h"
#include "compiler/ir/escape.h"
#include "model.h"
#include "outfiles.h"
#include "report.h"
#include "verbs.h"

/* ---- one compilation ---- */

/* The inputs and outputs of a run. */
struct tensors {
    struct cr_arrays inputs, outputs;
    crescent_surplus surplus;
};

static int fill(struct tensors *t, crescent_model *model, const struct cr_options *o,
                struct cr_error *error)
{
    if (o->check && cr_passed(o, crescent_keep_weights(model), error))
        return -1;
    return cr_fill_params(model, o, &t->surplus, error) ||
                   cr_arrays_inputs(&t->inputs, model, o, error) ||
                   cr_arrays_new(&t->outputs, model, CRESCENT_OUTPUT, o, error)
               ? -1
               : 0;
}

/* Checks and measures the model as --check and --bench request; the check comes first, since it
 * needs the initial states. */
static int measure(crescent_explanation *e, const struct cr_options *o, struct cr_error *error)
{
    struct tensors t = {0};
    crescent_model *model;
    if (!o->check && !o->bench && !o->trace)
        return 0;
    if (cr_passed(o, crescent_explanation_model(e, &model), error))
        return -1;
    int status = fill(&t, model, o, error);
    const void *const *inputs = (const void *const *)t.inputs.data;
    if (!status && o->check)
        status = cr_passed(o, crescent_explanation_check(e, inputs, t.outputs.data), error);
    if (!status && (o->bench || o->trace))
        status = cr_passed(o, crescent_explanation_measure(e, inputs, t.outputs.data, o->seconds),
                           error);
    cr_arrays_free(&t.inputs);
    cr_arrays_free(&t.outputs);
    if (!status)
        cr_note_surplus(&t.surplus);
    return status;
}

static int explain(const struct cr_options *o, crescent_explanation **explanation,
                   struct cr_error *error)
{
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    crescent_graph *graph;
    *explanation = NULL;
    if (cr_graph_load_entries(o, &graph, error))
        return -1;
    int status = cr_passed(o, crescent_explain(graph, &config, explanation), error);
    crescent_graph_close(graph);
    return status ? status : measure(*explanation, o, error);
}

/* Compiles and explains the model changed by --against; sets *other to null without that option. */
static int explain_other(const struct cr_options *options, crescent_explanation **other,
                         struct cr_error *error)
{
    *other = NULL;
    if (!options->against)
        return 0;
    struct cr_options o = cr_options_copy(options);
    int status = cr_apply_variant(&o, "--against", options->against, error);
    if (!status)
        status = explain(&o, other, error);
    cr_options_free(&o);
    return status;
}

/* ---- files ---- */

/* Writes a text to a file, atomically; does nothing if `path` is null. */
static int write_file(const struct cr_options *o, const char *path, const char *text, size_t length,
                      struct cr_error *error)
{
    crescent_file *file;
    if (cr_passed(o, crescent_file_open(o->context, path, &file), error))
        return -1;
    int status = crescent_file_put(file, text, length) || crescent_file_finish(file) ||
                 crescent_file_commit(file);
    cr_passed(o, status, error);
    crescent_file_close(file);
    return status;
}

/* Writes one format of the explanation to a file, or to standard output if the path is null. */
static int write_text(const struct cr_options *o, const crescent_explanation *e,
                      const crescent_explanation *other, crescent_explanation_format format,
                      const char *path, struct cr_error *error)
{
    char *text;
    size_t length;
    if (cr_passed(o, crescent_explanation_text(e, other, format, &text, &length), error))
        return -1;
    int status = 0;
    if (path)
        status = write_file(o, path, text, length, error);
    else
        fwrite(text, 1, length, stdout);
    crescent_free(text);
    if (!status && path && !o->json)
        cr_print(stdout, "Wrote %s: %s bytes\n", path, cr_thousands((int64_t)length).text);
    return status;
}

static int write_all(const struct cr_options *o, const crescent_explanation *e,
                     const crescent_explanation *other, struct cr_error *error)
{
    if (o->out && write_text(o, e, other, CRESCENT_EXPLAIN_HTML, o->out, error))
        return -1;
    if (o->trace && write_text(o, e, NULL, CRESCENT_EXPLAIN_TRACE, o->trace, error))
        return -1;
    return o->json ? write_text(o, e, other, CRESCENT_EXPLAIN_JSON, NULL, error) : 0;
}

/* ---- the verb ---- */

/* Checks the options before it runs the script. */
int cr_verb_explain(const struct cr_options *o, struct cr_error *error)
{
    const struct cr_named_file files[] = {{"--out", o->out, true, 0},
                                          {"--trace", o->trace, true, 0},
                                          {"the model", o->model, false, 0}};
    crescent_explanation *e = NULL, *other = NULL;
    if (!o->out && !o->json && !o->trace)
        return cr_fail(error, "%.400s: no -o, expected -o REPORT.html, --json or --trace",
                       o->model),
               2;
    if (cr_grads_check_no_file(o, "explain", error) ||
        cr_check_files(o, files, sizeof files / sizeof *files, error))
        return 2;
    int status =
        explain(o, &e, error) || explain_other(o, &other, error) || write_all(o, e, other, error);
    crescent_explanation_close(other);
    crescent_explanation_close(e);
    return status ? 2 : 0;
}
