/*
 * shares.h - optimiser states of a training that are divided among ranks (the pass share_states).
 * Each rank has some rows of a state, and computes the same rows of the next parameters, which are
 * then gathered on all ranks.
 *
 * The inputs and outputs of a training have their whole shapes: callers of the library do not see
 * shares.
 */
#ifndef CR_SHARES_H
#define CR_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/emit/emit.h"
#include "compiler/ir/error.h"

struct crescent_trainer;

struct cr_shares {
    bool *input, *param; /* by input and by parameter: it is divided among ranks */
    uint64_t *hash;      /* by input: a hash of the whole value that the caller has set */
};

/* Finds the inputs and parameters that the compiled step divides.  cr_shares_free must be called
 * even after a failure. */
void cr_shares_find(struct crescent_trainer *trainer);
void cr_shares_free(struct crescent_trainer *trainer);

/* Returns the inputs and outputs for which memory is allocated; a divided port has the shape of
 * this rank's share.  The caller frees the array. */
struct cr_port *cr_own_inputs(const struct crescent_trainer *trainer);
struct cr_port *cr_own_outputs(const struct crescent_trainer *trainer);

bool cr_is_shared_input(const struct crescent_trainer *trainer, int input);

/* Returns where a step writes the next value of a parameter: its memory, or this rank's share in
 * it. */
float *cr_share_of_param(const struct crescent_trainer *trainer, int param);

/* Allocates memory for the whole value of an input; null with an error if there is not enough. */
void *cr_whole_new(const struct crescent_trainer *trainer, int input, struct cr_error *error);

/* Copies this rank's share of an input out of the whole value, and stores a hash of the whole
 * value. */
void cr_set_shared(struct crescent_trainer *trainer, int input, const void *whole);

/* Gathers a tensor in place: before, each rank has its share; afterwards all have the whole tensor.
 * All ranks call it. */
void cr_gather_shares(const struct crescent_trainer *trainer, const struct cr_port *port,
                      void *whole);

/* Gathers all divided parameters after a step.  All ranks call it. */
void cr_gather_params(struct crescent_trainer *trainer);

/* Gather the whole value of a divided input in `whole`; all ranks call them.  The second function
 * gathers it on rank 0 only; other ranks may pass null. */
void cr_gather_input(const struct crescent_trainer *trainer, int input, void *whole);
void cr_collect_input(const struct crescent_trainer *trainer, int input, void *whole);

/* A value that must not be saved, and its index in the whole tensor; the index is -1 if there is
 * none. */
struct cr_bad_value {
    int64_t at;
    double value;
};

/* Returns the first bad value of a divided input; `own` is the first one in this rank's share.  All
 * ranks call it. */
struct cr_bad_value cr_first_bad(const struct crescent_trainer *trainer, int input,
                                 struct cr_bad_value own);

#endif
