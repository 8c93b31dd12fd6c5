/* compare.c - crescent compare: backends against each other and against files. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/tensor_memory.h"
#include "compiler/files/npy.h"
#include "compiler/files/safetensors.h"
#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "difference.h"
#include "grads.h"
#include "report.h"

enum { MAX_BACKENDS = 8 };

/* The outputs of one backend, as doubles and as the bits that came out. */
struct result {
    enum cr_backend backend;
    double **values;
    struct cr_arrays raw;
};

/* A file --expect gives for an output. */
struct expected {
    const char *file;
    double *values; /* null: none */
};

struct comparison {
    const struct cr_options *options;
    struct cr_tolerance tolerance;
    enum cr_backend backends[MAX_BACKENDS];
    int n_backends;
    struct result results[MAX_BACKENDS];
    int n_results;
    char *name;
    struct cr_port *outputs; /* copies of the first engine's */
    int n_outputs;
    struct expected *expected; /* by output */
    struct cr_surplus surplus;
    json_t *rows;
    int failures;
};

/* ---- expected files ---- */

static int read_expected(const struct cr_port *port, struct expected *x, struct cr_error *error)
{
    struct cr_npy file;
    int status = 0;
    if (cr_npy_open(&file, x->file, error->text, sizeof error->text))
        return -1;
    free(x->values);
    x->values = NULL;
    struct cr_port found = {.rank = file.rank < CR_MAX_RANK ? file.rank : CR_MAX_RANK};
    memcpy(found.shape, file.shape, (size_t)found.rank * sizeof *found.shape);
    if (file.rank != port->rank ||
        memcmp(file.shape, port->shape, (size_t)port->rank * sizeof *port->shape) != 0)
        status = cr_fail(error, "%.400s: shape %s, expected %s for %.100s", x->file,
                         cr_port_shape(&found).text, cr_port_shape(port).text, port->name);
    else if (!(x->values = cr_memory_new(file.elements * (int64_t)sizeof(double), x->file, error)))
        status = -1;
    else
        cr_npy_read_f64(&file, x->values);
    cr_npy_close(&file);
    return status;
}

/* The gradient that a port is, from the file of --expect-grads. */
static int read_gradient(const struct cr_safetensors *file, const struct cr_port *port,
                         struct expected *x, struct cr_error *error)
{
    const char *name = cr_gradient_of(port->name);
    const struct cr_st_tensor *tensor = cr_safetensors_find(file, name);
    int64_t n = cr_port_elements(port), bytes = n * (int64_t)sizeof(double);
    if (!tensor)
        return cr_fail(error, "%.400s: no tensor '%.200s', expected its gradient", file->path,
                       name);
    if (tensor->rank != port->rank ||
        memcmp(tensor->shape, port->shape, (size_t)port->rank * sizeof *port->shape) != 0)
        return cr_fail(error, "%.400s: %.200s has another shape, expected %s", file->path, name,
                       cr_port_shape(port).text);
    float *floats = cr_memory_new(n * (int64_t)sizeof *floats, name, error);
    x->values = floats ? cr_memory_new(bytes, name, error) : NULL;
    int status =
        x->values ? cr_safetensors_read(file, tensor, floats, error->text, sizeof error->text) : -1;
    for (int64_t i = 0; !status && i < n; i++)
        x->values[i] = (double)floats[i];
    free(floats);
    return status;
}

static int read_gradients(struct comparison *c, struct cr_error *error)
{
    struct cr_safetensors file;
    const char *path = c->options->expect_grads;
    int status = 0;
    if (!path)
        return 0;
    if (cr_safetensors_open(&file, path, error->text, sizeof error->text))
        return -1;
    for (int i = 0; i < c->n_outputs && !status; i++)
        if (cr_gradient_of(c->outputs[i].name)) {
            c->expected[i].file = path;
            status = read_gradient(&file, &c->outputs[i], &c->expected[i], error);
        }
    cr_safetensors_close(&file);
    return status;
}

