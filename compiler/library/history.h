/*
 * history.h - the losses of a training from its first step on, in bounded memory.
 *
 * Losses are kept as sums of `width` steps each.  Where there would be more than CR_MAX_POINTS
 * sums, neighbours are added and the width doubles, so that what is kept is a function of the
 * losses alone, whether the training was interrupted or not.
 */
#ifndef CR_HISTORY_H
#define CR_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { CR_MAX_POINTS = 1024 };

/* A loss, and after how many steps it was found. */
struct cr_loss_point {
    double step, loss;
};

struct cr_history {
    int64_t first; /* steps made before the first that is kept */
    int64_t steps; /* how many are kept */
    int64_t width; /* steps of a sum, a power of two; 0 before the first */
    double *sums;  /* the last one may be of fewer steps */
    int n, cap;
    struct cr_loss_point *validations; /* in order of their steps */
    int n_validations, cap_validations;
};

void cr_history_free(struct cr_history *history);

/* The loss of the next step. */
void cr_history_add(struct cr_history *history, double loss);

/* The loss of validation after so many steps. */
void cr_history_add_validation(struct cr_history *history, int64_t step, double loss);

/* Whether there is a loss of validation after so many steps, and none later. */
bool cr_history_is_validated(const struct cr_history *history, int64_t step);

/* Point i < history->n: the mean of some steps, and the middle of them. */
struct cr_loss_point cr_history_point(const struct cr_history *history, int i);

/* Both lists as text, for a file; to be freed. */
char *cr_history_losses_text(const struct cr_history *history);
char *cr_history_validations_text(const struct cr_history *history);

/* Reads the texts of a training of so many steps, either of which may be null: none are known
 * then.  Returns -1 if they are no such texts; the history is to be freed all the same. */
int cr_history_parse(struct cr_history *history, const char *losses, const char *validations,
                     int64_t steps);

#endif
