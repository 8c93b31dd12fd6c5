/*
 * grads.h - the backward pass that --grads asks for.
 *
 * L is the sum of the model's outputs, each times its cotangent: the file --cotangent
 * names, or ones.  The gradients are further outputs of the graph, the cotangents from
 * files further inputs, both behind the model's own and with names no script can give.
 */
#ifndef CR_GRADS_H
#define CR_GRADS_H

#include "compiler/files/writer.h"
#include "model.h"

/* Whether the options ask for gradients. */
bool cr_wants_grads(const struct cr_options *options);

/* The file that gradients are written to, or null: `--grads none` is without one. */
const char *cr_grads_file(const struct cr_options *options);

/* For verbs that compute nothing: refuses --grads with a file that would never be written. */
int cr_grads_check_no_file(const struct cr_options *options, const char *verb,
                           struct cr_error *error);

/* Adds the gradients of every parameter and every f32 input to the model's graph. */
int cr_grads_add(struct cr_model *model, struct cr_error *error);

/* The name of the output whose cotangent an input is, or null. */
const char *cr_cotangent_of(const char *input);

/* The name of the tensor whose gradient an output is, or null. */
const char *cr_gradient_of(const char *output);

/* Writes the gradients among an engine's outputs to a safetensors file that is open. */
int cr_grads_put(struct cr_writer *writer, const struct cr_port *outputs, int n, void *const *data,
                 struct cr_error *error);

#endif
