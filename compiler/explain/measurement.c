#include "measurement.h"

#include <stdlib.h>
#include <unistd.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/sort_order.h"

static crescent_report report_of(const crescent_model *model)
{
    crescent_report report = {0};
    crescent_report_of(model, &report);
    return report;
}

struct cr_measurement *cr_measurement_new(const crescent_model *model)
{
    const crescent_report r = report_of(model);
    struct cr_measurement *m = cr_calloc(1, sizeof *m);
    m->kernel_ns = cr_calloc((size_t)r.n_kernels, sizeof *m->kernel_ns);
    m->kernel_least_ns = cr_calloc((size_t)r.n_kernels, sizeof *m->kernel_least_ns);
    m->calls = cr_calloc((size_t)r.n_calls, sizeof *m->calls);
    return m;
}

void cr_measurement_free(struct cr_measurement *m)
{
    if (m) {
        free(m->kernel_ns);
        free(m->kernel_least_ns);
        free(m->calls);
    }
    free(m);
}

/* ---- times ---- */

enum { LEAST_ROUNDS = 5, MOST_ROUNDS = 1000, PAUSE_US = 300 };

/* Samples of several quantities, one for each round: [quantity][MOST_ROUNDS]. */
struct samples {
    double *data;
    int rounds;
};

enum { RUN, BETWEEN, PEAK, MEMORY, TOUCHED, ACTIVE, FIRST_KERNEL };

/* Returns the median of a quantity.  Sorts its samples, so that the smallest comes first. */
static double median_of(const struct samples *s, int number)
{
    double *first = s->data + (size_t)number * MOST_ROUNDS;
    qsort(first, (size_t)s->rounds, sizeof *first, cr_compare_doubles);
    return s->rounds % 2 ? first[s->rounds / 2]
                         : (first[s->rounds / 2 - 1] + first[s->rounds / 2]) / 2;
}

static void add_sample(struct samples *s, int number, double value)
{
    s->data[(size_t)number * MOST_ROUNDS + (size_t)s->rounds] = value;
}

/* Runs the model.  Resets the states if they allow no further run, for example because a cache is
 * full. */
static int run_again(crescent_model *m, const void *const *inputs, void *const *outputs,
                     double *kernel_ns)
{
    for (int i = 0;; i++) {
        int status = kernel_ns ? crescent_run_timed(m, inputs, outputs, kernel_ns)
                               : crescent_run(m, inputs, outputs);
        if (!status || i || !crescent_port_count(m, CRESCENT_STATE))
            return status;
        crescent_reset_states(m);
    }
}

/* Measures one round: the rates of the machine, a whole run, and a run kernel by kernel. */
static int measure_round(crescent_model *m, crescent_machine *machine, struct samples *s,
                         const void *const *inputs, void *const *outputs, double *kernel_ns)
{
    const crescent_report r = report_of(m);
    add_sample(s, PEAK, crescent_machine_flops(machine));
    add_sample(s, MEMORY, crescent_machine_read(machine, 0));
    add_sample(s, TOUCHED, crescent_machine_read(machine, r.border_bytes + r.parameter_bytes));
    add_sample(s, ACTIVE, crescent_machine_read(machine, r.border_bytes + r.arena_bytes));
    usleep(PAUSE_US);
    if (run_again(m, inputs, outputs, NULL))
        return -1;
    int64_t start = crescent_clock();
    if (run_again(m, inputs, outputs, NULL))
        return -1;
    int64_t ran = crescent_clock();
    if (run_again(m, inputs, outputs, kernel_ns))
        return -1;
    double between = (double)(crescent_clock() - ran);
    add_sample(s, RUN, (double)(ran - start));
    for (int i = 0; i < r.n_kernels; i++) {
        add_sample(s, FIRST_KERNEL + i, kernel_ns[i]);
        between -= kernel_ns[i];
    }
    add_sample(s, BETWEEN, between);
    s->rounds++;
    return 0;
}

/* Sets the members of a measurement to the medians of all rounds. */
static void take_samples(struct cr_measurement *m, const struct samples *s, int n_kernels)
{
    m->rounds = s->rounds;
    m->run_ns = median_of(s, RUN);
    m->run_least_ns = s->data[RUN * MOST_ROUNDS];
    m->between_ns = median_of(s, BETWEEN);
    m->peak_gflops = median_of(s, PEAK);
    m->memory_gb_s = median_of(s, MEMORY);
    m->touched_gb_s = median_of(s, TOUCHED);
    m->active_gb_s = median_of(s, ACTIVE);
    for (int i = 0; i < n_kernels; i++) {
        m->kernel_ns[i] = median_of(s, FIRST_KERNEL + i);
        m->kernel_least_ns[i] = s->data[(size_t)(FIRST_KERNEL + i) * MOST_ROUNDS];
    }
}

