/* bench_report.c - prints the results of a bench as text, JSON and Markdown; see bench_report.h. */
#include "bench_report.h"

#include <string.h>

#include "compiler/ir/escape.h"
#include "report.h"
#include "roofline.h"

/* The figures of a bench that all formats of the report show. */
struct figures {
    const crescent_report *engine, *program; /* report of the benched model, and of the compiled
                                              * model */
    struct cr_roofline roofline;
    double script_ns, passes_ns, emit_ns, backend_ns; /* median times of the stages */
    double compile_ns;                                /* time from the graph to a callable
                                                       * function */
    double median_ns, min_ns, gflops, peak, limit_ns;
    double best_of_peak; /* the fastest run's share of the highest measured peak; noise affects it
                          * least */
    int64_t arena;       /* bytes of the arena; the interpreter has none */
};

/* Computes the figures from medians; sorts the samples. */
static struct figures figures_of(struct cr_bench *b)
{
    struct cr_bench_case *s = &b->cases[0];
    struct figures f = {.engine = &s->report, .program = &b->compiled};
    f.script_ns = cr_sample_median(&s->script);
    f.passes_ns = cr_sample_median(&s->passes);
    f.emit_ns = cr_sample_median(&s->emit);
    f.backend_ns = cr_sample_median(&s->compile);
    f.compile_ns = f.passes_ns + f.emit_ns + f.backend_ns;
    f.median_ns = cr_sample_median(&s->runs);
    f.min_ns = cr_sample_least(&s->runs);
    f.gflops = f.median_ns > 0 ? b->flops / f.median_ns : 0;
    f.peak = cr_sample_median(&b->peak);
    f.arena = f.engine->compiled ? f.program->arena_bytes : 0;
    if (b->rounds) {
        f.roofline = cr_roofline_of_run(b);
        f.limit_ns = cr_roofline_limit(&f.roofline);
        f.best_of_peak = b->flops / f.min_ns / cr_sample_quantile(&b->peak, 1);
    }
    return f;
}

/* True if the lowest tenth of the measured peaks is below 0.9 of the median: other programs
 * disturbed the measurement. */
static bool is_noisy(struct cr_bench *b)
{
    return cr_sample_quantile(&b->peak, 0.1) < 0.9 * cr_sample_median(&b->peak);
}

/* Returns kernel number i, which must exist. */
static crescent_kernel kernel_at(const struct cr_bench *b, int i)
{
    crescent_kernel kernel = {0};
    crescent_kernel_at(cr_bench_compiled(b), i, &kernel);
    return kernel;
}

/* ---- text ---- */

/* Prints the times of stages, the arena and the activations.  The interpreter has no stages. */
static void print_compilation(const struct figures *f)
{
    printf("Model: %s, backend %s, %s, %d thread%s\n", f->engine->name,
           crescent_backend_name(f->engine->backend), f->program->isa, f->engine->threads,
           f->engine->threads == 1 ? "" : "s");
    if (f->engine->n_rounded)
        printf("Products: %d of %d kernels with weights in another arithmetic than f32\n",
               f->engine->n_rounded, f->engine->n_products);
    printf("Compile: %s from the graph to a callable function",
           cr_duration((int64_t)f->compile_ns).text);
    if (f->engine->compiled)
        printf(" (passes %s, emit %s, compile %s)", cr_duration((int64_t)f->passes_ns).text,
               cr_duration((int64_t)f->emit_ns).text, cr_duration((int64_t)f->backend_ns).text);
    printf("; script %s\n", cr_duration((int64_t)f->script_ns).text);
    if (f->engine->compiled)
        printf("Arena: %s, no plan has less than %s; weights %s, scratch %s a thread\n",
               cr_bytes(f->arena).text, cr_bytes(f->program->arena_bytes_least).text,
               cr_bytes(f->program->weights_bytes).text, cr_bytes(f->program->scratch_bytes).text);
    if (f->engine->compiled && f->program->activation_bytes >= 0)
        printf("Activations: %s of the arena are kept from the forward for the backward pass\n",
               cr_bytes(f->program->activation_bytes).text);
}

