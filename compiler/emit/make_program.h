/* make_program.h - compiles a graph to a program: makes a module, runs the passes, emits C. */
#ifndef CR_MAKE_PROGRAM_H
#define CR_MAKE_PROGRAM_H

#include <stdint.h>

#include "compiler/passes/passes.h"
#include "emit.h"

/* The time of each stage, in nanoseconds. */
struct cr_stages {
    int64_t passes_ns, emit_ns;
};

/* Compiles a graph to a program.  Takes ownership of the graph, also on failure.  `options` and
 * `stages` may be null.  Returns null and sets the error on failure. */
struct cr_program *cr_make_program(struct cr_graph *graph, const struct cr_pass_options *options,
                                   struct cr_stages *stages, struct cr_error *error);

/*
 * Prints the graph, the kernels and the plan after a pass to `out`.  `pass` may also be "script"
 * for the graph as it was built, or "emit" for the emitted C.  Takes ownership of the graph.
 */
int cr_dump_after(struct cr_graph *graph, const char *pass, const struct cr_pass_options *options,
                  FILE *out, struct cr_error *error);

/* Returns the time of a monotonic clock in nanoseconds. */
int64_t cr_clock(void);

#endif
