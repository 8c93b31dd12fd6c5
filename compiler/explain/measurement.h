/*
 * measurement.h - measures the time of each kernel of a model and, in the same rounds, the
 * machine's peak rates; see crescent_explanation_measure.
 */
#ifndef CR_MEASUREMENT_H
#define CR_MEASUREMENT_H

#include "compiler/crescent.h"
#include "compiler/json/json_writer.h"

/* Times of a run and rates of the machine: medians over the rounds. */
struct cr_measurement {
    int rounds;
    double run_ns, run_least_ns, between_ns;
    double *kernel_ns, *kernel_least_ns; /* by kernel: median and minimum of the total time of its
                                          * calls in a run */
    double peak_gflops, memory_gb_s, touched_gb_s, active_gb_s;
    crescent_call_time *calls; /* by call of one run: times relative to the beginning of the first
                                * call */
};

/* Returns an empty measurement with memory for a model's kernels and calls.  cr_measurement_free
 * accepts null. */
struct cr_measurement *cr_measurement_new(const crescent_model *model);
void cr_measurement_free(struct cr_measurement *measurement);

/* Runs the model for about `seconds` and fills the measurement.  Returns a status of crescent.h. */
int cr_measure(struct cr_measurement *measurement, crescent_model *model,
               const void *const *inputs, void *const *outputs, double seconds);

/* Writes the measurement as the member "bench" of the document (docs/explain.md). */
void cr_write_measurement(struct cr_doc *d, const struct cr_measurement *measurement,
                          const crescent_model *model);

#endif
