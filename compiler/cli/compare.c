/* compare.c - crescent compare: compares the outputs of backends with each other and with files. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "expected_taps.h"
#include "model.h"
#include "report.h"
#include "taps.h"
#include "verbs.h"

enum { MAX_BACKENDS = 8 };

/* The outputs of one backend, as doubles and with their original bits. */
struct result {
    crescent_backend backend;
    double **values;
    struct cr_arrays raw;
};

/* The expected values of an output, from a file. */
struct expected {
    const char *file;
    double *values; /* null: nothing is expected */
    struct cr_phrase shape; /* if the tensor of --expect-taps has another shape than the value,
                             * that shape; else "" */
};

struct comparison {
    const struct cr_options *options;
    crescent_tolerance tolerance;
    crescent_backend backends[MAX_BACKENDS];
    int n_backends;
    struct result results[MAX_BACKENDS];
    int n_results;
    crescent_graph *graph; /* the first backend's graph; the graphs of other backends have the
                            * same ports */
    struct cr_arrays inputs; /* the inputs, which are the same for every backend */
    int n_outputs;
    crescent_port *outputs; /* ports of the outputs, with their sizes for these inputs */
    crescent_file *grads;      /* file of the first backend's gradients; it gets its name when all
                                * backends have run */
    struct expected *expected; /* by output: its expected values */
    crescent_surplus surplus;
    struct cr_doc json; /* the output of --json, written row by row */
    int failures;
    bool *failed; /* by output: true if a comparison failed */
};

/* ---- expected files ---- */

/* Allocates doubles for the elements of an output. */
static int new_values(const struct comparison *c, const crescent_port *port, const char *what,
                      double **values, struct cr_error *error)
{
    void *memory;
    int64_t bytes = crescent_port_elements(port) * (int64_t)sizeof(double);
    if (cr_passed(c->options, crescent_memory(c->options->context, bytes, what, &memory), error))
        return -1;
    *values = memory;
    return 0;
}

static int read_expected(struct comparison *c, int output, const char *path, struct cr_error *error)
{
    struct expected *x = &c->expected[output];
    const crescent_port *port = &c->outputs[output];
    x->file = path;
    if (!x->values && new_values(c, port, path, &x->values, error))
        return -1;
    return cr_passed(c->options, crescent_read_npy(c->options->context, path, port, x->values),
                     error);
}

/* Reads the gradients from the file of --expect-grads. */
static int read_gradients(struct comparison *c, const crescent_model *model, struct cr_error *error)
{
    const char *path = c->options->expect_grads;
    if (!path)
        return 0;
    double **values = cr_calloc((size_t)c->n_outputs, sizeof *values);
    int status = 0;
    for (int i = 0; i < c->n_outputs && !status; i++) {
        if (!c->outputs[i].of)
            continue;
        c->expected[i].file = path;
        status = new_values(c, &c->outputs[i], c->outputs[i].of, &c->expected[i].values, error);
        values[i] = c->expected[i].values;
    }
    if (!status)
        status = cr_passed(c->options, crescent_read_gradients(model, path, values), error);
    free(values);
    return status;
}

/* Reads the tensors from the file of --expect-taps. */
static int read_taps(struct comparison *c, struct cr_error *error)
{
    const char *path = c->options->expect_taps;
    crescent_contents *file;
    int status = 0;
    if (!path)
        return 0;
    if (cr_passed(c->options, crescent_contents_open(c->options->context, path, &file), error))
        return -1;
    for (int i = 0; i < c->n_outputs && !status; i++) {
        struct expected *x = &c->expected[i];
        int tensor = cr_find_expected_tap(file, c->outputs[i].name);
        if (tensor == CRESCENT_NONE || x->values)
            continue;
        x->file = path;
        status = new_values(c, &c->outputs[i], path, &x->values, error) ||
                 cr_read_expected_tap(c->options, file, tensor, &c->outputs[i], x->values, &x->shape,
                                      error);
    }
    crescent_contents_close(file);
    return status;
}

static int read_all_expected(struct comparison *c, const crescent_model *model,
                             struct cr_error *error)
{
    const struct cr_pairs *pairs = &c->options->expect;
    for (int i = 0; i < pairs->n; i++) {
        int output = crescent_port_find(model, CRESCENT_OUTPUT, pairs->items[i].key);
        if (read_expected(c, output, pairs->items[i].value, error))
            return -1;
    }
    return read_taps(c, error) ? -1 : read_gradients(c, model, error);
}

