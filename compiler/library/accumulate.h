/*
 * accumulate.h - the memory and the sums of a training step over micro-batches.
 */
#ifndef CR_ACCUMULATE_H
#define CR_ACCUMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/error.h"
#include "runtime/ranks.h"

struct crescent_trainer;

/* The memory of a training step over micro-batches, besides its inputs and outputs.  A block has
 * room for all outputs of the entry micro_batch; a partial sum of the tree fills one block. */
struct cr_accumulation {
    int micro_batch, update;     /* the numbers of the two entries */
    float *sums;                 /* one block for each level of the tree of micro-batches */
    int64_t floats;              /* the size of a block */
    int64_t whole; /* the size of a block's first part: the outputs that one rank adds up as a
                      whole */
    bool *in_parts; /* by output of micro_batch: each rank adds up some of its rows; see
                       sum_parts.h */
    int64_t *begin;              /* by output of micro_batch: its offset in a block */
    const void **inputs;         /* by input: the memory that the current entry reads it from */
    void **given;                /* by input: the data for all micro-batches that the caller gave,
                                    or null */
    int32_t number;              /* the number of the current micro-batch in the step */
    uint64_t data;               /* a hash of the data in files, if there are ranks */
    bool compared;               /* parameters, state and data were compared between the ranks, and
                                    are equal */
    struct cr_ranks *ranks;      /* the ranks that share the micro-batches; null if this process
                                    runs all of them */
    struct cr_message *messages; /* the messages that the next exchange sends and receives */
    int n_messages, cap_messages;
};

/* Returns the block of a level of the tree of micro-batches. */
static inline float *cr_block_at(const struct cr_accumulation *a, int level)
{
    return a->sums + level * a->floats;
}

/* Allocates the memory.  cr_accumulation_free must be called even after a failure. */
int cr_accumulation_new(struct crescent_trainer *trainer, struct cr_error *error);
void cr_accumulation_free(struct crescent_trainer *trainer);

/* Makes the ranks of the context share the micro-batches.  Fails if there are more ranks than
 * micro-batches in a step. */
int cr_join_ranks(struct crescent_trainer *trainer, struct cr_error *error);

/* Fails if the parameters, the state or the input files of another rank differ.  All ranks call
 * it. */
int cr_compare_ranks(struct crescent_trainer *trainer, struct cr_error *error);

/* Copies the data of input i for all micro-batches, which follow one another in `tensors`.  Checks
 * ids. */
int cr_give_micro_batches(struct crescent_trainer *trainer, int i, const void *tensors,
                          struct cr_error *error);

/* Runs the entry micro_batch for each micro-batch and adds the outputs.  Each rank runs consecutive
 * micro-batches; afterwards each rank has the sums, or the rows of them, that its update reads. */
int cr_run_micro_batches(struct crescent_trainer *trainer, struct cr_error *error);

/* Returns the inputs of the entry update, by input: the sums, and the state. */
const void *const *cr_update_inputs(struct crescent_trainer *trainer);

/* Returns the sum of gradients of the last step that input number `input` of the entry update
 * reads.  If ranks share the sum, all of them must call this function. */
const float *cr_sum_of(const struct crescent_trainer *trainer, int input);

#endif
