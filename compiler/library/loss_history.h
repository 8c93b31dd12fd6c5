/*
 * loss_history.h - the losses of a training from its first step on, in bounded memory.
 *
 * Losses are stored as sums over `width` steps each.  When there would be more than CR_MAX_POINTS
 * sums, neighbouring sums are added and the width doubles.  So the sums depend only on the losses,
 * and not on interruptions of the training.
 */
#ifndef CR_LOSS_HISTORY_H
#define CR_LOSS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { CR_MAX_POINTS = 1024 };

/* A loss, and the number of steps that were made before it. */
struct cr_loss_point {
    double step, loss;
};

struct cr_history {
    int64_t first; /* the number of steps before the first stored loss */
    int64_t steps; /* the number of steps whose losses are stored */
    int64_t width; /* the steps of a sum, a power of two; 0 before the first loss */
    double *sums;  /* the last sum may cover fewer steps */
    int n, cap;
    struct cr_loss_point *validations; /* sorted by step */
    int n_validations, cap_validations;
};

void cr_history_free(struct cr_history *history);

/* Adds the loss of the next step. */
void cr_history_add(struct cr_history *history, double loss);

/* Adds a validation loss after `step` steps. */
void cr_history_add_validation(struct cr_history *history, int64_t step, double loss);

/* True if the last validation was after `step` steps. */
bool cr_history_is_validated(const struct cr_history *history, int64_t step);

/* Returns point i < history->n: the mean loss over the steps of a sum, at the middle of these
 * steps. */
struct cr_loss_point cr_history_point(const struct cr_history *history, int i);

/* These return the losses and the validations as text for a file; the caller frees it. */
char *cr_history_losses_text(const struct cr_history *history);
char *cr_history_validations_text(const struct cr_history *history);

/* Parses the texts of a training of `steps` steps.  Null texts stand for losses that are not known.
 * Returns -1 if a text is invalid.  The caller frees the history, also then. */
int cr_history_parse(struct cr_history *history, const char *losses, const char *validations,
                     int64_t steps);

#endif
