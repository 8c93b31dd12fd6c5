/* run_sizes.h - computes the actual sizes of inputs and outputs in a run, where axes are
 * lengths. */
#ifndef CR_RUN_SIZES_H
#define CR_RUN_SIZES_H

#include "engine.h"

/* Write the sizes of an input or an output in a run whose inputs hold valid lengths.  An axis of
 * a ragged length has the size of the longest row. */
void cr_input_sizes(const struct cr_engine *engine, int i, const void *const *inputs,
                    int64_t sizes[CR_MAX_RANK]);
void cr_output_sizes(const struct cr_engine *engine, int i, const void *const *inputs,
                     int64_t sizes[CR_MAX_RANK]);

/*
 * Reads inputs from .npy files: paths[i] into tensors[i]; null leaves tensors[i] unchanged.  An
 * array may be shorter than the tensor along axes that are lengths.  Then it sets those lengths:
 * its elements are moved to their positions in the tensor, and the input that holds the length
 * gets its value.  All arrays must agree.  If a length has its own file, the size of an array may
 * be its value or the bound. A ragged length's value is compared as the size of its longest row;
 * without a file, all rows get the size of the first array.
 */
int cr_read_inputs(const struct cr_engine *engine, const char *const *paths, void *const *tensors,
                   struct cr_error *error);

#endif
