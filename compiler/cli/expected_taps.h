/* expected_taps.h - tapped values, and the file of --expect-taps with their expected values. */
#ifndef CR_EXPECTED_TAPS_H
#define CR_EXPECTED_TAPS_H

#include "options.h"
#include "report.h"

/* Makes an output of every tapped value that the file has.  Fails if the file has none, and no
 * output of the script either. */
int cr_tap_expected(crescent_graph *graph, const struct cr_options *options,
                    struct cr_error *error);

/* Returns the number of the tensor for a value: the one with its name or, without one, the one
 * whose name has one more component in front ("transformer.h.0.attn" for "h.0.attn").  Returns
 * CRESCENT_NONE if there is none. */
int cr_find_expected_tap(const crescent_contents *file, const char *name);

/* Reads the tensor if its shape is that of the port, apart from axes of size 1.  `shape` receives
 * the tensor's shape if it differs, else "". */
int cr_read_expected_tap(const struct cr_options *options, const crescent_contents *file,
                         int tensor, const crescent_port *port, double *values,
                         struct cr_phrase *shape, struct cr_error *error);

#endif
