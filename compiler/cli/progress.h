/*
 * progress.h - the progress of a training: a line that is overwritten if standard output is a
 * terminal, a line every so many steps if --log is given, and a summary.
 */
#ifndef CR_PROGRESS_H
#define CR_PROGRESS_H

#include "options.h"

struct cr_progress {
    const struct cr_options *options;
    crescent_trainer *trainer;
    bool terminal;
    bool shown;             /* the line on the terminal is not ended */
    int64_t first, last;    /* the number of the step before this run, and of its last step */
    int64_t start, written; /* when the run began; when the line was last written */
    double first_loss;
};

void cr_progress_begin(struct cr_progress *progress, const struct cr_options *options,
                       crescent_trainer *trainer, int64_t last);

/* Shows progress; call it after each step. */
void cr_progress_step(struct cr_progress *progress);

/* Prints the summary, after the last step. */
void cr_progress_end(struct cr_progress *progress);

/* Returns the state of a training. */
crescent_training cr_status_of(const crescent_trainer *trainer);

#endif
