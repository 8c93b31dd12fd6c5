/*
 * training.h - the struct crescent_trainer: a model and the state of its training.
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
    struct cr_buffers inputs, outputs; /* null where a tensor uses the memory of a parameter or
                                          another port; divided tensors: see shares.h */
    void **results;                    /* by output: the memory that a step writes it to */
    bool *learned;                     /* by parameter: steps replace it */
    struct cr_feeds feeds;
    bool fed;      /* crescent_trainer_feed was called */
    bool *is_set;  /* by input: the caller set its data from memory */
    bool started;  /* crescent_trainer_start was called: every input has a value */
    bool has_step; /* the outputs hold the results of a step */
    struct cr_next_state next_state;
    struct cr_shares shares;             /* the states that are divided among ranks */
    struct cr_accumulation accumulation; /* the sums of gradients over micro-batches */
    int loss, rate, tokens;    /* indices of the outputs loss, lr and tokens, or CR_NONE */
    int64_t step;              /* the number of steps made, including those of earlier runs */
    struct cr_history history; /* includes earlier runs, if the checkpoint has their losses */
    struct cr_validation *validation;
};

static inline struct cr_engine *cr_trainer_engine(const crescent_trainer *t)
{
    return &t->model->engine;
}

/* Finds the output with a name, or sets *output to CR_NONE.  Fails unless it is a single f32 number
 * or, with `whole`, a single i32 number. */
int cr_find_number(const struct cr_engine *engine, const char *name, bool whole, int *output,
                   struct cr_error *error);

/* Checks the caller's list of files for the inputs of an engine; fails for null names and paths. */
int cr_take_files(const struct cr_engine *engine, const crescent_input_file *files, int n,
                  struct cr_error *error);

/* Fails unless crescent_trainer_start was called. */
int cr_check_started(const crescent_trainer *trainer, struct cr_error *error);

void cr_validation_close(struct cr_validation *validation);

#endif