/* ---- running the backends ---- */

static bool has_expected(const struct cr_options *o)
{
    return o->expect.n || o->expect_grads || o->expect_taps;
}

/* Parses --backends.  The default is ref,tcc,cc; if files with expected values are given, it is
 * --backend or tcc. */
static int choose_backends(struct comparison *c, struct cr_error *error)
{
    const struct cr_options *o = c->options;
    const char *list = o->backends                     ? o->backends
                       : o->backend || has_expected(o) ? crescent_backend_name(cr_backend_of(o))
                                                       : "ref,tcc,cc";
    char *words = cr_strdup(list), *rest = NULL;
    int status = 0;
    for (char *word = strtok_r(words, ",", &rest); word && !status;
         word = strtok_r(NULL, ",", &rest)) {
        int backend = cr_backend_by_name(word, error);
        if (backend < 0)
            status = -1;
        else if (c->n_backends == MAX_BACKENDS)
            status = cr_fail(error, "--backends %.60s: found too many, expected at most %d", list,
                             MAX_BACKENDS);
        else
            c->backends[c->n_backends++] = (crescent_backend)backend;
    }
    free(words);
    if (!status && !c->n_backends)
        status = cr_fail(error, "--backends '': expected some of tcc, cc, ref, standalone");
    if (!status && c->n_backends < 2 && !has_expected(o))
        status = cr_fail(error, "--backends %.60s: expected two or more, or --expect", list);
    return status;
}

/* Sets the tolerances.  If the user gives any of them, no default applies. */
static void choose_tolerances(struct comparison *c)
{
    const struct cr_options *o = c->options;
    bool given = o->atol >= 0 || o->rtol >= 0 || o->max_ulp >= 0;
    c->tolerance = (crescent_tolerance){
        .atol = o->atol >= 0 ? o->atol
                : given      ? 0
                             : 2e-5,
        .rtol = o->rtol >= 0 ? o->rtol
                : given      ? 0
                             : 1e-5,
        .max_ulp = o->max_ulp,
        .by_size = !given,
    };
}

/* Converts an output to doubles; from the interpreter it copies the doubles. */
static int widen(const struct comparison *c, struct result *r, const crescent_model *model,
                 int output, struct cr_error *error)
{
    const crescent_port *port = &c->outputs[output];
    const crescent_port laid_out = cr_port_of(model, CRESCENT_OUTPUT, output);
    const double *exact = crescent_exact_output(model, output);
    const void *raw = r->raw.data[output];
    if (new_values(c, port, port->name, &r->values[output], error))
        return -1;
    cr_pack_output(model, output, &c->inputs, sizeof(float), r->raw.data[output]);
    if (exact)
        crescent_pack(&laid_out, port, sizeof(double), exact, r->values[output]);
    for (int64_t i = 0; !exact && i < crescent_port_elements(port); i++)
        r->values[output][i] = port->type == CRESCENT_I32 ? (double)((const int32_t *)raw)[i]
                                                          : (double)((const float *)raw)[i];
    return 0;
}

/* Copies the ports of the first backend's model, and reads the files of expected values before
 * that model runs. */
static int adopt_outputs(struct comparison *c, const crescent_model *model, struct cr_error *error)
{
    c->n_outputs = crescent_port_count(model, CRESCENT_OUTPUT);
    c->outputs = cr_calloc((size_t)c->n_outputs, sizeof *c->outputs);
    c->expected = cr_calloc((size_t)c->n_outputs, sizeof *c->expected);
    c->failed = cr_calloc((size_t)c->n_outputs, sizeof *c->failed);
    if (cr_arrays_inputs(&c->inputs, model, c->options, error))
        return -1;
    for (int i = 0; i < c->n_outputs; i++) {
        crescent_port port = cr_sized_port(model, CRESCENT_OUTPUT, i, &c->inputs);
        crescent_graph_port_at(c->graph, CRESCENT_OUTPUT, i, &c->outputs[i]);
        memcpy(c->outputs[i].shape, port.shape, sizeof port.shape);
    }
    return read_all_expected(c, model, error);
}

