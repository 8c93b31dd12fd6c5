/*
 * validation.h - the loss of a training on data that it does not learn from.
 *
 * The graph is that of the same script, with its option `validation` set to true if it declares
 * one, and with the output `loss` alone: a forward pass.  Parameters and state are those of the
 * training as they are; nothing is updated.
 */
#ifndef CR_VALIDATION_H
#define CR_VALIDATION_H

#include <signal.h>

#include "training.h"

struct cr_validation {
    struct cr_options options; /* the training's, and `validation` set */
    struct cr_model model;
    struct cr_engine engine;
    struct cr_arrays inputs, outputs;
    struct cr_feeds feeds; /* of --validation-input */
    int *param, *state;    /* by parameter, by input: the training's, or CR_NONE */
};

/*
 * Compiles the forward pass.  Refused are random numbers in the loss of a script that has no
 * option `validation`, and data that would be those of the training.  A failure leaves nothing
 * to close.
 */
int cr_validation_open(struct cr_validation *validation, const struct cr_training *training,
                       struct cr_error *error);
void cr_validation_close(struct cr_validation *validation);

/*
 * The mean of the losses of all batches, with what the training has learned so far.  Returns 0,
 * -1 with the error set (also for a loss that is no finite number), or 1 if `stop`, which may be
 * null, became true meanwhile.
 */
int cr_validation_run(struct cr_validation *validation, const struct cr_training *training,
                      const volatile sig_atomic_t *stop, double *loss, struct cr_error *error);

#endif
