/* run_sizes.h - the actual sizes of inputs and outputs in a run, where axes are lengths. */
#ifndef CR_RUN_SIZES_H
#define CR_RUN_SIZES_H

#include "engine.h"

/* Write the sizes of an input or an output, given the lengths that the inputs hold, in bounds.  An
 * axis of a ragged length has the size of the longest row. */
void cr_input_sizes(const struct cr_engine *engine, int i, const void *const *inputs,
                    int64_t sizes[CR_MAX_RANK]);
void cr_output_sizes(const struct cr_engine *engine, int i, const void *const *inputs,
                     int64_t sizes[CR_MAX_RANK]);

/*
 * Reads inputs from .npy files: paths[i] for input i, null to leave it unchanged.  An array may be
 * shorter than the tensor along axes that are lengths.  Then it sets those lengths: its elements
 * are spread over the tensor, and the input that holds the length gets its value.  All arrays must
 * agree.  If a length has a separate file, the size of an array may be its value or the bound.
 * The value of a ragged length is the size of the longest row; without a file, all rows have the
 * size of the first array.
 */
int cr_read_inputs(const struct cr_engine *engine, const char *const *paths, void *const *tensors,
                   struct cr_error *error);

#endif
