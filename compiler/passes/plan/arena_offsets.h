/*
 * arena_offsets.h - sets the offsets of the parts of the arena; parts share memory if their values
 * are not live at the same time.
 *
 * A part of many values, such as a stack of layers, is full only at its peak: other parts may use
 * the memory of values that are dead or not yet written.
 */
#ifndef CR_ARENA_OFFSETS_H
#define CR_ARENA_OFFSETS_H

#include "lifetimes.h"

/* Sets the offsets of the parts so that values that are live at the same time do not overlap:
 * places the largest part first, and each part at the lowest free offset.  Returns the size of the
 * arena in floats. */
int64_t cr_set_arena_offsets(struct cr_lifetimes *lifetimes, int n_nodes);

#endif