/* Writes the first backend's gradients to a temporary file, which gets its name when all backends
 * have run. With several ranks, the first rank writes. */
static int put_gradients(struct comparison *c, const crescent_model *model, const struct result *r,
                         struct cr_error *error)
{
    const struct cr_options *o = c->options;
    const char *path = cr_grads_file(o);
    if (!path || c->n_results > 1 || crescent_ranks_of(o->context).rank)
        return 0;
    int status = crescent_file_open(o->context, path, &c->grads) ||
                 crescent_put_gradients(model, r->raw.data, c->grads) ||
                 crescent_file_finish(c->grads);
    return cr_passed(o, status, error);
}

/* Runs a model; keeps its outputs, also as doubles. */
static int run_model(struct comparison *c, struct result *r, crescent_model *model,
                     struct cr_error *error)
{
    const struct cr_options *o = c->options;
    int status = cr_arrays_new(&r->raw, model, CRESCENT_OUTPUT, o, error) ||
                 cr_fill_params(model, o, &c->surplus, error);
    if (!status)
        status = cr_passed(
            o, crescent_run(model, (const void *const *)c->inputs.data, r->raw.data), error);
    r->values = cr_calloc((size_t)c->n_outputs, sizeof *r->values);
    for (int i = 0; i < c->n_outputs && !status; i++)
        status = widen(c, r, model, i, error);
    return status ? status : put_gradients(c, model, r, error);
}

/* Compiles and runs one backend, then closes everything but its outputs.  The first backend's
 * graph stays open, since its ports are needed. */
static int run_backend(struct comparison *c, crescent_backend backend, struct cr_error *error)
{
    const struct cr_options *o = c->options;
    const crescent_config config = cr_config_of(o, backend);
    struct result *r = &c->results[c->n_results];
    crescent_graph *graph;
    crescent_model *model;
    if (cr_graph_load_entries(o, &graph, error))
        return -1;
    int status = cr_passed(o, crescent_compile(graph, &config, &model), error);
    if (!status && c->n_results == 0) {
        c->graph = graph;
        graph = NULL;
        status = adopt_outputs(c, model, error);
    }
    crescent_graph_close(graph);
    c->n_results += model != NULL;
    r->backend = backend;
    if (!status)
        status = run_model(c, r, model, error);
    crescent_close(model);
    return status;
}

/* ---- the table ---- */

/* Returns the last component of a path, which is enough for the table. */
static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns the width of the column of names: the length of the longest name; with --expect-taps,
 * of the longest name that is compared. */
static int width_of(const struct comparison *c)
{
    int width = 20;
    for (int i = 0; c->options->expect_taps && i < c->n_outputs; i++)
        if (c->expected[i].values && (int)strlen(c->outputs[i].name) > width)
            width = (int)strlen(c->outputs[i].name);
    return width;
}

static void print_head(struct comparison *c)
{
    if (c->options->json) {
        c->json = cr_json_begin();
        cr_doc_text(&c->json, "model", crescent_graph_name(c->graph));
        cr_doc_begin(&c->json, "rows", '[');
        return;
    }
    printf("%-*s %-8s %-16s %10s %10s %10s  %-7s worst at\n", width_of(c), "output", "backend", "against",
           "max abs", "max rel", "max ulp", "verdict");
}

/* Formats the error in ulps for the table: relative to each element if --max-ulp is given, else
 * relative to the tensor's largest magnitude. */
static struct cr_phrase ulps_of(const struct comparison *c, const crescent_difference *d)
{
    struct cr_phrase out;
    if (!isfinite(d->max_ulp))
        snprintf(out.text, sizeof out.text, "-");
    else if (c->tolerance.max_ulp >= 0)
        snprintf(out.text, sizeof out.text, "%" PRId64, d->max_ulp_each);
    else
        snprintf(out.text, sizeof out.text, d->max_ulp < 1e7 ? "%.1f" : "%.3g", d->max_ulp);
    return out;
}

