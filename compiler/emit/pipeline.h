/*
 * pipeline.h - the way from a graph to a program: module, passes, emit, in one place.
 */
#ifndef CR_PIPELINE_H
#define CR_PIPELINE_H

#include <stdint.h>

#include "compiler/passes/passes.h"
#include "emit.h"

/* What the stages took, in nanoseconds. */
struct cr_stages {
    int64_t passes_ns, emit_ns;
};

/* The program of a graph, which is used up also on failure.  `options` and `stages` may be null.
 * Returns null with the error set. */
struct cr_program *cr_make_program(struct cr_graph *graph, const struct cr_pass_options *options,
                                   struct cr_stages *stages, struct cr_error *error);

/*
 * Prints what there is after a pass to `out`: the graph, the kernels, the plan.  "script" is the
 * graph as it was built, "emit" the C that becomes of it.  The graph is used up.
 */
int cr_dump_after(struct cr_graph *graph, const char *pass, const struct cr_pass_options *options,
                  FILE *out, struct cr_error *error);

/* Nanoseconds of a clock that never goes back. */
int64_t cr_clock(void);

#endif