/* Prints the peak of products in an arithmetic other than f32, and the share of it that the run
 * reaches. */
static void print_products(struct cr_bench *b, const struct figures *f)
{
    double most = cr_sample_median(&b->products);
    printf("Machine: %.1f GOP/s of products in %s, of which the run is %.1f%%\n", most,
           b->arithmetic, 100 * f->gflops / most);
}

/* Prints the measured limits of the machine. */
static void print_machine(struct cr_bench *b, const struct figures *f)
{
    printf("Machine: %.1f GFLOP/s; reads %.1f GB/s from memory, %.1f GB/s from %s\n", f->peak,
           cr_sample_median(&b->memory), cr_sample_median(&b->touched_read),
           cr_bytes(b->touched).text);
    if (b->arithmetic)
        print_products(b, f);
    if (is_noisy(b))
        printf("Machine: not quiet, its peak moved between %.1f and %.1f GFLOP/s\n",
               cr_sample_least(&b->peak), cr_sample_quantile(&b->peak, 1));
}

/* Prints the run's speed as shares of the peak and of the roofline. */
static void print_speed(struct cr_bench *b, const struct figures *f)
{
    printf("Run: median %s, fastest %s of %d runs in %d rounds\n",
           cr_duration((int64_t)f->median_ns).text, cr_duration((int64_t)f->min_ns).text,
           b->cases[0].runs.n, b->rounds);
    printf("Speed: %.1f GFLOP/s (%.4g GFLOP a run), %.1f%% of the peak of %.1f GFLOP/s; the "
           "fastest run %.1f%% of the highest peak\n",
           f->gflops, b->flops * 1e-9, 100 * f->gflops / f->peak, f->peak, 100 * f->best_of_peak);
    if (b->flops_again > 0)
        printf("Recomputed: %.4g GFLOP besides, so that the arena fits: %.1f%% of what counts\n",
               b->flops_again * 1e-9, 100 * b->flops_again / b->flops);
    printf("Roofline: %.1f%% of it; operations take at least %s, the %s of parameters, inputs and "
           "outputs %s\n",
           100 * f->limit_ns / f->median_ns, cr_duration((int64_t)f->roofline.flops_ns).text,
           cr_bytes(b->touched).text, cr_duration((int64_t)f->roofline.memory_ns).text);
}

static void print_ratios(struct cr_bench *b)
{
    for (int i = 1; i < b->n; i++) {
        struct cr_bench_case *s = &b->cases[i];
        printf("Against %s: %.3f times its time (half of the rounds: %.3f to %.3f; fastest against "
               "fastest: %.3f), its median %s\n",
               s->setting, cr_sample_median(&s->ratios), cr_sample_quantile(&s->ratios, 0.25),
               cr_sample_quantile(&s->ratios, 0.75),
               cr_sample_least(&b->cases[0].runs) / cr_sample_least(&s->runs),
               cr_duration((int64_t)cr_sample_median(&s->runs)).text);
    }
}

/* The modelled traffic into a cache and its bandwidth as text: "9.3 MiB, 12.1". */
struct traffic {
    char text[256];
};

static struct traffic traffic_of(double bytes, double ns)
{
    struct traffic t;
    snprintf(t.text, sizeof t.text, "%s, %.1f", cr_bytes((int64_t)bytes).text, bytes / ns);
    return t;
}

/* Prints a row of --per-kernel: the totals of all calls of a kernel in a run. */
static void print_kernel(struct cr_bench *b, const struct figures *f, int i, int width)
{
    crescent_kernel kernel = kernel_at(b, i), *k = &kernel;
    struct cr_roofline roofline = cr_roofline_of_kernel(b, k);
    double time = cr_sample_median(&b->profile.times[i]), limit = cr_roofline_limit(&roofline);
    double gflops = k->flops * k->calls / time;
    struct traffic l1 = traffic_of(k->bytes_to_l1 * k->calls, time);
    struct traffic l2 = traffic_of(k->bytes_to_l2 * k->calls, time);
    cr_print(stdout,
             "  %-*s  %5d  %9s  %9s  %5.1f  %7.1f  %7.1f  %9s  %8.1f  %-6s  %16s  %16s  %s%s%s\n",
             width, k->name, k->calls, cr_duration((int64_t)time).text,
             cr_duration((int64_t)cr_sample_least(&b->profile.times[i])).text,
             100 * time / f->median_ns, gflops, 100 * gflops / f->peak,
             cr_duration((int64_t)limit).text, 100 * limit / time, cr_roofline_bound(&roofline),
             l1.text, l2.text, k->scope, *k->scope ? ", " : "", k->where);
}

