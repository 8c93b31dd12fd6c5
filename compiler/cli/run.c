/* run.c - crescent run: compile, run, report, write outputs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/npy.h"
#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "grads.h"
#include "report.h"

/* A run and what it took. */
struct run {
    const struct cr_options *options;
    struct cr_model model;
    struct cr_engine engine;
    struct cr_arrays inputs, outputs;
    struct cr_writer *writers; /* one an --output, then that of --grads */
    int n_writers;
    struct cr_surplus surplus;
    int64_t fill_ns, run_ns;
};

/* ---- writing ---- */

/* The path that writer i is for. */
static const char *path_of(const struct cr_options *o, int i)
{
    return i < o->output.n ? o->output.items[i].value : o->grads;
}

/* Opens all files before anything is computed, so that a bad path fails at once. */
static int open_writers(struct run *r, struct cr_error *error)
{
    const struct cr_pairs *output = &r->options->output;
    int n = output->n + (cr_grads_file(r->options) != NULL);
    r->writers = cr_calloc((size_t)n, sizeof *r->writers);
    for (; r->n_writers < n; r->n_writers++) {
        int i = r->n_writers;
        const char *path = path_of(r->options, i);
        for (int j = 0; j < i; j++)
            if (strcmp(path_of(r->options, j), path) == 0)
                return cr_fail(error, "%s: named for two results, expected a file for each", path);
        if (cr_writer_open(&r->writers[i], path, error->text, sizeof error->text))
            return -1;
    }
    return 0;
}

/* Puts what writer i is for. */
static int put_output(struct run *r, int i, struct cr_error *error)
{
    const struct cr_engine *e = &r->engine;
    if (i == r->options->output.n)
        return cr_grads_put(&r->writers[i], e->outputs, e->n_outputs, r->outputs.data, error);
    int port = cr_port_find(e->outputs, e->n_outputs, r->options->output.items[i].key);
    const struct cr_port *p = &e->outputs[port];
    cr_npy_put(&r->writers[i], p->dtype == CR_I32 ? CR_NPY_I4 : CR_NPY_F4, p->rank, p->shape,
               r->outputs.data[port]);
    return 0;
}

/* Everything is on the disk before the first file gets its name. */
static int write_outputs(struct run *r, struct cr_error *error)
{
    for (int i = 0; i < r->n_writers; i++) {
        if (put_output(r, i, error))
            return -1;
        if (cr_writer_finish(&r->writers[i], error->text, sizeof error->text))
            return -1;
    }
    while (r->n_writers > 0)
        if (cr_writer_commit(&r->writers[--r->n_writers], error->text, sizeof error->text))
            return -1;
    return 0;
}

/* ---- reporting ---- */

/* The model's own inputs or outputs: gradients and cotangents, behind them, are left out. */
static void print_ports(const char *what, const struct cr_port *ports, int n)
{
    while (n && (cr_gradient_of(ports[n - 1].name) || cr_cotangent_of(ports[n - 1].name)))
        n--;
    for (int i = 0; i < n; i++) {
        if (n == 1)
            printf("%s shape: %s\n", what, cr_port_shape(&ports[i]).text);
        else
            printf("%s shape: %s (%s)\n", what, cr_port_shape(&ports[i]).text, ports[i].name);
    }
}

/* Whether the first output has the shape of an input, as a residual stream has. */
static bool shapes_match(const struct cr_engine *e)
{
    for (int i = 0; e->n_outputs && i < e->n_inputs; i++)
        if (e->inputs[i].rank == e->outputs[0].rank &&
            memcmp(e->inputs[i].shape, e->outputs[0].shape,
                   (size_t)e->inputs[i].rank * sizeof(int64_t)) == 0)
            return true;
    return false;
}

static void print_statistics(const struct run *r)
{
    const struct cr_port *port = &r->engine.outputs[0];
    if (!r->engine.n_outputs || port->dtype != CR_F32)
        return;
    int64_t n = cr_port_elements(port);
    const float *y = r->outputs.data[0];
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += y[i];
    for (int64_t i = 0; i < n; i++)
        squares += (y[i] - sum / (double)n) * (y[i] - sum / (double)n);
    printf("Output mean: %.6g, std: %.6g\n", sum / (double)n, sqrt(squares / (double)n));
}

static void print_model(const struct run *r)
{
    const struct cr_script *script = &r->model.script;
    cr_print(stdout, "Model: %s (%s)\n", r->engine.name, r->options->model);
    for (int i = 0; i < script->n_options; i++)
        cr_print(stdout, "%s%s=%s%s", i ? " " : "Options: ", script->options[i].name,
                 script->options[i].value, i + 1 == script->n_options ? "\n" : "");
}