/* Measures rounds for about `seconds`, then takes the medians. */
static int measure_rounds(struct cr_measurement *m, crescent_model *model,
                          crescent_machine *machine, const void *const *inputs,
                          void *const *outputs, double seconds)
{
    int n = report_of(model).n_kernels, status = 0;
    struct samples s = {cr_calloc((size_t)(FIRST_KERNEL + n) * MOST_ROUNDS, sizeof *s.data), 0};
    double *kernel_ns = cr_calloc((size_t)n, sizeof *kernel_ns);
    int64_t end = crescent_clock() + (int64_t)(seconds * 1e9);
    crescent_machine_flops(machine);
    while (!status && s.rounds < MOST_ROUNDS &&
           (s.rounds < LEAST_ROUNDS || crescent_clock() < end))
        status = measure_round(model, machine, &s, inputs, outputs, kernel_ns);
    if (!status)
        take_samples(m, &s, n);
    free(kernel_ns);
    free(s.data);
    return status;
}

/* Records when each call of a run began and ended, in ns since the beginning of the first call. */
static int trace_run(struct cr_measurement *m, crescent_model *model, const void *const *inputs,
                     void *const *outputs)
{
    int n = report_of(model).n_calls;
    int status = crescent_reset_states(model);
    if (!status)
        status = crescent_run_traced(model, inputs, outputs, m->calls);
    int64_t start = n ? m->calls[0].begin_ns : 0;
    for (int i = 0; i < n && !status; i++) {
        m->calls[i].begin_ns -= start;
        m->calls[i].end_ns -= start;
    }
    return status;
}

/* Measures a model, and the rates of the machine with the model's own threads. */
int cr_measure(struct cr_measurement *m, crescent_model *model, const void *const *inputs,
               void *const *outputs, double seconds)
{
    crescent_machine *machine;
    int status = crescent_machine_open(model, &machine);
    if (!status)
        status = measure_rounds(m, model, machine, inputs, outputs, seconds);
    crescent_machine_close(machine);
    return status ? status : trace_run(m, model, inputs, outputs);
}

/* ---- the document ---- */

/* Writes a kernel's times, and two lower bounds for all its calls: operations at the peak rate,
 * and bytes at the bandwidth of the memory they come from.  A run reads all weights between two
 * uses of a layer's weights, so weights count at the bandwidth of a working set of all bytes of a
 * run.  Activations were just written, so they count at the bandwidth of a working set of the
 * arena. */
static void write_time(struct cr_doc *d, const struct cr_measurement *m,
                       const crescent_model *model, int i)
{
    crescent_kernel k;
    crescent_kernel_at(model, i, &k);
    double activations = k.bytes_read - k.bytes_weights + k.bytes_written;
    double flops_ns = k.calls * k.flops / m->peak_gflops;
    double memory_ns = k.calls * (k.bytes_weights / m->touched_gb_s + activations / m->active_gb_s);
    cr_doc_begin(d, NULL, '{');
    cr_doc_number(d, "median_ns", m->kernel_ns[i]);
    cr_doc_number(d, "least_ns", m->kernel_least_ns[i]);
    cr_doc_number(d, "flops_ns", flops_ns);
    cr_doc_number(d, "memory_ns", memory_ns);
    cr_doc_end(d, '}');
}

void cr_write_measurement(struct cr_doc *d, const struct cr_measurement *m,
                          const crescent_model *model)
{
    const crescent_report r = report_of(model);
    cr_doc_begin(d, "bench", '{');
    cr_doc_text(d, "isa", r.isa);
    cr_doc_integer(d, "threads", r.threads);
    cr_doc_integer(d, "rounds", m->rounds);
    cr_doc_number(d, "run_ns", m->run_ns);
    cr_doc_number(d, "run_least_ns", m->run_least_ns);
    cr_doc_number(d, "between_ns", m->between_ns);
    cr_doc_number(d, "peak_gflops", m->peak_gflops);
    cr_doc_number(d, "memory_gb_s", m->memory_gb_s);
    cr_doc_number(d, "weights_gb_s", m->touched_gb_s);
    cr_doc_number(d, "activations_gb_s", m->active_gb_s);
    cr_doc_begin(d, "kernels", '[');
    for (int i = 0; i < r.n_kernels; i++)
        write_time(d, m, model, i);
    cr_doc_end(d, ']');
    cr_doc_begin(d, "calls", '[');
    for (int i = 0; i < r.n_calls; i++)
        cr_doc_integer(d, NULL, m->calls[i].end_ns - m->calls[i].begin_ns);
    cr_doc_end(d, ']');
    cr_doc_end(d, '}');
}
