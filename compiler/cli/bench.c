/* bench.c - crescent bench: compares the run time of a model with the machine's limits and with
 * other settings. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_report.h"
#include "compiler/ir/mem.h"
#include "verbs.h"

/* A round times runs of each case for ROUND_NS nanoseconds.  Threads of a pool poll for work for
 * some microseconds; after a pause of PAUSE_US they sleep. */
enum { LEAST_ROUNDS = 5, ROUND_NS = 1000000, PAUSE_US = 300 };

/* ---- counting ---- */

/* Returns the arithmetic that the rules for a model's products name; "int8" if they name both
 * int8 and bf16. */
static const char *arithmetic_of(const char *rules)
{
    return rules && strstr(rules, "int8") ? "int8" : "bf16";
}

static void count(struct cr_bench *b)
{
    const crescent_report *r = &b->compiled;
    crescent_report_of(cr_bench_compiled(b), &b->compiled);
    b->active = r->border_bytes + r->arena_bytes;
    b->touched = r->border_bytes + r->parameter_bytes;
    b->arithmetic = r->n_rounded ? arithmetic_of(b->options->arithmetic) : NULL;
    b->flops = r->flops;
    b->flops_again = r->flops_again;
}

/* ---- opening ---- */

/* Compiles a twin of the model: the interpreter has no kernels whose operations could be
 * counted. */
static int open_twin(struct cr_bench *b, struct cr_error *error)
{
    const crescent_config config = cr_config_of(b->options, CRESCENT_TCC);
    crescent_graph *graph;
    if (cr_graph_load(b->options, &graph, error))
        return -1;
    int status = cr_passed(b->options, crescent_compile(graph, &config, &b->twin), error);
    crescent_graph_close(graph);
    return status;
}

/* Opens the model, then the model changed by the argument of each --vs. */
static int open_cases(struct cr_bench *b, struct cr_error *error)
{
    const struct cr_options *o = b->options;
    b->cases = cr_calloc((size_t)o->vs.n + 1, sizeof *b->cases);
    for (b->n = 0; b->n <= o->vs.n;) {
        int i = b->n++;
        if (cr_bench_case_open(&b->cases[i], o, i ? o->vs.items[i - 1] : NULL, error))
            return -1;
    }
    if (!b->cases[0].report.compiled)
        return open_twin(b, error);
    return 0;
}

static int check_options(const struct cr_options *o, struct cr_error *error)
{
    crescent_backend backend = cr_backend_of(o);
    if (o->per_kernel && backend != CRESCENT_TCC && backend != CRESCENT_CC)
        return cr_fail(error, "--per-kernel: backend %s has no kernels, expected tcc or cc",
                       crescent_backend_name(backend));
    if (o->turns && (o->vs.n || o->per_kernel))
        return cr_fail(error, "--turns: found --vs or --per-kernel, expected neither, as one model "
                              "is measured");
    return 0;
}

static int prepare(struct cr_bench *b, struct cr_error *error)
{
    for (int i = 0; i < b->n; i++)
        if (cr_bench_case_fill(&b->cases[i], error))
            return -1;
    if (b->options->per_kernel)
        cr_profile_open(&b->profile, &b->cases[0]);
    return cr_passed(b->options, crescent_machine_open(cr_bench_compiled(b), &b->machine), error);
}

/* ---- measuring ---- */

static void measure_machine(struct cr_bench *b)
{
    cr_sample_add(&b->peak, crescent_machine_flops(b->machine));
    if (b->arithmetic)
        cr_sample_add(&b->products, crescent_machine_products(b->machine, b->arithmetic));
    cr_sample_add(&b->memory, crescent_machine_read(b->machine, 0));
    cr_sample_add(&b->touched_read, crescent_machine_read(b->machine, b->touched));
    cr_sample_add(&b->active_read, crescent_machine_read(b->machine, b->active));
}

/* Measures the machine, then every case.  Each round reverses the order of cases, so that a slow
 * moment affects all of them and none is always first. */
static int measure_round(struct cr_bench *b, struct cr_error *error)
{
    measure_machine(b);
    for (int i = 0; i < b->n; i++) {
        struct cr_bench_case *s = &b->cases[b->rounds % 2 ? b->n - 1 - i : i];
        usleep(PAUSE_US);
        if (cr_bench_case_round(s, ROUND_NS, error))
            return -1;
    }
    for (int i = 1; i < b->n; i++)
        cr_sample_add(&b->cases[i].ratios, b->cases[0].round_ns / b->cases[i].round_ns);
    if (b->options->per_kernel) {
        usleep(PAUSE_US);
        if (cr_bench_case_run(&b->cases[0], error) ||
            cr_profile_run(&b->profile, &b->cases[0], error))
            return -1;
    }
    b->rounds++;
    return 0;
}

static int measure(struct cr_bench *b, struct cr_error *error)
{
    int64_t end = crescent_clock() + (int64_t)(b->options->seconds * 1e9) * b->n;
    crescent_machine_flops(b->machine);
    while (cr_continues(b->options, b->rounds < LEAST_ROUNDS || crescent_clock() < end))
        if (measure_round(b, error))
            return -1;
    return 0;
}

/* Returns a character of standard input, or EOF; with several ranks, the first rank reads it for
 * all. */
static int next_character(const struct cr_bench *b)
{
    const crescent_context *context = b->options->context;
    int c = crescent_ranks_of(context).rank ? 0 : getchar();
    crescent_ranks_share(context, &c, sizeof c);
    return c;
}

/* Measures one round for each line of standard input, so that another program can alternate
 * rounds of this bench with rounds of its own. */
static int alternate(struct cr_bench *b, struct cr_error *error)
{
    for (int c; (c = next_character(b)) != EOF;) {
        if (c != '\n')
            continue;
        cr_sample_free(&b->cases[0].runs);
        if (cr_bench_case_round(&b->cases[0], (int64_t)(b->options->seconds * 1e9), error))
            return -1;
        cr_sample_add(&b->peak, crescent_machine_flops(b->machine));
        cr_bench_report_round(b);
    }
    return 0;
}

/* ---- the verb ---- */

/* Compiles all cases, then makes the measurements that the options request. */
static int run(struct cr_bench *b, struct cr_error *error)
{
    if (check_options(b->options, error) || open_cases(b, error))
        return 2;
    count(b);
    if (b->options->compile_only) {
        cr_bench_report_compilation(b);
        return 0;
    }
    if (prepare(b, error) || (b->options->turns ? alternate(b, error) : measure(b, error)))
        return 2;
    if (!b->options->turns)
        cr_bench_report(b);
    cr_note_surplus(&b->cases[0].surplus);
    return 0;
}

/* Runs the bench; closes everything, even after a failure. */
int cr_verb_bench(const struct cr_options *options, struct cr_error *error)
{
    struct cr_bench b = {.options = options};
    int status = run(&b, error);
    cr_profile_close(&b.profile);
    crescent_machine_close(b.machine);
    for (int i = 0; i < b.n; i++)
        cr_bench_case_close(&b.cases[i]);
    free(b.cases);
    crescent_close(b.twin);
    struct cr_sample *samples[] = {&b.peak, &b.products, &b.memory, &b.touched_read, &b.active_read};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        cr_sample_free(samples[i]);
    return status;
}
