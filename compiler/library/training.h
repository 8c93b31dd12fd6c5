/*
 * training.h - a model and its state, one step after another: what is behind crescent_trainer.
 */
#ifndef CR_TRAINING_H
#define CR_TRAINING_H

#include "compiler/emit/handover.h"
#include "feed.h"
#include "handles.h"
#include "history.h"

struct cr_validation; /* validation.c */

struct crescent_trainer {
    crescent_context *context;
    crescent_model *model; /* whose engine keeps the parameters as they are, too */
    struct cr_buffers inputs, outputs; /* null: a parameter or an input has the output's memory */
    void **results;                    /* by output: where a step puts it */
    bool *learned;                     /* by parameter: a step replaces it */
    struct cr_feeds feeds;
    bool fed;      /* crescent_trainer_feed was called */
    bool *is_set;  /* by input: its data came from memory */
    bool started;  /* every input has a value */
    bool has_step; /* the outputs are those of a step */
    struct cr_handover handover;
    int loss, rate, tokens;    /* outputs by these names: loss, lr, tokens; CR_NONE without */
    int64_t step;              /* how many were made, in earlier runs too */
    struct cr_history history; /* the losses, in earlier runs too where the checkpoint has them */
    struct cr_validation *validation;
};

static inline struct cr_engine *cr_trainer_engine(const crescent_trainer *t)
{
    return &t->model->engine;
}

/* Finds the output of that name, CR_NONE without, which must be one f32 or, if `whole`, one i32. */
int cr_find_number(const struct cr_engine *engine, const char *name, bool whole, int *output,
                   struct cr_error *error);

/* Files for the inputs of an engine, from the caller's; refused are null names and paths. */
int cr_take_files(const struct cr_engine *engine, const crescent_input_file *files, int n,
                  struct cr_error *error);

/* Refuses what needs crescent_trainer_start before. */
int cr_check_started(const crescent_trainer *trainer, struct cr_error *error);

void cr_validation_close(struct cr_validation *validation);

#endif
