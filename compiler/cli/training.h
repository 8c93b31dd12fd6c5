/*
 * training.h - a model and its state, one step after another.
 *
 * The script's graph is one step.  What it gives out under the name of a parameter or an
 * input is the value for the next step; the other inputs are data, from files.
 */
#ifndef CR_TRAINING_H
#define CR_TRAINING_H

#include "compiler/emit/handover.h"
#include "feed.h"
#include "history.h"

struct cr_training {
    const struct cr_options *options;
    const struct cr_script *script; /* of the model */
    struct cr_engine engine;        /* keeps the parameters as they are, too */
    struct cr_arrays inputs, outputs;
    struct cr_feeds feeds;
    struct cr_handover handover;
    int loss, rate, tokens;    /* outputs by these names: loss, lr, tokens; CR_NONE without */
    int64_t step;              /* how many were made, in earlier runs too */
    struct cr_history history; /* the losses, in earlier runs too where the checkpoint has them */
    struct cr_surplus surplus;
};

/* Compiles the model, whose graph is used up and which must outlive the training, and makes the
 * state before the first step: parameters from --weights or drawn, inputs as their inits say. */
int cr_training_open(struct cr_training *training, struct cr_model *model, struct cr_error *error);
void cr_training_close(struct cr_training *training);

/* Lines on stderr about what may not be meant: for a training that will begin, since a failure
 * says one line only. */
void cr_training_note(const struct cr_training *training);

/* One step.  A loss that is no finite number is an error: the state, which it may have spoilt,
 * is not to be saved then. */
int cr_training_step(struct cr_training *training, struct cr_error *error);

/* The number that an output of one element is, as of the last step. */
double cr_training_value(const struct cr_training *training, int output);

/* Finds the output of that name, CR_NONE without, which must be one f32 or, if `whole`, one i32. */
int cr_training_number(const struct cr_engine *engine, const char *name, bool whole, int *output,
                       struct cr_error *error);

/*
 * Saves the whole state and the losses, or only the parameters, as safetensors; reads the whole
 * state.  Refused are values that no training can go on with: a parameter that a step replaces
 * and that is not finite, or a state that is NaN.  What stands in the file then stays there.
 */
int cr_checkpoint_write(const struct cr_training *training, const char *path,
                        struct cr_error *error);
int cr_checkpoint_write_params(const struct cr_training *training, const char *path,
                               struct cr_error *error);

/* All that writing does but giving a file its name: what would be refused then, for want of room
 * too, is refused now.  Either path may be null. */
int cr_checkpoint_rehearse(const struct cr_training *training, const char *checkpoint,
                           const char *params, struct cr_error *error);

int cr_checkpoint_read(struct cr_training *training, const char *path, struct cr_error *error);

/* Goes on as a checkpoint was made: the seed and the options of its script count where the
 * command line does not say otherwise. */
int cr_checkpoint_settings(struct cr_options *options, const char *path, struct cr_error *error);

/* A line on stderr about options that are not what they were when the checkpoint was made. */
void cr_checkpoint_note(const struct cr_training *training);

#endif