static void print_compiled(const struct run *r)
{
    const struct cr_engine *e = &r->engine;
    const struct cr_program *p = e->program;
    if (!p) {
        puts("Compiled: nothing, the interpreter ran the graph");
        return;
    }
    int calls = 0;
    for (int i = 0; i < p->n_kernels; i++)
        calls += p->kernels[i].calls;
    printf("Compiled: %d ops -> %d kernel%s", p->ops_before, p->n_kernels,
           p->n_kernels == 1 ? "" : "s");
    if (calls != p->n_kernels)
        printf(" (%d calls)", calls);
    printf(", %s bytes of C, by %s for %s, %d thread%s\n",
           cr_thousands((int64_t)p->text_length).text, cr_backend_names[e->backend],
           e->rt->isa, e->threads, e->threads == 1 ? "" : "s");
    cr_print_memory(p);
    cr_print_again(p);
}

/* What each kernel does, and how much of it, in one call. */
static void print_kernels(const struct cr_program *p)
{
    int width = 4;
    for (int i = 0; i < p->n_kernels; i++)
        if ((int)strlen(p->kernels[i].name) > width)
            width = (int)strlen(p->kernels[i].name);
    printf("  %-*s  %5s  %12s  %10s  %10s  %s\n", width, "kernel", "calls", "flop", "reads",
           "writes", "made for");
    for (int i = 0; i < p->n_kernels; i++) {
        const struct cr_kernel_info *k = &p->kernels[i];
        cr_print(stdout, "  %-*s  %5d  %12s  %10s  %10s  %s%s%s\n", width, k->name, k->calls,
                 cr_thousands((int64_t)k->flops).text, cr_bytes((int64_t)k->bytes_read).text,
                 cr_bytes((int64_t)k->bytes_written).text, k->scope, *k->scope ? ", " : "",
                 k->where);
    }
}

static void print_times(const struct run *r)
{
    const struct cr_engine *e = &r->engine;
    printf("Time: script %s", cr_duration(r->model.script_ns).text);
    if (e->program)
        printf(", passes %s, emit %s, compile %s", cr_duration(e->passes_ns).text,
               cr_duration(e->emit_ns).text, cr_duration(e->compile_ns).text);
    printf(", %s weights %s, run %s\n", r->options->weights.n ? "load" : "draw",
           cr_duration(r->fill_ns).text, cr_duration(r->run_ns).text);
}

static int count_gradients(const struct cr_engine *e)
{
    int n = 0;
    for (int i = 0; i < e->n_outputs; i++)
        n += cr_gradient_of(e->outputs[i].name) != NULL;
    return n;
}

static void report(const struct run *r)
{
    const struct cr_engine *e = &r->engine;
    print_model(r);
    print_ports("Input", e->inputs, e->n_inputs);
    print_ports("Output", e->outputs, e->n_outputs);
    if (shapes_match(e))
        puts("shapes match");
    print_statistics(r);
    printf("Parameters: %s in %d tensors (%s)\n",
           cr_thousands(cr_count_elements(e->params, e->n_params)).text, e->n_params,
           r->options->weights.n ? "from the weights given" : "drawn from the seed");
    print_compiled(r);
    if (r->options->kernels && e->program)
        print_kernels(e->program);
    print_times(r);
    for (int i = 0; i < r->options->output.n; i++)
        cr_print(stdout, "Wrote %s: %s\n", r->options->output.items[i].value,
                 r->options->output.items[i].key);
    if (cr_grads_file(r->options))
        cr_print(stdout, "Wrote %s: gradients of %d tensors\n", r->options->grads,
                 count_gradients(e));
}

/* ---- the verb ---- */

static int run(struct run *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    if (cr_model_load(&r->model, o, error) ||
        cr_model_open(&r->model, cr_model_backend(o), &r->engine, error) ||
        cr_arrays_inputs(&r->inputs, &r->engine, o, error) || open_writers(r, error) ||
        cr_arrays_new(&r->outputs, r->engine.outputs, r->engine.n_outputs, error))
        return 2;
    int64_t start = cr_clock();
    if (cr_fill_params(&r->engine, o, &r->surplus, error))
        return 2;
    r->fill_ns = cr_clock() - start;
    start = cr_clock();
    if (cr_engine_run(&r->engine, (const void *const *)r->inputs.data, r->outputs.data, error))
        return 2;
    r->run_ns = cr_clock() - start;
    if (write_outputs(r, error))
        return 2;
    report(r);
    cr_note_surplus(&r->surplus);
    return 0;
}

int cr_verb_run(const struct cr_options *options, struct cr_error *error)
{
    struct run r = {.options = options};
    int status = run(&r, error);
    for (int i = 0; i < r.n_writers; i++)
        cr_writer_discard(&r.writers[i]);
    free(r.writers);
    cr_arrays_free(&r.inputs);
    cr_arrays_free(&r.outputs);
    cr_engine_close(&r.engine);
    cr_model_free(&r.model);
    return status;
}
