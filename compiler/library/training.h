/*
 * training.h - a training, the struct crescent_trainer: a model and its state.
 */
#ifndef CR_TRAINING_H
#define CR_TRAINING_H

#include "accumulate.h"
#include "compiler/emit/next_state.h"
#include "handles.h"
#include "input_batches.h"
#include "loss_history.h"
#include "shares.h"

struct cr_validation; /* validation.c */

struct crescent_trainer {
    crescent_context *context;
    crescent_model *model; /* its engine also keeps the parameters unpacked */
    struct cr_buffers inputs, outputs; /* null: shares memory of a parameter or an input; see shares.h */
    void **results;                    /* by output: the memory that a step writes it to */
    bool *learned;                     /* by parameter: true if steps replace it */
    struct cr_feeds feeds;
    bool fed;      /* crescent_trainer_feed was called */
    bool *is_set;  /* by input: its data came from memory */
    bool started;  /* every input has a value */
    bool has_step; /* the outputs hold the results of a step */
    struct cr_next_state next_state;
    struct cr_shares shares;             /* states of which this rank has a part */
    struct cr_accumulation accumulation; /* the sums of gradients over micro-batches */
    int loss, rate, tokens;    /* indices of the outputs loss, lr, tokens; or CR_NONE */
    int64_t step;              /* steps made, including earlier runs */
    struct cr_history history; /* also of earlier runs, if the checkpoint has them */
    struct cr_validation *validation;
};

static inline struct cr_engine *cr_trainer_engine(const crescent_trainer *t)
{
    return &t->model->engine;
}

/* Finds the output with a name, or returns CR_NONE. Fails unless it is one f32 or, if `whole`,
 * one i32. */
int cr_find_number(const struct cr_engine *engine, const char *name, bool whole, int *output,
                   struct cr_error *error);

/* Takes the caller's files for the inputs of an engine; fails for null names and paths. */
int cr_take_files(const struct cr_engine *engine, const crescent_input_file *files, int n,
                  struct cr_error *error);

/* Fails unless crescent_trainer_start was called. */
int cr_check_started(const crescent_trainer *trainer, struct cr_error *error);

void cr_validation_close(struct cr_validation *validation);

#endif