/* Prints for each kernel the time of all its calls in a run, and its limit. */
static void print_kernels(struct cr_bench *b, const struct figures *f)
{
    int width = 9;
    double between = cr_sample_median(&b->profile.between);
    for (int i = 0; i < f->program->n_kernels; i++)
        if ((int)strlen(kernel_at(b, i).name) > width)
            width = (int)strlen(kernel_at(b, i).name);
    printf("  %-*s  %5s  %9s  %9s  %5s  %7s  %7s  %9s  %8s  %-6s  %16s  %16s  %s\n", width,
           "kernel", "calls", "median", "fastest", "% run", "GFLOP/s", "% peak", "roofline",
           "% of it", "bound", "to L1, GB/s", "to L2, GB/s", "made for");
    for (int i = 0; i < f->program->n_kernels; i++)
        print_kernel(b, f, i, width);
    printf("  %-*s  %5s  %9s  %9s  %5.1f\n", width, "(between)", "",
           cr_duration((int64_t)between).text,
           cr_duration((int64_t)cr_sample_least(&b->profile.between)).text,
           100 * between / f->median_ns);
}

static void print_text(struct cr_bench *b, const struct figures *f)
{
    print_compilation(f);
    cr_print_formats(b->cases[0].model, stdout);
    print_machine(b, f);
    print_speed(b, f);
    print_ratios(b);
    if (b->options->per_kernel)
        print_kernels(b, f);
}

/* ---- JSON ---- */

static void write_whole(struct cr_doc *d, const char *key, double value)
{
    cr_doc_integer(d, key, (int64_t)value);
}

/* Writes compile times and sizes of memory, which are known before the first run. */
static void write_compilation(struct cr_doc *d, struct cr_bench *b, const struct figures *f)
{
    cr_doc_text(d, "model", f->engine->name);
    cr_doc_text(d, "backend", crescent_backend_name(f->engine->backend));
    cr_doc_text(d, "isa", f->program->isa);
    cr_doc_integer(d, "threads", f->engine->threads);
    write_whole(d, "compile_ns", f->compile_ns);
    write_whole(d, "script_ns", f->script_ns);
    write_whole(d, "passes_ns", f->passes_ns);
    write_whole(d, "emit_ns", f->emit_ns);
    write_whole(d, "backend_ns", f->backend_ns);
    write_whole(d, "text_bytes", (double)f->program->text_bytes);
    write_whole(d, "kernels_made", f->program->n_kernels);
    write_whole(d, "kernel_calls", f->program->n_calls);
    write_whole(d, "flops", b->flops);
    write_whole(d, "recomputed_flops", b->flops_again);
    write_whole(d, "arena_bytes", (double)f->arena);
    write_whole(d, "arena_bytes_least", (double)f->program->arena_bytes_least);
    if (f->program->activation_bytes >= 0)
        write_whole(d, "activation_bytes", (double)f->program->activation_bytes);
    write_whole(d, "weights_bytes", (double)f->program->weights_bytes);
    write_whole(d, "scratch_bytes", (double)f->program->scratch_bytes);
}

