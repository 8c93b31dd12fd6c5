/*
 * loss_history.h - the losses of a training from its first step on, in bounded memory.
 *
 * Losses are kept as sums over `width` steps each.  When there would be more than CR_MAX_POINTS
 * sums, neighbours are added and the width doubles.  So the sums depend only on the losses, not on
 * whether the training was interrupted.
 */
#ifndef CR_LOSS_HISTORY_H
#define CR_LOSS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { CR_MAX_POINTS = 1024 };

/* A loss, and the number of steps made before it. */
struct cr_loss_point {
    double step, loss;
};

struct cr_history {
    int64_t first; /* steps before the first one that is kept */
    int64_t steps; /* number of steps that are kept */
    int64_t width; /* steps in a sum, a power of two; 0 before the first */
    double *sums;  /* the last one may cover fewer steps */
    int n, cap;
    struct cr_loss_point *validations; /* sorted by step */
    int n_validations, cap_validations;
};

void cr_history_free(struct cr_history *history);

/* Adds the loss of the next step. */
void cr_history_add(struct cr_history *history, double loss);

/* Adds the validation loss after this number of steps. */
void cr_history_add_validation(struct cr_history *history, int64_t step, double loss);

/* True if the last validation was after this number of steps. */
bool cr_history_is_validated(const struct cr_history *history, int64_t step);

/* Returns point i < history->n: the mean loss over some steps, and their middle. */
struct cr_loss_point cr_history_point(const struct cr_history *history, int i);

/* Return both lists as text for a file; the caller frees it. */
char *cr_history_losses_text(const struct cr_history *history);
char *cr_history_validations_text(const struct cr_history *history);

/* Parses the texts of a training of this many steps; a null text stands for an unknown list.
 * Returns -1 if a text is invalid.  The caller frees the history even then. */
int cr_history_parse(struct cr_history *history, const char *losses, const char *validations,
                     int64_t steps);

#endif
