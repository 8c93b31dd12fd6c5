/* bench_case.h - a model under one setting, which a bench measures. */
#ifndef CR_BENCH_CASE_H
#define CR_BENCH_CASE_H

#include "model.h"
#include "quantiles.h"

struct cr_bench_case {
    const char *setting;       /* the argument of --vs that changes the model, or null */
    struct cr_options options; /* this case's own copy of the options */
    crescent_model *model;
    crescent_report report;
    struct cr_arrays inputs, outputs;
    crescent_surplus surplus;
    /* Times in nanoseconds: of the stages of each compilation, and of runs. */
    struct cr_sample script, passes, emit, compile, runs;
    struct cr_sample ratios; /* for each round: the first case's time divided by this case's time */
    double round_ns;         /* median time of a run in the latest round */
};

/* Changes a copy of the options by the argument `setting` of --vs or of the option called
 * `asked`: another script, `standalone`, or NAME=VALUE. */
int cr_apply_variant(struct cr_options *options, const char *asked, const char *setting,
                     struct cr_error *error);

/* Compiles a case from the options, changed by the argument of a --vs unless that is null.  The
 * caller must call cr_bench_case_close, even after a failure. */
int cr_bench_case_open(struct cr_bench_case *bench_case, const struct cr_options *options,
                    const char *setting, struct cr_error *error);

/* Fills parameters and inputs, and allocates outputs. */
int cr_bench_case_fill(struct cr_bench_case *bench_case, struct cr_error *error);

/* Runs once.  Resets the states if they allow no further run, for example because a cache is
 * full. */
int cr_bench_case_run(struct cr_bench_case *bench_case, struct cr_error *error);

/* Resets the states after a run that failed because of them.  Returns false if the model has no
 * states. */
bool cr_bench_case_reset(const struct cr_bench_case *bench_case);

/* Returns `more`, whether to continue measuring; with several ranks, the first rank's value, so
 * that all ranks make the same number of runs. */
bool cr_continues(const struct cr_options *options, bool more);

/* Runs once untimed as a warm-up, then runs for `nanoseconds` and times each run. */
int cr_bench_case_round(struct cr_bench_case *bench_case, int64_t nanoseconds, struct cr_error *error);

void cr_bench_case_close(struct cr_bench_case *bench_case);

#endif