/* Writes the measurements of the run and of the machine. */
static void write_speed(struct cr_doc *d, struct cr_bench *b, const struct figures *f)
{
    write_whole(d, "median_ns", f->median_ns);
    write_whole(d, "min_ns", f->min_ns);
    write_whole(d, "runs", b->cases[0].runs.n);
    write_whole(d, "rounds", b->rounds);
    cr_doc_number(d, "gflops", f->gflops);
    cr_doc_number(d, "peak_gflops", f->peak);
    if (b->arithmetic)
        cr_doc_number(d, "peak_products_gops", cr_sample_median(&b->products));
    cr_doc_number(d, "peak_gflops_low", cr_sample_quantile(&b->peak, 0.1));
    cr_doc_number(d, "peak_gflops_high", cr_sample_quantile(&b->peak, 0.9));
    cr_doc_number(d, "fraction_of_peak", f->gflops / f->peak);
    cr_doc_number(d, "best_fraction_of_peak", f->best_of_peak);
    write_whole(d, "compulsory_bytes", (double)b->touched);
    cr_doc_number(d, "memory_gb_s", cr_sample_median(&b->memory));
    cr_doc_number(d, "compulsory_gb_s", cr_sample_median(&b->touched_read));
    write_whole(d, "limit_ns", f->limit_ns);
    cr_doc_number(d, "fraction_of_roofline", f->limit_ns / f->median_ns);
    cr_doc_text(d, "bound", cr_roofline_bound(&f->roofline));
}

/* Writes a row for each --vs. */
static void write_ratios(struct cr_doc *d, struct cr_bench *b)
{
    cr_doc_begin(d, "vs", '[');
    for (int i = 1; i < b->n; i++) {
        struct cr_bench_case *s = &b->cases[i];
        cr_doc_begin(d, NULL, '{');
        cr_doc_text(d, "setting", s->setting);
        write_whole(d, "median_ns", cr_sample_median(&s->runs));
        write_whole(d, "min_ns", cr_sample_least(&s->runs));
        cr_doc_number(d, "ratio", cr_sample_median(&s->ratios));
        cr_doc_number(d, "ratio_low", cr_sample_quantile(&s->ratios, 0.25));
        cr_doc_number(d, "ratio_high", cr_sample_quantile(&s->ratios, 0.75));
        cr_doc_number(d, "ratio_of_min",
                      cr_sample_least(&b->cases[0].runs) / cr_sample_least(&s->runs));
        cr_doc_end(d, '}');
    }
    cr_doc_end(d, ']');
}

/* Writes an object with the totals of all calls of a kernel in a run. */
static void write_kernel(struct cr_doc *d, struct cr_bench *b, const struct figures *f, int i)
{
    crescent_kernel kernel = kernel_at(b, i), *k = &kernel;
    struct cr_roofline roofline = cr_roofline_of_kernel(b, k);
    double time = cr_sample_median(&b->profile.times[i]), limit = cr_roofline_limit(&roofline);
    cr_doc_begin(d, NULL, '{');
    cr_doc_text(d, "name", k->name);
    cr_doc_text(d, "scope", k->scope);
    cr_doc_text(d, "where", k->where);
    cr_doc_integer(d, "calls", k->calls);
    cr_doc_text(d, "bound", cr_roofline_bound(&roofline));
    write_whole(d, "median_ns", time);
    write_whole(d, "min_ns", cr_sample_least(&b->profile.times[i]));
    write_whole(d, "limit_ns", limit);
    write_whole(d, "flops", k->flops * k->calls);
    write_whole(d, "bytes", (k->bytes_read + k->bytes_written) * k->calls);
    write_whole(d, "bytes_weights", k->bytes_weights * k->calls);
    write_whole(d, "bytes_to_l1", k->bytes_to_l1 * k->calls);
    write_whole(d, "bytes_to_l2", k->bytes_to_l2 * k->calls);
    cr_doc_number(d, "gflops", k->flops * k->calls / time);
    cr_doc_number(d, "fraction_of_peak", k->flops * k->calls / time / f->peak);
    cr_doc_number(d, "fraction_of_roofline", limit / time);
    cr_doc_end(d, '}');
}

static void write_kernels(struct cr_doc *d, struct cr_bench *b, const struct figures *f)
{
    cr_doc_begin(d, "kernels", '[');
    for (int i = 0; i < f->program->n_kernels; i++)
        write_kernel(d, b, f, i);
    cr_doc_end(d, ']');
    write_whole(d, "between_kernels_ns", cr_sample_median(&b->profile.between));
}

