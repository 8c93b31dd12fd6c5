/*
 * offsets.h - the offsets of writes that are known before a run: those made of whole numbers, of
 * inputs and of states of one i32, by elementwise work.
 *
 * Kernels leave out a row that would lie outside; so a run in which one does is refused before it
 * begins, where that can be told.
 */
#ifndef CR_OFFSETS_H
#define CR_OFFSETS_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

struct cr_offsets;

/* The offsets of a graph; they do not refer to it afterwards.  Null if there are none. */
struct cr_offsets *cr_offsets_find(const struct cr_graph *graph);
void cr_offsets_free(struct cr_offsets *offsets);

/*
 * Refuses a write that has a row outside, with its line.  `entries` has a bit for each entry that is
 * to run; `inputs` and `states` are in the graph's order, those that these entries do not need may
 * be null.
 */
int cr_offsets_check(struct cr_offsets *offsets, unsigned entries, const void *const *inputs,
                     void *const *states, struct cr_error *error);

/* True if an offset is made of an input, among other things. */
bool cr_offsets_use(const struct cr_offsets *offsets, int input);

#endif
