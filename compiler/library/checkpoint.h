/*
 * checkpoint.h - the state of a training as a safetensors file: save.c writes it, checkpoint.c
 * reads it.
 *
 * Parameters and state stand in it under their own names, so that `run --weights` reads it,
 * too; the metadata hold the number of steps made, the seed, the losses so far, and the values
 * of the script's options.
 */
#ifndef CR_CHECKPOINT_H
#define CR_CHECKPOINT_H

#include "compiler/files/safetensors.h"
#include "training.h"

/* Keys of the metadata. */
#define CR_CHECKPOINT_STEP "crescent.step"
#define CR_CHECKPOINT_SEED "crescent.seed"
#define CR_CHECKPOINT_LOSSES "crescent.losses"
#define CR_CHECKPOINT_VALIDATIONS "crescent.validations"
#define CR_CHECKPOINT_OPTION "crescent.option." /* and its name */

/* The parameters, then the inputs that are state, as tensors of the file; how many there are. */
int cr_list_state(const crescent_trainer *trainer, struct cr_st_tensor *tensors);

#endif