static int read_all_expected(struct comparison *c, struct cr_error *error)
{
    const struct cr_pairs *pairs = &c->options->expect;
    for (int i = 0; i < pairs->n; i++) {
        int port = cr_port_find(c->outputs, c->n_outputs, pairs->items[i].key);
        c->expected[port].file = pairs->items[i].value;
        if (read_expected(&c->outputs[port], &c->expected[port], error))
            return -1;
    }
    return read_gradients(c, error);
}

/* ---- running the backends ---- */

static bool has_expected(const struct cr_options *o)
{
    return o->expect.n || o->expect_grads;
}

/* The list of --backends: ref,tcc,cc unless files are expected; then --backend or tcc. */
static int choose_backends(struct comparison *c, struct cr_error *error)
{
    const struct cr_options *o = c->options;
    const char *list = o->backends                     ? o->backends
                       : o->backend || has_expected(o) ? cr_backend_names[cr_model_backend(o)]
                                                       : "ref,tcc,cc";
    char *words = cr_strdup(list), *rest = NULL;
    int status = 0;
    for (char *word = strtok_r(words, ",", &rest); word && !status;
         word = strtok_r(NULL, ",", &rest)) {
        int backend = cr_backend_by_name(word, error);
        if (backend < 0)
            status = -1;
        else if (c->n_backends == MAX_BACKENDS)
            status = cr_fail(error, "--backends %.60s: more than %d", list, MAX_BACKENDS);
        else
            c->backends[c->n_backends++] = (enum cr_backend)backend;
    }
    free(words);
    if (!status && !c->n_backends)
        status = cr_fail(error, "--backends '': expected some of tcc, cc, ref, standalone");
    if (!status && c->n_backends < 2 && !has_expected(o))
        status = cr_fail(error, "--backends %.60s: expected two or more, or --expect", list);
    return status;
}

/* Tolerances given replace the defaults, all of them. */
static void choose_tolerances(struct comparison *c)
{
    const struct cr_options *o = c->options;
    bool given = o->atol >= 0 || o->rtol >= 0 || o->max_ulp >= 0;
    c->tolerance = (struct cr_tolerance){
        .atol = o->atol >= 0 ? o->atol : given ? 0 : 2e-5,
        .rtol = o->rtol >= 0 ? o->rtol : given ? 0 : 1e-5,
        .max_ulp = o->max_ulp,
    };
}

/* The engine's outputs as doubles: the interpreter's own, or floats widened. */
static int widen(struct result *r, const struct cr_engine *e, struct cr_error *error)
{
    r->values = cr_calloc((size_t)e->n_outputs, sizeof *r->values);
    for (int i = 0; i < e->n_outputs; i++) {
        int64_t n = cr_port_elements(&e->outputs[i]);
        r->values[i] = cr_memory_new(n * (int64_t)sizeof(double), e->outputs[i].name, error);
        if (!r->values[i])
            return -1;
        for (int64_t j = 0; j < n; j++) {
            if (e->exact)
                r->values[i][j] = e->exact[i][j];
            else if (e->outputs[i].dtype == CR_I32)
                r->values[i][j] = ((const int32_t *)r->raw.data[i])[j];
            else
                r->values[i][j] = (double)((const float *)r->raw.data[i])[j];
        }
    }
    return 0;
}

static int run_engine(struct comparison *c, struct cr_engine *e, struct result *r,
                      struct cr_error *error)
{
    struct cr_arrays inputs = {0};
    int status = cr_arrays_inputs(&inputs, e, c->options, error);
    if (!status)
        status = cr_arrays_new(&r->raw, e->outputs, e->n_outputs, error);
    if (!status)
        status = cr_fill_params(e, c->options, &c->surplus, error);
    if (!status)
        status = cr_engine_run(e, (const void *const *)inputs.data, r->raw.data, error);
    if (!status)
        status = widen(r, e, error);
    cr_arrays_free(&inputs);
    return status;
}

