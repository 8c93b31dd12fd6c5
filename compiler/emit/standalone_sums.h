/*
 * standalone_sums.h - prints the functions of a standalone training step that run its
 * micro-batches and sum up their outputs.
 */
#ifndef CR_STANDALONE_SUMS_H
#define CR_STANDALONE_SUMS_H

#include "standalone_text.h"

/* True if an input is data: an argument of the step, not part of the state. */
bool cr_is_step_data(const struct cr_standalone *s, int input);

/* Returns the number of floats of all sums that exist at a time; 0 for a step without
 * micro-batches. */
int64_t cr_sums_floats(const struct cr_standalone *s);

/* Appends the functions that compute the sums in the arena; nothing for a step without
 * micro-batches. */
void cr_put_sums_source(struct cr_text *t, const struct cr_standalone *s);

/* Appends the statements of NAME_step_with that call these functions, and then update. */
void cr_put_sums_call(struct cr_text *t, const struct cr_standalone *s);

#endif
