/*
 * subject.h - a model under one setting, ready to be measured.
 */
#ifndef CR_SUBJECT_H
#define CR_SUBJECT_H

#include "model.h"
#include "sample.h"

struct cr_subject {
    const char *setting;       /* the argument of --vs, or null */
    struct cr_options options; /* owned */
    crescent_model *model;
    crescent_report report;
    struct cr_arrays inputs, outputs;
    crescent_surplus surplus;
    /* Nanoseconds of the stages of each compilation, and of runs. */
    struct cr_sample script, passes, emit, compile, runs;
    struct cr_sample ratios; /* the first subject's time divided by this one's, by round */
    double round_ns;         /* the median of the latest round */
};

/* Changes options as the argument of --vs, or of the option `asked`, says: another script,
 * `standalone` or NAME=VALUE. */
int cr_vary(struct cr_options *options, const char *asked, const char *setting,
            struct cr_error *error);

/* Compiles the model of the options, changed by the argument of --vs if that is not null.  Close
 * the subject with cr_subject_close also after a failure. */
int cr_subject_open(struct cr_subject *subject, const struct cr_options *options,
                    const char *setting, struct cr_error *error);

/* Fills parameters and inputs, and allocates outputs. */
int cr_subject_fill(struct cr_subject *subject, struct cr_error *error);

/* Runs once.  If the states allow no further run, as when a cache is full, resets them first. */
int cr_subject_run(struct cr_subject *subject, struct cr_error *error);

/* Resets the states after a run that was refused.  False if there are none. */
bool cr_subject_again(const struct cr_subject *subject);

/* Runs once untimed, then timed for `nanoseconds`. */
int cr_subject_round(struct cr_subject *subject, int64_t nanoseconds, struct cr_error *error);

void cr_subject_close(struct cr_subject *subject);

#endif
