/*
 * pack.h - parts of the arena side by side, or one over the other where their values are not
 * alive at once.
 *
 * A part of many values, such as a stack of layers, is full at no time but its peak: others
 * may lie where its values are dead or not there yet.
 */
#ifndef CR_PACK_H
#define CR_PACK_H

#include "lifetimes.h"

/* Gives the parts their offsets, such that no two values overlap that are alive at once: largest
 * part first, each at the lowest offset.  Returns how many floats they take together. */
int64_t cr_pack_parts(struct cr_lifetimes *lifetimes, int n_nodes);

#endif