/* Writes a row as JSON; NaN and infinities are null. */
static void write_row(struct cr_doc *j, const crescent_port *port, const char *backend,
                      const char *against, const crescent_difference *d)
{
    cr_doc_begin(j, NULL, '{');
    cr_doc_text(j, "output", port->name);
    cr_doc_text(j, "backend", backend);
    cr_doc_text(j, "against", against);
    cr_doc_number(j, "max_abs", d->max_abs);
    cr_doc_number(j, "max_rel", d->max_rel);
    cr_doc_number(j, "max_ulp", d->max_ulp);
    if (d->max_ulp_each != INT64_MAX)
        cr_doc_integer(j, "max_ulp_each", d->max_ulp_each);
    else
        cr_doc_text(j, "max_ulp_each", NULL);
    cr_json_worst_at(j, port, d->worst);
    cr_doc_number(j, "got", d->got);
    cr_doc_number(j, "expected", d->want);
    cr_doc_integer(j, "failing", d->failures);
    cr_doc_integer(j, "nan_against_number", d->nans);
    cr_doc_flag(j, "ok", d->failures == 0);
    cr_doc_end(j, '}');
}

/* Counts a comparison that failed, and prints its row. */
static void print_row(struct comparison *c, int output, const char *backend, const char *against,
                      const crescent_difference *d)
{
    const crescent_port *port = &c->outputs[output];
    c->failures += d->failures > 0;
    c->failed[output] |= d->failures > 0;
    if (c->options->json) {
        write_row(&c->json, port, backend, against, d);
        return;
    }
    cr_print(stdout, "%-*s %-8s %-16s %10.3g %10.3g %10s  %-7s %s %.9g, expected %.9g", width_of(c),
             port->name,
             backend, last_name(against), d->max_abs, d->max_rel, ulps_of(c, d).text,
             d->failures ? "FAIL" : "ok", cr_coordinates(port, d->worst).text, d->got, d->want);
    if (d->failures)
        printf(" (%s elements fail", cr_thousands(d->failures).text);
    if (d->nans)
        printf(", %s of them NaN against a number", cr_thousands(d->nans).text);
    puts(d->failures ? ")" : "");
}

static void write_other_shape(struct cr_doc *d, const crescent_port *port, const struct expected *x)
{
    cr_doc_begin(d, NULL, '{');
    cr_doc_text(d, "output", port->name);
    cr_doc_text(d, "against", x->file);
    cr_doc_text(d, "shape", x->shape.text);
    cr_doc_text(d, "expected_shape", cr_port_shape(port).text);
    cr_doc_flag(d, "ok", false);
    cr_doc_end(d, '}');
}

/* Prints the row of a tensor whose shape differs from the output's, which counts as a failure. */
static void print_other_shape(struct comparison *c, int output)
{
    const struct expected *x = &c->expected[output];
    const crescent_port *port = &c->outputs[output];
    c->failures++;
    c->failed[output] = true;
    if (c->options->json)
        write_other_shape(&c->json, port, x);
    else
        cr_print(stdout, "%-*s %-8s %-16s %-32s  FAIL    shape %s, expected %s\n", width_of(c), port->name,
                 "", last_name(x->file), "", x->shape.text, cr_port_shape(port).text);
}

/* Prints the rows of one output: each backend compared with the file or, without a file, with the
 * first backend. */
static void compare_output(struct comparison *c, int output)
{
    int64_t n = crescent_port_elements(&c->outputs[output]);
    const struct expected *x = &c->expected[output];
    if (x->shape.text[0]) {
        print_other_shape(c, output);
        return;
    }
    for (int i = x->values ? 0 : 1; i < c->n_results; i++) {
        const double *want = x->values ? x->values : c->results[0].values[output];
        const char *against = x->values ? x->file : crescent_backend_name(c->results[0].backend);
        crescent_difference d;
        crescent_compare(c->results[i].values[output], want, n, &c->tolerance, &d);
        print_row(c, output, crescent_backend_name(c->results[i].backend), against, &d);
    }
}

static const struct result *result_of(const struct comparison *c, crescent_backend backend)
{
    for (int i = 0; i < c->n_results; i++)
        if (c->results[i].backend == backend)
            return &c->results[i];
    return NULL;
}

static void write_bits(struct cr_doc *d, const char *output, bool same)
{
    cr_doc_begin(d, NULL, '{');
    cr_doc_text(d, "output", output);
    cr_doc_text(d, "backend", "tcc");
    cr_doc_text(d, "against", "cc");
    cr_doc_flag(d, "same_bits", same);
    cr_doc_flag(d, "ok", same);
    cr_doc_end(d, '}');
}

