/*
 * subject.h - a model under one setting, ready to be measured.
 */
#ifndef CR_SUBJECT_H
#define CR_SUBJECT_H

#include "model.h"
#include "sample.h"

struct cr_subject {
    const char *setting;       /* the word of --vs, or null */
    struct cr_options options; /* its own */
    crescent_model *model;
    crescent_report report;
    struct cr_arrays inputs, outputs;
    crescent_surplus surplus;
    /* Nanoseconds: of the stages of each compilation, and of runs. */
    struct cr_sample script, passes, emit, compile, runs;
    struct cr_sample ratios; /* the first subject's time over this one's, by round */
    double round_ns;         /* the median of the latest round */
};

/* Changes a copy of options as the word of a --vs, or of the option `asked`, says: another script,
 * `standalone`, NAME=VALUE. */
int cr_vary(struct cr_options *options, const char *asked, const char *setting,
            struct cr_error *error);

/* From the command line's options and the word of a --vs, or null, to code that can be called.
 * Closed with cr_subject_close also after a failure. */
int cr_subject_open(struct cr_subject *subject, const struct cr_options *options,
                    const char *setting, struct cr_error *error);

/* Parameters, inputs, and room for outputs. */
int cr_subject_fill(struct cr_subject *subject, struct cr_error *error);

/* One run.  Where the states allow no further one, as when a cache is full, they begin again. */
int cr_subject_run(struct cr_subject *subject, struct cr_error *error);

/* After a run that was refused: begins again with the states.  False if there are none. */
bool cr_subject_again(const struct cr_subject *subject);

/* One run that is not timed and then, for so many nanoseconds, runs that are. */
int cr_subject_round(struct cr_subject *subject, int64_t nanoseconds, struct cr_error *error);

void cr_subject_close(struct cr_subject *subject);

#endif
