/* run.c - crescent run: compiles and runs a model, reports on it, and writes outputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "model.h"
#include "report.h"
#include "verbs.h"

/* A run, its files and its times. */
struct run {
    const struct cr_options *options;
    crescent_graph *graph;
    crescent_model *model;
    crescent_report report;
    struct cr_arrays inputs, outputs;
    crescent_file **files; /* a file for each --output, then the file of --grads */
    int n_files;
    crescent_surplus surplus;
    int64_t fill_ns, run_ns;
};

/* ---- writing ---- */

/* Returns the path of file i, in the order of `files`. */
static const char *path_of(const struct cr_options *o, int i)
{
    return i < o->output.n ? o->output.items[i].value : o->grads;
}

/* Opens all files before anything is computed, so that a bad path fails early.  With several
 * ranks, the first rank writes. */
static int open_files(struct run *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    int n = o->output.n + (cr_grads_file(o) != NULL);
    if (crescent_ranks_of(o->context).rank)
        return 0;
    r->files = cr_calloc((size_t)n, sizeof *r->files);
    for (; r->n_files < n; r->n_files++) {
        int i = r->n_files;
        const char *path = path_of(o, i);
        for (int j = 0; j < i; j++)
            if (strcmp(path_of(o, j), path) == 0)
                return cr_fail(error, "%s: named for two results, expected a file for each", path);
        if (cr_passed(o, crescent_file_open(o->context, path, &r->files[i]), error))
            return -1;
    }
    return 0;
}

/* Writes output number i, or after the last one the gradients, to file i. */
static int put_output(const struct run *r, int i)
{
    const struct cr_options *o = r->options;
    if (i == o->output.n)
        return crescent_put_gradients(r->model, r->outputs.data, r->files[i]);
    int index = crescent_port_find(r->model, CRESCENT_OUTPUT, o->output.items[i].key);
    crescent_port port = cr_sized_port(r->model, CRESCENT_OUTPUT, index, &r->inputs);
    return crescent_file_put_npy(r->files[i], &port, r->outputs.data[index]);
}

/* Writes all files, then renames them to their final names. */
static int write_outputs(const struct run *r, struct cr_error *error)
{
    int status = 0;
    for (int i = 0; i < r->n_files && !status; i++) {
        status = put_output(r, i);
        if (!status)
            status = crescent_file_finish(r->files[i]);
    }
    for (int i = r->n_files - 1; i >= 0 && !status; i--)
        status = crescent_file_commit(r->files[i]);
    return cr_passed(r->options, status, error);
}

/* ---- reporting ---- */

/* Prints the inputs or outputs of the script, without cotangents and gradients. */
static void print_ports(const struct run *r, crescent_port_kind kind, const char *what)
{
    int n = crescent_port_count(r->model, kind);
    while (n && cr_port_of(r->model, kind, n - 1).of)
        n--;
    for (int i = 0; i < n; i++) {
        crescent_port port = cr_sized_port(r->model, kind, i, &r->inputs);
        if (n == 1)
            printf("%s shape: %s\n", what, cr_port_shape(&port).text);
        else
            printf("%s shape: %s (%s)\n", what, cr_port_shape(&port).text, port.name);
    }
}

/* True if the first output has the shape of an input, as in a transformer block. */
static bool shapes_match(const struct run *r)
{
    if (!r->outputs.n)
        return false;
    crescent_port output = cr_sized_port(r->model, CRESCENT_OUTPUT, 0, &r->inputs);
    for (int i = 0; i < r->inputs.n; i++) {
        crescent_port input = cr_sized_port(r->model, CRESCENT_INPUT, i, &r->inputs);
        if (input.rank == output.rank &&
            memcmp(input.shape, output.shape, (size_t)input.rank * sizeof *input.shape) == 0)
            return true;
    }
    return false;
}

/* Prints the mean and the standard deviation of the first output, if its type is f32. */
static void print_statistics(const struct run *r)
{
    crescent_port port = cr_sized_port(r->model, CRESCENT_OUTPUT, 0, &r->inputs);
    if (!r->outputs.n || port.type != CRESCENT_F32)
        return;
    int64_t n = crescent_port_elements(&port);
    const float *y = r->outputs.data[0];
    double sum = 0, squares = 0;
    if (n == 0)
        return;
    for (int64_t i = 0; i < n; i++)
        sum += y[i];
    for (int64_t i = 0; i < n; i++)
        squares += (y[i] - sum / (double)n) * (y[i] - sum / (double)n);
    printf("Output mean: %.6g, std: %.6g\n", sum / (double)n, sqrt(squares / (double)n));
}

static void print_model(const struct run *r)
{
    crescent_setting option;
    int n = crescent_graph_option_count(r->graph);
    cr_print(stdout, "Model: %s (%s)\n", r->report.name, r->options->model);
    for (int i = 0; i < n && !crescent_graph_option_at(r->graph, i, &option); i++)
        cr_print(stdout, "%s%s=%s%s", i ? " " : "Options: ", option.key, option.value,
                 i + 1 == n ? "\n" : "");
}

