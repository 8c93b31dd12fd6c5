/* activations.h - the memory that the forward pass keeps for the backward pass. */
#ifndef CR_ACTIVATIONS_H
#define CR_ACTIVATIONS_H

#include "compiler/passes/module/module.h"

/*
 * Returns the floats of the arena that the forward pass keeps for the backward pass: values stored
 * before the first kernel of the backward pass and read by one of its kernels.  -1 if there is no
 * backward pass.
 */
int64_t cr_activation_floats(const struct cr_module *module);

#endif
