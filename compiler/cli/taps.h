/* taps.h - crescent compare --taps: the first node that goes wrong. */
#ifndef CR_TAPS_H
#define CR_TAPS_H

#include "options.h"

/* Runs the model once and compares every value that its kernels store with double precision.
 * Returns an exit status, as verbs do: 1 if there is a culprit. */
int cr_compare_taps(const struct cr_options *options, struct cr_error *error);

#endif
