/*
 * same_formats.h - compares the formats of the parameters of two graphs.
 */
#ifndef CR_SAME_FORMATS_H
#define CR_SAME_FORMATS_H

#include "compiler/ir/graph.h"

/* True if a parameter requests a format other than f32, or another arithmetic than f32. */
bool cr_any_rounded(const struct cr_graph *g);

/* Gives the parameters of `to` the formats and arithmetics of the parameters of `from` with the same names. */
void cr_take_formats(struct cr_graph *to, const struct cr_graph *from);

/* True if parameters with the same names have the same formats and arithmetics. */
bool cr_have_same_formats(const struct cr_graph *a, const struct cr_graph *b);

#endif
