/*
 * checkpoint.h - the state of a training as a safetensors file: save_checkpoint.c writes it,
 * checkpoint.c reads it.
 *
 * Parameters and state are stored under their own names, so `run --weights` can read the file, too.
 * The metadata hold the number of steps made, the seed, the losses so far, and the values of the
 * script's options.
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
#define CR_CHECKPOINT_OPTION "crescent.option." /* prefix; the name of the option follows */

/* Lists as tensors of a checkpoint the parameters, then the inputs that are state.  Returns the
 * number of tensors. */
int cr_list_state(const crescent_trainer *trainer, struct cr_st_tensor *tensors);

#endif