/* Checks that TinyCC and the system's compiler computed the same bits. */
static void compare_bits(struct comparison *c)
{
    const struct result *tcc = result_of(c, CRESCENT_TCC), *cc = result_of(c, CRESCENT_CC);
    for (int i = 0; tcc && cc && i < c->n_outputs; i++) {
        int64_t n = crescent_port_elements(&c->outputs[i]);
        const void *a = tcc->raw.data[i], *b = cc->raw.data[i];
        bool same = c->outputs[i].type == CRESCENT_I32
                        ? memcmp(a, b, (size_t)n * sizeof(int32_t)) == 0
                        : crescent_same_bits(a, b, n);
        c->failures += !same;
        if (c->options->json)
            write_bits(&c->json, c->outputs[i].name, same);
        else
            printf("%-20s %-8s %-16s %s\n", c->outputs[i].name, "tcc", "cc, bit by bit",
                   same ? "the same bits  ok" : "different bits  FAIL");
    }
}

/* Returns the first value, in the order of the graph, that differs from the tensor of
 * --expect-taps; null if none does. */
static const char *first_to_differ(const struct comparison *c)
{
    const char *name;
    for (int t = 0; c->options->expect_taps && (name = crescent_graph_tap_at(c->graph, t)); t++)
        for (int i = 0; i < c->n_outputs; i++)
            if (c->failed[i] && strcmp(c->outputs[i].name, name) == 0)
                return c->outputs[i].name;
    return NULL;
}

static void write_end(struct comparison *c, const char *first)
{
    struct cr_doc *d = &c->json;
    cr_doc_end(d, ']');
    cr_doc_number(d, "atol", c->tolerance.atol);
    cr_doc_number(d, "rtol", c->tolerance.rtol);
    cr_doc_flag(d, "ok", c->failures == 0);
    if (c->options->expect_taps)
        cr_doc_text(d, "first", first);
    cr_json_end(d);
}

/* Prints the overall verdict. */
static void print_end(struct comparison *c)
{
    const struct cr_options *o = c->options;
    const char *first = first_to_differ(c);
    if (o->json) {
        write_end(c, first);
        return;
    }
    if (first)
        cr_print(stdout, "%s is the first that differs\n", first);
    printf("%s (atol %g, rtol %g", c->failures ? "MISMATCH" : "agreement", c->tolerance.atol,
           c->tolerance.rtol);
    if (o->max_ulp >= 0)
        printf(", at most %" PRId64 " ulp", o->max_ulp);
    puts(")");
}

/* ---- the verb ---- */

/* Runs all backends and compares them.  Names files and prints rows only after every backend has
 * run. */
static int run(struct comparison *c, struct cr_error *error)
{
    if (choose_backends(c, error))
        return 2;
    choose_tolerances(c);
    for (int i = 0; i < c->n_backends; i++)
        if (run_backend(c, c->backends[i], error))
            return 2;
    if (c->grads && cr_passed(c->options, crescent_file_commit(c->grads), error))
        return 2;
    print_head(c);
    for (int i = 0; i < c->n_outputs; i++)
        compare_output(c, i);
    compare_bits(c);
    print_end(c);
    cr_note_surplus(&c->surplus);
    return c->failures ? 1 : 0;
}

/* Frees the results, also after a failure. */
static void free_results(struct comparison *c)
{
    for (int i = 0; i < c->n_results; i++) {
        for (int j = 0; c->results[i].values && j < c->n_outputs; j++)
            crescent_free(c->results[i].values[j]);
        free(c->results[i].values);
        cr_arrays_free(&c->results[i].raw);
    }
    cr_arrays_free(&c->inputs);
    for (int i = 0; i < c->n_outputs; i++)
        crescent_free(c->expected[i].values);
    free(c->outputs);
    free(c->expected);
    free(c->failed);
}

int cr_verb_compare(const struct cr_options *options, struct cr_error *error)
{
    if (options->taps)
        return cr_compare_taps(options, error);
    struct comparison c = {.options = options};
    int status = run(&c, error);
    free_results(&c);
    crescent_file_close(c.grads);
    crescent_graph_close(c.graph);
    return status;
}