/* What is common to all backends is taken from the first; the files are read before it runs. */
static int adopt_outputs(struct comparison *c, const struct cr_engine *e, struct cr_error *error)
{
    if (c->outputs)
        return 0;
    c->name = cr_strdup(e->name);
    c->outputs = cr_calloc((size_t)e->n_outputs, sizeof *c->outputs);
    c->expected = cr_calloc((size_t)e->n_outputs, sizeof *c->expected);
    c->n_outputs = e->n_outputs;
    for (int i = 0; i < e->n_outputs; i++) {
        c->outputs[i] = e->outputs[i];
        c->outputs[i].name = cr_strdup(e->outputs[i].name);
    }
    return read_all_expected(c, error);
}

static int run_backend(struct comparison *c, enum cr_backend backend, struct cr_error *error)
{
    struct result *r = &c->results[c->n_results];
    struct cr_model model;
    struct cr_engine engine;
    if (cr_model_load(&model, c->options, error))
        return -1;
    int status = cr_model_open(&model, backend, &engine, error);
    if (!status) {
        c->n_results++;
        r->backend = backend;
        status = adopt_outputs(c, &engine, error) || run_engine(c, &engine, r, error) ? -1 : 0;
        cr_engine_close(&engine);
    }
    cr_model_free(&model);
    return status;
}

/* ---- the table ---- */

/* A file by its last name: the table is wide enough. */
static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_head(const struct comparison *c)
{
    if (c->options->json)
        return;
    printf("%-20s %-8s %-16s %10s %10s %10s  %-7s worst at\n", "output", "backend", "against",
           "max abs", "max rel", "max ulp", "verdict");
}

/* Ulps as the table has them: each element's own if --max-ulp asks for them. */
static struct cr_phrase ulps_of(const struct comparison *c, const struct cr_difference *d)
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

static json_t *json_row(const struct cr_port *port, const char *backend, const char *against,
                        const struct cr_difference *d)
{
    struct cr_phrase where = cr_coordinates(port, d->worst);
    bool counted = d->max_ulp_each != INT64_MAX;
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:b}", "output", port->name,
        "backend", backend, "against", against, "max_abs", cr_json_number(d->max_abs), "max_rel",
        cr_json_number(d->max_rel), "max_ulp", cr_json_number(d->max_ulp), "max_ulp_each",
        counted ? json_integer(d->max_ulp_each) : json_null(), "worst_at",
        json_loads(where.text, 0, NULL), "got", cr_json_number(d->got), "expected",
        cr_json_number(d->want), "failing", (json_int_t)d->failures, "nan_against_number",
        (json_int_t)d->nans, "ok", d->failures == 0);
}

static void print_row(struct comparison *c, int output, const char *backend, const char *against,
                      const struct cr_difference *d)
{
    const struct cr_port *port = &c->outputs[output];
    c->failures += d->failures > 0;
    if (c->options->json) {
        json_array_append_new(c->rows, json_row(port, backend, against, d));
        return;
    }
    cr_print(stdout, "%-20s %-8s %-16s %10.3g %10.3g %10s  %-7s %s %.9g, expected %.9g", port->name,
             backend, last_name(against), d->max_abs, d->max_rel, ulps_of(c, d).text,
             d->failures ? "FAIL" : "ok", cr_coordinates(port, d->worst).text, d->got, d->want);
    if (d->failures)
        printf(" (%s elements fail", cr_thousands(d->failures).text);
    if (d->nans)
        printf(", %s of them NaN against a number", cr_thousands(d->nans).text);
    puts(d->failures ? ")" : "");
}

/* The rows of one output: each backend against the file, or against the first. */
static void compare_output(struct comparison *c, int output)
{
    int64_t n = cr_port_elements(&c->outputs[output]);
    const struct expected *x = &c->expected[output];
    for (int i = x->values ? 0 : 1; i < c->n_results; i++) {
        const double *want = x->values ? x->values : c->results[0].values[output];
        const char *against = x->values ? x->file : cr_backend_names[c->results[0].backend];
        struct cr_difference d =
            cr_difference(c->results[i].values[output], want, n, &c->tolerance);
        print_row(c, output, cr_backend_names[c->results[i].backend], against, &d);
    }
}

