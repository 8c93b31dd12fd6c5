/* sizes.h - the sizes that inputs and outputs have in a run, where axes are lengths. */
#ifndef CR_SIZES_H
#define CR_SIZES_H

#include "engine.h"

/* The sizes of an input or an output, for lengths that the inputs hold, in bounds. */
void cr_input_sizes(const struct cr_engine *engine, int i, const void *const *inputs,
                    int64_t sizes[CR_MAX_RANK]);
void cr_output_sizes(const struct cr_engine *engine, int i, const void *const *inputs,
                     int64_t sizes[CR_MAX_RANK]);

/*
 * Inputs from .npy files, by input, null for those that stay as they are.  An array may be shorter than the
 * tensor along axes that are lengths, and says then how long they are: its elements are spread over the
 * tensor, and the input that is the length gets its value.  Arrays have to agree on it.  If a length has a
 * file of its own, arrays may have either its value or the bound as their size.
 */
int cr_read_inputs(const struct cr_engine *engine, const char *const *paths, void *const *tensors,
                   struct cr_error *error);

#endif