/* Prints the report as one JSON object; without measurements if the model has not run. */
static void print_json(struct cr_bench *b, const struct figures *f, bool has_run)
{
    struct cr_doc d = cr_json_begin();
    write_compilation(&d, b, f);
    if (has_run) {
        write_speed(&d, b, f);
        write_ratios(&d, b);
    }
    if (has_run && b->options->per_kernel)
        write_kernels(&d, b, f);
    cr_json_end(&d);
}

/* ---- Markdown ---- */

/* Prints the settings of the script as they were given. */
static void print_settings(const struct cr_options *o)
{
    for (int i = 0; i < o->set.n; i++)
        cr_print(stdout, "%s%s=%s", i ? " " : "", o->set.items[i].key, o->set.items[i].value);
}

static void print_columns(const struct cr_options *o, const char *text, const char *each)
{
    printf("%s", text);
    for (int i = 0; i < o->vs.n; i++)
        printf(each, o->vs.items[i]);
    putchar('\n');
}

/* Prints the results of the bench as a table of one row. */
static void print_markdown(struct cr_bench *b, const struct figures *f)
{
    print_columns(b->options,
                  "| model | settings | threads | ms | GFLOP/s | of peak | fastest of peak | "
                  "of roofline | bound | compile ms |",
                  " time / %s |");
    print_columns(b->options, "|---|---|--:|--:|--:|--:|--:|--:|---|--:|", "--:|%.0s");
    printf("| %s | ", f->engine->name);
    print_settings(b->options);
    printf(" | %d | %.4g | %.1f | %.1f%% | %.1f%% | %.1f%% | %s | %.2f |", f->engine->threads,
           f->median_ns * 1e-6, f->gflops, 100 * f->gflops / f->peak, 100 * f->best_of_peak,
           100 * f->limit_ns / f->median_ns, cr_roofline_bound(&f->roofline), f->compile_ns * 1e-6);
    for (int i = 1; i < b->n; i++)
        printf(" %.3f |", cr_sample_median(&b->cases[i].ratios));
    putchar('\n');
}

/* Prints the times of the compilation as a table of one row. */
static void print_compilation_markdown(struct cr_bench *b, const struct figures *f)
{
    puts("| model | settings | script ms | passes ms | emit ms | backend ms | "
         "graph to callable ms | bytes of C | kernels | calls | arena bytes | arena / least |");
    puts("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    printf("| %s | ", f->engine->name);
    print_settings(b->options);
    printf(" | %.2f | %.2f | %.2f | %.2f | %.2f | %zu | %d | %d | %lld | %.3f |\n",
           f->script_ns * 1e-6, f->passes_ns * 1e-6, f->emit_ns * 1e-6, f->backend_ns * 1e-6,
           f->compile_ns * 1e-6, f->program->text_bytes, f->program->n_kernels, f->program->n_calls,
           (long long)f->program->arena_bytes,
           (double)f->program->arena_bytes / (double)f->program->arena_bytes_least);
}

/* ---- the report ---- */

void cr_bench_report(struct cr_bench *b)
{
    struct figures f = figures_of(b);
    if (b->options->json)
        print_json(b, &f, true);
    else if (b->options->markdown)
        print_markdown(b, &f);
    else
        print_text(b, &f);
}

void cr_bench_report_compilation(struct cr_bench *b)
{
    struct figures f = figures_of(b);
    if (b->options->json)
        print_json(b, &f, false);
    else if (b->options->markdown)
        print_compilation_markdown(b, &f);
    else
        print_compilation(&f);
}

void cr_bench_report_round(struct cr_bench *b)
{
    struct figures f = figures_of(b);
    printf("{\"runs\": %d, \"median_ns\": %.0f, \"min_ns\": %.0f, \"flops\": %.0f, "
           "\"peak_gflops\": %.6g}\n",
           b->cases[0].runs.n, f.median_ns, f.min_ns, b->flops, f.peak);
    fflush(stdout);
}