static const struct result *result_of(const struct comparison *c, enum cr_backend backend)
{
    for (int i = 0; i < c->n_results; i++)
        if (c->results[i].backend == backend)
            return &c->results[i];
    return NULL;
}

/* TinyCC and the system's compiler must give the same bits. */
static void compare_bits(struct comparison *c)
{
    const struct result *tcc = result_of(c, CR_BACKEND_TCC), *cc = result_of(c, CR_BACKEND_CC);
    for (int i = 0; tcc && cc && i < c->n_outputs; i++) {
        int64_t n = cr_port_elements(&c->outputs[i]);
        const void *a = tcc->raw.data[i], *b = cc->raw.data[i];
        bool same = c->outputs[i].dtype == CR_I32 ? memcmp(a, b, (size_t)n * sizeof(int32_t)) == 0
                                                  : cr_same_bits(a, b, n);
        c->failures += !same;
        if (c->options->json)
            json_array_append_new(c->rows,
                                  json_pack("{s:s, s:s, s:s, s:b, s:b}", "output",
                                            c->outputs[i].name, "backend", "tcc", "against", "cc",
                                            "same_bits", same, "ok", same));
        else
            printf("%-20s %-8s %-16s %s\n", c->outputs[i].name, "tcc", "cc, bit by bit",
                   same ? "the same bits  ok" : "different bits  FAIL");
    }
}

/* The gradients of the first backend. */
static int write_gradients(struct comparison *c, struct cr_error *error)
{
    struct cr_writer writer;
    if (!cr_grads_file(c->options))
        return 0;
    if (cr_writer_open(&writer, c->options->grads, error->text, sizeof error->text))
        return -1;
    if (cr_grads_put(&writer, c->outputs, c->n_outputs, c->results[0].raw.data, error)) {
        cr_writer_discard(&writer);
        return -1;
    }
    return cr_writer_commit(&writer, error->text, sizeof error->text);
}

static void print_end(struct comparison *c)
{
    const struct cr_options *o = c->options;
    if (o->json) {
        cr_print_json(json_pack("{s:s, s:o, s:f, s:f, s:b}", "model", c->name, "rows", c->rows,
                                "atol", c->tolerance.atol, "rtol",
                                c->tolerance.rtol, "ok", c->failures == 0));
        c->rows = NULL;
        return;
    }
    printf("%s (atol %g, rtol %g", c->failures ? "MISMATCH" : "agreement",
           c->tolerance.atol, c->tolerance.rtol);
    if (o->max_ulp >= 0)
        printf(", at most %" PRId64 " ulp", o->max_ulp);
    puts(")");
}

/* ---- the verb ---- */

static int run(struct comparison *c, struct cr_error *error)
{
    if (choose_backends(c, error))
        return 2;
    choose_tolerances(c);
    for (int i = 0; i < c->n_backends; i++)
        if (run_backend(c, c->backends[i], error))
            return 2;
    if (write_gradients(c, error))
        return 2;
    c->rows = json_array();
    print_head(c);
    for (int i = 0; i < c->n_outputs; i++)
        compare_output(c, i);
    compare_bits(c);
    print_end(c);
    cr_note_surplus(&c->surplus);
    return c->failures ? 1 : 0;
}

int cr_verb_compare(const struct cr_options *options, struct cr_error *error)
{
    struct comparison c = {.options = options};
    int status = run(&c, error);
    for (int i = 0; i < c.n_results; i++) {
        for (int j = 0; c.results[i].values && j < c.n_outputs; j++)
            free(c.results[i].values[j]);
        free(c.results[i].values);
        cr_arrays_free(&c.results[i].raw);
    }
    for (int i = 0; i < c.n_outputs; i++) {
        free((char *)c.outputs[i].name);
        free(c.expected[i].values);
    }
    free(c.outputs);
    free(c.expected);
    free(c.name);
    json_decref(c.rows);
    return status;
}
