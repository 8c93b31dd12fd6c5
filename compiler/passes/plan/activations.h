/* activations.h - the border between the forward and the backward pass, and what crosses it. */
#ifndef CR_ACTIVATIONS_H
#define CR_ACTIVATIONS_H

#include "compiler/passes/module/module.h"

/*
 * Floats in the arena that the forward pass keeps for the backward pass: values made before the
 * first kernel of that, and read from there on by one of its kernels or to make another value
 * again.  -1 if nothing is differentiated.
 */
int64_t cr_activation_floats(const struct cr_module *module);

#endif
