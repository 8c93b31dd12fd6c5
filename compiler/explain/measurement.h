/*
 * measurement.h - what each kernel of a model takes, and what the machine can do meanwhile; see
 * crescent_explanation_measure.
 */
#ifndef CR_MEASUREMENT_H
#define CR_MEASUREMENT_H

#include "compiler/crescent.h"
#include "json_writer.h"

/* What a run took and what the machine could do, in medians. */
struct cr_measurement {
    int rounds;
    double run_ns, run_least_ns, between_ns;
    double *kernel_ns, *kernel_least_ns; /* by kernel, all its calls in a run */
    double peak_gflops, memory_gb_s, touched_gb_s, active_gb_s;
    crescent_call_time *calls; /* of one run, from the beginning of the first one on */
};

/* With room for the kernels and the calls of a model; null stands for none. */
struct cr_measurement *cr_measurement_new(const crescent_model *model);
void cr_measurement_free(struct cr_measurement *measurement);

/* Runs the model for about so many seconds.  Returns a crescent_ status. */
int cr_measure(struct cr_measurement *measurement, crescent_model *model,
               const void *const *inputs, void *const *outputs, double seconds);

/* Writes it as "bench" of the document (docs/explain.md). */
void cr_write_measurement(struct cr_doc *d, const struct cr_measurement *measurement,
                          const crescent_model *model);

#endif
