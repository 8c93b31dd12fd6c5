/*
 * progress.h - prints the progress of a training: on a terminal one line that is overwritten;
 * elsewhere nothing, or a line every few steps; at the end a summary.
 */
#ifndef CR_PROGRESS_H
#define CR_PROGRESS_H

#include "options.h"

struct cr_progress {
    const struct cr_options *options;
    crescent_trainer *trainer;
    bool terminal;
    bool shown;             /* a line of progress is on the terminal, without a newline */
    int64_t first, last;    /* number of steps made before this run; number of steps when it ends */
    int64_t start, written; /* time of the start; time of the last update of the line */
    double first_loss;
};

void cr_progress_begin(struct cr_progress *progress, const struct cr_options *options,
                       crescent_trainer *trainer, int64_t last);

/* Updates the line of progress; called after each step. */
void cr_progress_step(struct cr_progress *progress);

/* Prints the summary; called after the last step. */
void cr_progress_end(struct cr_progress *progress);

/* Returns the status of a training. */
crescent_training cr_status_of(const crescent_trainer *trainer);

#endif