/* Prints the results of the compilation, and the memory that a run needs. */
static void print_compiled(const crescent_report *p, const char *arithmetic)
{
    if (!p->compiled) {
        puts("Compiled: nothing, the interpreter ran the graph");
        return;
    }
    printf("Compiled: %d ops -> %d kernel%s", p->ops, p->n_kernels, p->n_kernels == 1 ? "" : "s");
    if (p->n_calls != p->n_kernels)
        printf(" (%d calls)", p->n_calls);
    printf(", %s bytes of C, by %s for %s, %d thread%s\n",
           cr_thousands((int64_t)p->text_bytes).text, crescent_backend_name(p->backend), p->isa,
           p->threads, p->threads == 1 ? "" : "s");
    cr_print_products(stdout, p, arithmetic);
    cr_print_memory(p);
    cr_print_again(p);
}

/* Prints for each kernel its title, and the operations and bytes of one call. */
static void print_kernels(const crescent_model *model)
{
    crescent_kernel k;
    int width = 4;
    for (int i = 0; i < cr_report_of_model(model).n_kernels; i++)
        if (!crescent_kernel_at(model, i, &k) && (int)strlen(k.name) > width)
            width = (int)strlen(k.name);
    printf("  %-*s  %5s  %12s  %10s  %10s  %s\n", width, "kernel", "calls", "flop", "reads",
           "writes", "made for");
    for (int i = 0; i < cr_report_of_model(model).n_kernels; i++)
        if (!crescent_kernel_at(model, i, &k))
            cr_print(stdout, "  %-*s  %5d  %12s  %10s  %10s  %s%s%s\n", width, k.name, k.calls,
                     cr_thousands((int64_t)k.flops).text, cr_bytes((int64_t)k.bytes_read).text,
                     cr_bytes((int64_t)k.bytes_written).text, k.scope, *k.scope ? ", " : "",
                     k.where);
}

/* True if parameters come from files. */
static bool has_files(const struct run *r)
{
    return r->options->weights.n || crescent_weights_path(r->model);
}

static void print_times(const struct run *r)
{
    const crescent_report *p = &r->report;
    printf("Time: script %s", cr_duration(crescent_graph_time(r->graph)).text);
    if (p->compiled)
        printf(", passes %s, emit %s, compile %s", cr_duration(p->passes_ns).text,
               cr_duration(p->emit_ns).text, cr_duration(p->compile_ns).text);
    printf(", %s weights %s, run %s\n", has_files(r) ? "load" : "draw",
           cr_duration(r->fill_ns).text, cr_duration(r->run_ns).text);
}

static int count_gradients(const crescent_model *model)
{
    int n = 0;
    for (int i = 0; i < crescent_port_count(model, CRESCENT_OUTPUT); i++)
        n += cr_port_of(model, CRESCENT_OUTPUT, i).of != NULL;
    return n;
}

/* Prints the whole report. */
static void report(const struct run *r)
{
    const struct cr_options *o = r->options;
    print_model(r);
    print_ports(r, CRESCENT_INPUT, "Input");
    print_ports(r, CRESCENT_OUTPUT, "Output");
    if (shapes_match(r))
        puts("shapes match");
    print_statistics(r);
    printf("Parameters: %s in %d tensors (%s)\n", cr_thousands(cr_count_parameters(r->graph)).text,
           crescent_port_count(r->model, CRESCENT_PARAM),
           o->weights.n   ? "from the weights given"
           : has_files(r) ? "from the files of the model"
                          : "drawn from the seed");
    print_compiled(&r->report, r->options->arithmetic);
    cr_print_formats(r->model, stdout);
    if (o->kernels && r->report.compiled)
        print_kernels(r->model);
    print_times(r);
    for (int i = 0; i < o->output.n; i++)
        cr_print(stdout, "Wrote %s: %s\n", o->output.items[i].value, o->output.items[i].key);
    if (cr_grads_file(o))
        cr_print(stdout, "Wrote %s: gradients of %d tensors\n", o->grads,
                 count_gradients(r->model));
}

/* ---- the verb ---- */

static int compile(struct run *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    if (cr_graph_load(o, &r->graph, error) ||
        cr_passed(o, crescent_compile(r->graph, &config, &r->model), error))
        return -1;
    r->report = cr_report_of_model(r->model);
    return 0;
}

/* Makes all checks, then runs the model and writes the results. */
static int run(struct run *r, struct cr_error *error)
{
    const struct cr_options *o = r->options;
    if (compile(r, error) || cr_arrays_inputs(&r->inputs, r->model, o, error) ||
        open_files(r, error) || cr_arrays_new(&r->outputs, r->model, CRESCENT_OUTPUT, o, error))
        return 2;
    int64_t start = crescent_clock();
    if (cr_fill_params(r->model, o, &r->surplus, error))
        return 2;
    r->fill_ns = crescent_clock() - start;
    start = crescent_clock();
    if (cr_passed(o, crescent_run(r->model, (const void *const *)r->inputs.data, r->outputs.data),
                  error))
        return 2;
    r->run_ns = crescent_clock() - start;
    for (int i = 0; i < r->outputs.n; i++)
        cr_pack_output(r->model, i, &r->inputs, sizeof(float), r->outputs.data[i]);
    if (write_outputs(r, error))
        return 2;
    report(r);
    cr_note_surplus(&r->surplus);
    cr_cache_params(r->model);
    return 0;
}

/* Runs the verb; closes everything, even after a failure. */
int cr_verb_run(const struct cr_options *options, struct cr_error *error)
{
    struct run r = {.options = options};
    int status = run(&r, error);
    for (int i = 0; i < r.n_files; i++)
        crescent_file_close(r.files[i]);
    free(r.files);
    cr_arrays_free(&r.inputs);
    cr_arrays_free(&r.outputs);
    crescent_close(r.model);
    crescent_graph_close(r.graph);
    return status;
}
