/* expected_taps.h - compares tapped values with the file of --expect-taps. */
#ifndef CR_EXPECTED_TAPS_H
#define CR_EXPECTED_TAPS_H

#include "options.h"
#include "report.h"

/* Makes each tapped value that the file contains an output.  Fails if the file contains none. */
int cr_tap_expected(crescent_graph *graph, const struct cr_options *options,
                    struct cr_error *error);

/* Returns the index of the file's tensor for a value: the tensor of that name, else one whose
 * name has one more dotted part in front ("transformer.h.0.attn" for "h.0.attn"), else
 * CRESCENT_NONE. */
int cr_find_expected_tap(const crescent_contents *file, const char *name);

/* Reads a tensor of the file into `values` if it has the port's shape when axes of size 1 are
 * ignored; sets `shape` to "".  If the shapes differ, reads nothing and sets `shape` to the
 * tensor's. */
int cr_read_expected_tap(const struct cr_options *options, const crescent_contents *file,
                         int tensor, const crescent_port *port, double *values,
                         struct cr_phrase *shape, struct cr_error *error);

#endif
