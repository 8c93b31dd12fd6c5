/* taps.h - crescent compare --taps: finds the first node with a wrong value. */
#ifndef CR_TAPS_H
#define CR_TAPS_H

#include "options.h"

/* Runs the model once, and compares each value that a kernel stores with its value in double
 * precision.  Returns the status of a verb: 1 if a node is wrong. */
int cr_compare_taps(const struct cr_options *options, struct cr_error *error);

#endif
