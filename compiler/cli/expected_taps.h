/* expected_taps.h - tapped values and the file of --expect-taps, which says what they should be. */
#ifndef CR_EXPECTED_TAPS_H
#define CR_EXPECTED_TAPS_H

#include "options.h"
#include "report.h"

/* Makes outputs of the tapped values that the file has; one at least is, or it is refused. */
int cr_tap_expected(crescent_graph *graph, const struct cr_options *options,
                    struct cr_error *error);

/* The number of the tensor for a value: of its name or, where there is none, of its name behind another
 * first part ("transformer.h.0.attn" for "h.0.attn").  CRESCENT_NONE if there is none. */
int cr_find_expected_tap(const crescent_contents *file, const char *name);

/* Reads it, if it has the shape of the port, but for axes of 1; else that shape goes to `shape` as a text,
 * which is "" otherwise. */
int cr_read_expected_tap(const struct cr_options *options, const crescent_contents *file,
                         int tensor, const crescent_port *port, double *values,
                         struct cr_phrase *shape, struct cr_error *error);

#endif
