/*
 * write_offsets.h - checks the row offsets of write ops that are known before a run: those
 * computed by elementwise ops from constants and from i32 scalars of inputs and states.
 *
 * Kernels skip a row that lies outside the axis.  So if an offset is known, a run that would
 * write such a row fails before it begins.
 */
#ifndef CR_WRITE_OFFSETS_H
#define CR_WRITE_OFFSETS_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

struct cr_offsets;

/* Returns the known offsets of a graph, or null if there are none.  The graph may be freed
 * first. */
struct cr_offsets *cr_offsets_find(const struct cr_graph *graph);
void cr_offsets_free(struct cr_offsets *offsets);

/*
 * Fails if a write op would write a row outside its tensor; the error names the op's script line.
 * `entries` has a bit for each entry that will run.  `inputs` and `states` are in the graph's
 * order; pointers that these entries do not use may be null.
 */
int cr_offsets_check(struct cr_offsets *offsets, unsigned entries, const void *const *inputs,
                     void *const *states, struct cr_error *error);

/* True if an offset depends on input `input`. */
bool cr_offsets_use(const struct cr_offsets *offsets, int input);

#endif
