/*
 * checkpoint.h - the state of a training as a safetensors file: save_checkpoint.c writes it,
 * checkpoint.c reads it.
 *
 * Parameters and state have their own names in it, so `run --weights` can read it too.  The
 * metadata hold the number of steps made, the seed, the losses so far, and the values of the
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

/* Lists the parameters, then the inputs that are state, as tensors of the file.  Returns their
 * number. */
int cr_list_state(const crescent_trainer *trainer, struct cr_st_tensor *tensors);

#endif
