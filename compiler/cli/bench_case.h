/*
 * bench_case.h - a model under one setting, ready for measurements.
 */
#ifndef CR_BENCH_CASE_H
#define CR_BENCH_CASE_H

#include "model.h"
#include "quantiles.h"

struct cr_bench_case {
    const char *setting;       /* the argument of --vs, or null */
    struct cr_options options; /* a copy of its own */
    crescent_model *model;
    crescent_report report;
    struct cr_arrays inputs, outputs;
    crescent_surplus surplus;
    /* Nanoseconds of the stages of each compilation, and of runs. */
    struct cr_sample script, passes, emit, compile, runs;
    struct cr_sample ratios; /* by round: the first case's time divided by this one's */
    double round_ns;         /* the median of the latest round */
};

/* Applies the argument of a --vs, or of the option `asked`, to a copy of options: another script,
 * `standalone`, or NAME=VALUE. */
int cr_apply_variant(struct cr_options *options, const char *asked, const char *setting,
                     struct cr_error *error);

/* Compiles a case from the options and the argument of a --vs, or null.  Must be closed with
 * cr_bench_case_close, even after a failure. */
int cr_bench_case_open(struct cr_bench_case *bench_case, const struct cr_options *options,
                    const char *setting, struct cr_error *error);

/* Fills parameters and inputs, and allocates outputs. */
int cr_bench_case_fill(struct cr_bench_case *bench_case, struct cr_error *error);

/* Runs once.  Resets the states if they allow no further run, as when a cache is full. */
int cr_bench_case_run(struct cr_bench_case *bench_case, struct cr_error *error);

/* Resets the states after a run that failed because of them.  Returns false if there are none. */
bool cr_bench_case_reset(const struct cr_bench_case *bench_case);

/* Returns whether to go on measuring: of several ranks the first one decides, as all make the same runs. */
bool cr_continues(const struct cr_options *options, bool more);

/* Runs once untimed to warm up, then runs for this many nanoseconds and times each run. */
int cr_bench_case_round(struct cr_bench_case *bench_case, int64_t nanoseconds, struct cr_error *error);

void cr_bench_case_close(struct cr_bench_case *bench_case);

#endif
