/*
 * pack.h - offsets for the parts of the arena, which share memory where their values are not live
 * at once.
 *
 * A part of many values, such as a stack of layers, is full only at its peak: other parts may use
 * the memory of values that are dead or not yet written.
 */
#ifndef CR_PACK_H
#define CR_PACK_H

#include "lifetimes.h"

/* Gives the parts their offsets, such that values that are live at once do not overlap: the
 * largest part first, each at the lowest free offset.  Returns how many floats they take
 * together. */
int64_t cr_pack_parts(struct cr_lifetimes *lifetimes, int n_nodes);

#endif
