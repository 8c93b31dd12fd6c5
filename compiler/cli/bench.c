/* bench.c - crescent bench: run time against the machine's limit. */
#include <assert.h>
#include <stdlib.h>

#include "model.h"
#include "report.h"
#include "runtime/peak.h"

enum { COMPILATIONS = 5, LEAST_RUNS = 5, MOST_RUNS = 10000 };

struct bench {
    const struct cr_options *options;
    struct cr_engine engine, measure; /* the model; what counts operations and the peak */
    struct cr_arrays inputs, outputs;
    struct cr_surplus surplus;
    int64_t compile_ns;
    int64_t *runs;
    double *peaks;
    int n;
};

static int by_integer(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int by_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Opens the engine, several times where that is quick, for a median of the compile time. */
static int open_engine(struct bench *b, enum cr_backend backend, struct cr_engine *engine,
                       struct cr_error *error)
{
    int64_t times[COMPILATIONS];
    int n = backend == CR_BACKEND_TCC ? COMPILATIONS : 1;
    for (int i = 0; i < n; i++) {
        struct cr_model model;
        cr_engine_close(engine);
        if (cr_model_load(&model, b->options, error))
            return -1;
        int status = cr_model_open(&model, backend, engine, error);
        cr_model_free(&model);
        if (status)
            return -1;
        times[i] = engine->passes_ns + engine->emit_ns + engine->compile_ns;
    }
    qsort(times, (size_t)n, sizeof *times, by_integer);
    b->compile_ns = times[n / 2];
    return 0;
}

/* The interpreter has no kernels to count: a compiled twin does it. */
static int open_all(struct bench *b, struct cr_error *error)
{
    enum cr_backend backend = cr_model_backend(b->options);
    if (backend == CR_BACKEND_REF && open_engine(b, CR_BACKEND_TCC, &b->measure, error))
        return -1;
    return open_engine(b, backend, &b->engine, error);
}

static const struct cr_engine *compiled(const struct bench *b)
{
    return b->engine.program ? &b->engine : &b->measure;
}

/* ---- the machine's peak ---- */

/* One item a thread; `args` has room for what each did. */
static void peak_body(const void *args, long begin, long end, float *scratch)
{
    double *const *operations = args;
    (void)scratch;
    for (long i = begin; i < end; i++)
        (*operations)[i] = cr_peak_work();
}

/* GFLOP/s on the threads of an engine. */
static double peak_gflops(const struct cr_engine *e)
{
    double operations[256] = {0}, *args = operations, total = 0;
    assert(e->threads <= 256);
    int64_t start = cr_clock();
    e->kernels->parallel(e->pool, e->threads, peak_body, &args, NULL, 0);
    int64_t time = cr_clock() - start;
    for (int i = 0; i < e->threads; i++)
        total += operations[i];
    return total / (double)time;
}

/* ---- measuring ---- */

static int run_once(struct bench *b, struct cr_error *error)
{
    return cr_engine_run(&b->engine, (const void *const *)b->inputs.data, b->outputs.data, error);
}

/* Runs and measurements of the peak take turns, so that a slower moment meets both. */
static int measure(struct bench *b, struct cr_error *error)
{
    int64_t end;
    if (run_once(b, error))
        return -1;
    peak_gflops(compiled(b));
    end = cr_clock() + (int64_t)(b->options->seconds * 1e9);
    for (b->n = 0; b->n < MOST_RUNS && (b->n < LEAST_RUNS || cr_clock() < end); b->n++) {
        b->peaks[b->n] = peak_gflops(compiled(b));
        int64_t start = cr_clock();
        if (run_once(b, error))
            return -1;
        b->runs[b->n] = cr_clock() - start;
    }
    qsort(b->runs, (size_t)b->n, sizeof *b->runs, by_integer);
    qsort(b->peaks, (size_t)b->n, sizeof *b->peaks, by_real);
    return 0;
}

static void report(const struct bench *b)
{
    const struct cr_engine *e = &b->engine;
    const struct cr_program *p = compiled(b)->program;
    double flops = 0, peak = b->peaks[b->n / 2];
    int64_t median = b->runs[b->n / 2];
    for (int i = 0; i < p->n_kernels; i++)
        flops += p->kernels[i].flops * p->kernels[i].calls;
    double gflops = median ? flops / (double)median : 0;
    int64_t arena = e->program ? p->arena_bytes : 0;
    if (b->options->json) {
        cr_print_json(json_pack(
            "{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I}", "model", e->name, "backend",
            cr_backend_names[e->backend], "threads", e->threads, "compile_ns",
            (json_int_t)b->compile_ns, "median_ns", (json_int_t)median, "min_ns",
            (json_int_t)b->runs[0], "flops", (json_int_t)flops, "gflops", gflops,
            "peak_gflops", peak, "fraction_of_peak", gflops / peak, "arena_bytes",
            (json_int_t)arena));
        return;
    }
    printf("Model: %s, backend %s, %s, %d thread%s\n", e->name, cr_backend_names[e->backend],
           compiled(b)->kernels->isa, e->threads, e->threads == 1 ? "" : "s");
    printf("Compile: %s from the graph to a callable function\n", cr_duration(b->compile_ns).text);
    printf("Run: median %s, fastest %s of %d runs\n", cr_duration(median).text,
           cr_duration(b->runs[0]).text, b->n);
    printf("Speed: %.1f GFLOP/s (%.4g GFLOP a run), %.1f%% of the peak of %.1f GFLOP/s\n", gflops,
           flops * 1e-9, 100 * gflops / peak, peak);
    printf("Arena: %s\n", cr_bytes(arena).text);
}

static int run(struct bench *b, struct cr_error *error)
{
    if (cr_refuse_gradients(b->options, error) || open_all(b, error) ||
        cr_fill_params(&b->engine, b->options, &b->surplus, error) ||
        cr_arrays_inputs(&b->inputs, &b->engine, b->options, error) ||
        cr_arrays_new(&b->outputs, b->engine.outputs, b->engine.n_outputs, error) ||
        measure(b, error))
        return 2;
    report(b);
    cr_note_surplus(&b->surplus);
    return 0;
}

int cr_verb_bench(const struct cr_options *options, struct cr_error *error)
{
    static int64_t runs[MOST_RUNS];
    static double peaks[MOST_RUNS];
    struct bench b = {.options = options, .runs = runs, .peaks = peaks};
    int status = run(&b, error);
    cr_arrays_free(&b.inputs);
    cr_arrays_free(&b.outputs);
    cr_engine_close(&b.engine);
    cr_engine_close(&b.measure);
    return status;
}
