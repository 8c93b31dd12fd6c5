/*
 * progress.h - what a training says while it runs: on a terminal one line that is written
 * over again, elsewhere nothing, or a line every so many steps; and a summary.
 */
#ifndef CR_PROGRESS_H
#define CR_PROGRESS_H

#include "options.h"

struct cr_progress {
    const struct cr_options *options;
    crescent_trainer *trainer;
    bool terminal;
    bool shown;             /* a line on the terminal has no end yet */
    int64_t first, last;    /* steps made before this run, and after it */
    int64_t start, written; /* when it began, and when the line was last written */
    double first_loss;
};

void cr_progress_begin(struct cr_progress *progress, const struct cr_options *options,
                       crescent_trainer *trainer, int64_t last);

/* After each step. */
void cr_progress_step(struct cr_progress *progress);

/* The summary of the steps that were made, after the last one. */
void cr_progress_end(struct cr_progress *progress);

/* Where a training stands. */
crescent_training cr_status_of(const crescent_trainer *trainer);

#endif
