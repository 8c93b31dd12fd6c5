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

/* The memory of a step over micro-batches, besides the ports.  A sum is one block of memory for all
 * outputs of the entry micro_batch. */
struct cr_accumulation {
    int micro_batch, update;     /* the entries */
    float *sums;                 /* the blocks of the partial sums that wait at a time */
    int64_t floats;              /* of a block */
    int64_t whole; /* the first floats of a block: the outputs of which a rank has all or nothing */
    bool *in_parts; /* by output of micro_batch: each rank adds some rows of it; see sum_parts.h */
    int64_t *begin;              /* by output of micro_batch: its first element in a block */
    const void **inputs;         /* by input: the memory that the running entry reads */
    void **given;                /* by input: data of all micro-batches from the caller, or null */
    int32_t number;              /* of the running micro-batch in the step */
    uint64_t data;               /* a hash of the data in files, if there are ranks */
    bool compared;               /* the ranks began alike */
    struct cr_ranks *ranks;      /* that share the micro-batches; null: this process has all */
    struct cr_message *messages; /* to be exchanged together */
    int n_messages, cap_messages;
};

/* Returns the block of a level of the tree of micro-batches. */
static inline float *cr_block_at(const struct cr_accumulation *a, int level)
{
    return a->sums + level * a->floats;
}

/* Allocates the memory; cr_accumulation_free may be called even after a failure. */
int cr_accumulation_new(struct crescent_trainer *trainer, struct cr_error *error);
void cr_accumulation_free(struct crescent_trainer *trainer);

/* Joins the ranks of the context; fails if there are more of them than micro-batches of a step. */
int cr_join_ranks(struct crescent_trainer *trainer, struct cr_error *error);

/* Fails if parameters, state or files of inputs of another rank differ; all ranks call it. */
int cr_compare_ranks(struct crescent_trainer *trainer, struct cr_error *error);

/* Copies the data of all micro-batches for input i, one after another; ids are checked. */
int cr_give_micro_batches(struct crescent_trainer *trainer, int i, const void *tensors,
                          struct cr_error *error);

/* Runs micro_batch for each micro-batch and adds the outputs.  Ranks run neighbouring ones each,
 * and all get of the sum what their update reads. */
int cr_run_micro_batches(struct crescent_trainer *trainer, struct cr_error *error);

/* Returns the inputs of update, by input: the sums, and the state. */
const void *const *cr_update_inputs(struct crescent_trainer *trainer);

/* Returns the sum of gradients that input number `input` of the entry update reads, as the last
 * step computed it.  If ranks share it, all of them call this function. */
const float *cr_sum_of(const struct crescent_trainer *trainer, int input);

#endif
