/* emit.c - crescent emit: standalone C. */
#include <string.h>

#include "compiler/ir/escape.h"
#include "model.h"
#include "report.h"
#include "verbs.h"

/* Writes both files, and says what is in them. */
static int emit(const crescent_graph *graph, const struct cr_options *o, struct cr_error *error)
{
    const crescent_config config = cr_config_of(o, CRESCENT_TCC);
    const char *path = o->out;
    int stem = (int)strlen(path) - 2;
    crescent_report r;
    if (cr_passed(o,
                  crescent_emit(graph, &config, o->train ? CRESCENT_EMIT_STEP : CRESCENT_EMIT_RUN,
                                path, &r),
                  error))
        return 2;
    cr_print(stdout, "Wrote %s and %.*s.h: %s, %d ops in %d kernel%s, %s parameters\n", path, stem,
             path, r.name, r.ops, r.n_kernels, r.n_kernels == 1 ? "" : "s",
             cr_thousands(cr_count_parameters(graph)).text);
    return 0;
}

/* What is wrong with the options is said before the script runs. */
int cr_verb_emit(const struct cr_options *o, struct cr_error *error)
{
    crescent_graph *graph;
    size_t length = o->out ? strlen(o->out) : 0;
    if (!o->out)
        return cr_fail(error, "%.400s: no -o, expected -o FILE.c", o->model), 2;
    if (length < 3 || strcmp(o->out + length - 2, ".c") != 0 || o->out[length - 3] == '/')
        return cr_fail(error, "-o %.400s: expected a name that ends in .c", o->out), 2;
    if (o->train && o->grads)
        return cr_fail(error, "--grads %.300s: a step has its own gradients, expected no --train",
                       o->grads),
               2;
    if (cr_grads_check_no_file(o, "emit", error) || cr_graph_load_entries(o, &graph, error))
        return 2;
    int status = emit(graph, o, error);
    crescent_graph_close(graph);
    return status;
}
