/* activations.h - measures the memory that the forward pass keeps for the backward pass. */
#ifndef CR_ACTIVATIONS_H
#define CR_ACTIVATIONS_H

#include "compiler/passes/module/module.h"

/*
 * Returns how many floats of the arena keep values for the backward pass: values stored before its
 * first kernel and read by one of its kernels.  Returns -1 if there is no backward pass.
 */
int64_t cr_activation_floats(const struct cr_module *module);

#endif
