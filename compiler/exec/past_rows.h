/* past_rows.h - clears the elements of outputs past the ends of a ragged batch's rows, which do
 * not exist. */
#ifndef CR_PAST_ROWS_H
#define CR_PAST_ROWS_H

#include "engine.h"

/* Returns the axis of a port that is the batch of a ragged length; CR_NONE if the port has no
 * such axis or the length is not ragged.  `axes` holds the port's lengths by axis, as in
 * cr_engine.length_axes. */
int cr_port_batch_axis(const struct cr_engine *engine, const struct cr_port *port,
                       const signed char *axes, int length);

/* Sets to 0 all elements of outputs[output] past the end of their row, for each ragged length.
 * If `wanted` is not null, does the same to the doubles of wanted[output].  Skips null tensors. */
void cr_clear_past_rows(const struct cr_engine *engine, const void *const *inputs,
                        void *const *outputs, double *const *wanted);

#endif
