/*
 * make_program.h - compiles a graph to a program: module, passes, emit.
 */
#ifndef CR_MAKE_PROGRAM_H
#define CR_MAKE_PROGRAM_H

#include <stdint.h>

#include "compiler/passes/passes.h"
#include "emit.h"

/* The time of each stage, in nanoseconds. */
struct cr_stages {
    int64_t passes_ns, emit_ns;
};

/* Compiles a graph to a program; takes ownership of the graph, also on failure.  `options` and
 * `stages` may be null.  On failure returns null and sets the error. */
struct cr_program *cr_make_program(struct cr_graph *graph, const struct cr_pass_options *options,
                                   struct cr_stages *stages, struct cr_error *error);

/*
 * Prints the graph, the kernels and the plan after a pass to `out`.  Pass "script" prints the graph
 * as it was built, "emit" the emitted C.  Takes ownership of the graph.
 */
int cr_dump_after(struct cr_graph *graph, const char *pass, const struct cr_pass_options *options,
                  FILE *out, struct cr_error *error);

/* Returns the nanoseconds of a monotonic clock. */
int64_t cr_clock(void);

#endif
