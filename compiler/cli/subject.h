/*
 * subject.h - a model under one setting, ready for measurements.
 */
#ifndef CR_SUBJECT_H
#define CR_SUBJECT_H

#include "model.h"
#include "sample.h"

struct cr_subject {
    const char *setting;       /* the argument of --vs, or null */
    struct cr_options options; /* a copy of its own */
    crescent_model *model;
    crescent_report report;
    struct cr_arrays inputs, outputs;
    crescent_surplus surplus;
    /* Nanoseconds of the stages of each compilation, and of runs. */
    struct cr_sample script, passes, emit, compile, runs;
    struct cr_sample ratios; /* by round: the first subject's time divided by this one's */
    double round_ns;         /* the median of the latest round */
};

/* Applies the argument of a --vs, or of the option `asked`, to a copy of options: another script,
 * `standalone`, or NAME=VALUE. */
int cr_vary(struct cr_options *options, const char *asked, const char *setting,
            struct cr_error *error);

/* Compiles a subject from the options and the argument of a --vs, or null.  Must be closed with
 * cr_subject_close, even after a failure. */
int cr_subject_open(struct cr_subject *subject, const struct cr_options *options,
                    const char *setting, struct cr_error *error);

/* Fills parameters and inputs, and allocates outputs. */
int cr_subject_fill(struct cr_subject *subject, struct cr_error *error);

/* Runs once.  Resets the states if they allow no further run, as when a cache is full. */
int cr_subject_run(struct cr_subject *subject, struct cr_error *error);

/* Resets the states, after a run that failed because of them.  False if there are none. */
bool cr_subject_again(const struct cr_subject *subject);

/* Runs once untimed to warm up, then runs for so many nanoseconds and times each run. */
int cr_subject_round(struct cr_subject *subject, int64_t nanoseconds, struct cr_error *error);

void cr_subject_close(struct cr_subject *subject);

#endif
