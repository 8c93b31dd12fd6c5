/*
 * shares.h - the states of a training that ranks share: each has some rows of them (the pass share_states) and
 * computes the same rows of the next parameters, which all ranks then gather.
 *
 * The ports of a training are whole: who calls the library sees no shares.
 */
#ifndef CR_SHARES_H
#define CR_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/emit/emit.h"
#include "compiler/ir/error.h"

struct crescent_trainer;

struct cr_shares {
    bool *input, *param; /* by input and parameter: it is shared; null: none is */
    uint64_t *hash;      /* by input: a hash of the whole value that the caller set */
};

/* Finds what the compiled step shares; cr_shares_free may be called even after a failure. */
void cr_shares_find(struct crescent_trainer *trainer);
void cr_shares_free(struct crescent_trainer *trainer);

/* Returns the inputs and outputs of which memory is allocated: ports that are shared have the shape of this
 * rank's share.  The caller frees the array. */
struct cr_port *cr_own_inputs(const struct crescent_trainer *trainer);
struct cr_port *cr_own_outputs(const struct crescent_trainer *trainer);

bool cr_is_shared_input(const struct crescent_trainer *trainer, int input);

/* Returns the memory to which a step writes the next value of a parameter: the share's. */
float *cr_share_of_param(const struct crescent_trainer *trainer, int param);

/* Allocates memory for the whole value of an input; null with an error if there is not enough. */
void *cr_whole_new(const struct crescent_trainer *trainer, int input, struct cr_error *error);

/* Copies this rank's share of an input from the whole value, and keeps a hash of the latter. */
void cr_set_shared(struct crescent_trainer *trainer, int input, const void *whole);

/* Gathers a tensor in place, of which each rank has its share; all ranks call it. */
void cr_gather_shares(const struct crescent_trainer *trainer, const struct cr_port *port,
                      void *whole);

/* Gathers all parameters that a step has computed, after it; all ranks call it. */
void cr_gather_params(struct crescent_trainer *trainer);

/* Gathers the whole value of a shared input at `whole`; all ranks call it.  The second gathers it on rank 0
 * only, where others may pass null. */
void cr_gather_input(const struct crescent_trainer *trainer, int input, void *whole);
void cr_collect_input(const struct crescent_trainer *trainer, int input, void *whole);

/* A value that must not be saved: its element in the whole tensor, or -1. */
struct cr_bad_value {
    int64_t at;
    double value;
};

/* Returns the first bad value of a shared input.  `own` is the first one in this rank's share.  All ranks call it. */
struct cr_bad_value cr_first_bad(const struct crescent_trainer *trainer, int input,
                                 struct cr_bad_value own);

#endif
