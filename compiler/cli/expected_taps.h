/* expected_taps.h - compares tapped values with the file of --expect-taps. */
#ifndef CR_EXPECTED_TAPS_H
#define CR_EXPECTED_TAPS_H

#include "options.h"
#include "report.h"

/* Turns the tapped values that the file contains into outputs.  Fails if the file contains none. */
int cr_tap_expected(crescent_graph *graph, const struct cr_options *options,
                    struct cr_error *error);

/* Returns the index of the tensor with the name of a value.  If there is none, returns that of a
 * tensor whose name has one more dotted part before it ("transformer.h.0.attn" for "h.0.attn"),
 * or CRESCENT_NONE. */
int cr_find_expected_tap(const crescent_contents *file, const char *name);

/* Reads the tensor if it has the shape of the port, ignoring axes of size 1; sets `shape` to "".
 * If the shapes differ, sets `shape` to the tensor's. */
int cr_read_expected_tap(const struct cr_options *options, const crescent_contents *file,
                         int tensor, const crescent_port *port, double *values,
                         struct cr_phrase *shape, struct cr_error *error);

#endif
