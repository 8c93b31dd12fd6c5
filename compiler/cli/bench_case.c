/* bench_case.c - compiles and runs a model under one setting; see bench_case.h. */
#include "bench_case.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

enum { COMPILATIONS = 5 };

/* ---- settings ---- */

/* True if a script declares an option of that name. */
static bool declares(const crescent_graph *graph, const char *name)
{
    crescent_setting option;
    for (int i = 0; i < crescent_graph_option_count(graph); i++)
        if (!crescent_graph_option_at(graph, i, &option) && strcmp(option.key, name) == 0)
            return true;
    return false;
}

/* Changes the model to another script.  Keeps the settings that the script declares as options,
 * and drops input files and lengths. */
static int change_model(struct cr_options *o, const char *path, struct cr_error *error)
{
    struct cr_options plain = {.context = o->context, .model = path};
    crescent_graph *graph;
    int n = 0;
    o->model = path;
    o->weights.n = 0;
    for (; o->input.n > 0; o->input.n--)
        free((char *)o->input.items[o->input.n - 1].key);
    for (; o->length.n > 0; o->length.n--)
        free((char *)o->length.items[o->length.n - 1].key);
    if (cr_graph_load_entries(&plain, &graph, error))
        return -1;
    for (int i = 0; i < o->set.n; i++) {
        if (declares(graph, o->set.items[i].key))
            o->set.items[n++] = o->set.items[i];
        else
            free((char *)o->set.items[i].key);
    }
    o->set.n = n;
    crescent_graph_close(graph);
    return 0;
}

int cr_apply_variant(struct cr_options *o, const char *asked, const char *setting, struct cr_error *error)
{
    size_t length = strlen(setting);
    const char *equals = strchr(setting, '=');
    if (length > 4 && strcmp(setting + length - 4, ".lua") == 0 && !equals)
        return change_model(o, setting, error);
    if (!equals)
        return cr_options_set(o, asked, strcmp(setting, "standalone") == 0 ? "backend" : setting, setting,
                              error);
    char *name = cr_strdup(setting);
    name[equals - setting] = '\0';
    int status = cr_options_set(o, asked, name, equals + 1, error);
    free(name);
    return status;
}

/* ---- compiling ---- */

/* Closes the model, if it is open, and compiles it again; adds the time of each stage to the
 * samples. */
static int open_once(struct cr_bench_case *s, struct cr_error *error)
{
    const struct cr_options *o = &s->options;
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    crescent_graph *graph;
    crescent_close(s->model);
    s->model = NULL;
    if (cr_graph_load(o, &graph, error))
        return -1;
    cr_sample_add(&s->script, (double)crescent_graph_time(graph));
    int status = cr_passed(o, crescent_compile(graph, &config, &s->model), error);
    crescent_graph_close(graph);
    if (status)
        return -1;
    s->report = cr_report_of_model(s->model);
    cr_sample_add(&s->passes, (double)s->report.passes_ns);
    cr_sample_add(&s->emit, (double)s->report.emit_ns);
    cr_sample_add(&s->compile, (double)s->report.compile_ns);
    return 0;
}

/* Compiles several times if that is quick, so that the samples have medians. */
int cr_bench_case_open(struct cr_bench_case *s, const struct cr_options *options, const char *setting,
                    struct cr_error *error)
{
    *s = (struct cr_bench_case){.setting = setting, .options = cr_options_copy(options)};
    if (setting && cr_apply_variant(&s->options, "--vs", setting, error))
        return -1;
    int n = cr_backend_of(&s->options) == CRESCENT_TCC ? COMPILATIONS : 1, status = 0;
    for (int i = 0; i < n && !status; i++)
        status = open_once(s, error);
    return status;
}

int cr_bench_case_fill(struct cr_bench_case *s, struct cr_error *error)
{
    if (cr_fill_params(s->model, &s->options, &s->surplus, error) ||
        cr_arrays_inputs(&s->inputs, s->model, &s->options, error))
        return -1;
    return cr_arrays_new(&s->outputs, s->model, CRESCENT_OUTPUT, &s->options, error);
}

/* ---- measuring ---- */

bool cr_bench_case_reset(const struct cr_bench_case *s)
{
    return crescent_port_count(s->model, CRESCENT_STATE) &&
           crescent_reset_states(s->model) == CRESCENT_OK;
}

int cr_bench_case_run(struct cr_bench_case *s, struct cr_error *error)
{
    const void *const *inputs = (const void *const *)s->inputs.data;
    int status = crescent_run(s->model, inputs, s->outputs.data);
    if (status && cr_bench_case_reset(s))
        status = crescent_run(s->model, inputs, s->outputs.data);
    return cr_passed(&s->options, status, error);
}

bool cr_continues(const struct cr_options *o, bool more)
{
    crescent_ranks_share(o->context, &more, sizeof more);
    return more;
}

int cr_bench_case_round(struct cr_bench_case *s, int64_t nanoseconds, struct cr_error *error)
{
    struct cr_sample round = {0};
    int64_t now, start;
    if (cr_bench_case_run(s, error))
        return -1;
    int64_t end = crescent_clock() + nanoseconds;
    do {
        start = crescent_clock();
        if (cr_bench_case_run(s, error)) {
            cr_sample_free(&round);
            return -1;
        }
        now = crescent_clock();
        cr_sample_add(&round, (double)(now - start));
        cr_sample_add(&s->runs, (double)(now - start));
    } while (cr_continues(&s->options, now < end));
    s->round_ns = cr_sample_median(&round);
    cr_sample_free(&round);
    return 0;
}

void cr_bench_case_close(struct cr_bench_case *s)
{
    cr_arrays_free(&s->inputs);
    cr_arrays_free(&s->outputs);
    crescent_close(s->model);
    struct cr_sample *samples[] = {&s->script,  &s->passes, &s->emit,
                                   &s->compile, &s->runs,   &s->ratios};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        cr_sample_free(samples[i]);
    cr_options_free(&s->options);
    *s = (struct cr_bench_case){0};
}
