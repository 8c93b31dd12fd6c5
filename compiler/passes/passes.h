/*
 * passes.h - the pipeline: a table of passes over a module, and its driver.
 *
 * passes.def lists the passes in order.  The driver runs them, verifies the module after each, and
 * can dump it after a pass, stop after it or skip one.
 */
#ifndef CR_PASSES_H
#define CR_PASSES_H

#include <stdio.h>

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/module/module.h"

struct cr_stored_nodes;

struct cr_pass {
    const char *name;
    void (*run)(struct cr_module *module);
    unsigned needs;  /* properties (CR_HAS_...) that must hold before the pass */
    unsigned gives;  /* properties that hold after it */
    unsigned breaks; /* properties that no longer hold after it */
    const char *doc;
};

extern const struct cr_pass cr_passes[];
extern const int cr_n_passes;

struct cr_pass_options {
    struct cr_settings settings;
    const char *dump_after; /* a pass's name, "script" for the graph as built, or null */
    const char *stop_after; /* the last pass to run, or null */
    FILE *dump_to;
    void (*after)(void *context, const struct cr_pass *pass, const struct cr_module *module);
    void *context; /* passed to `after`, which is called after each pass; both may be null */
    struct cr_stored_nodes *stored;  /* null, or receives the list of stored nodes */
};

/*
 * Runs the passes in order, to the end or to stop_after.  Fails if an option names no pass, if a
 * later pass, or emit, needs what a skipped pass gives, or if a pass has a bug (see cr_run_pass).
 */
int cr_run_passes(struct cr_module *module, const struct cr_pass_options *options,
                  struct cr_error *error);

/*
 * Runs one pass and verifies all that the module then has: graph and kernels if they changed, steps
 * and plan even if they did not.  A failed check is a bug of the compiler: the error is "bug: after
 * PASS, " and the node or kernel concerned.  The module must not be used afterwards.
 */
int cr_run_pass(struct cr_module *module, const struct cr_pass *pass, struct cr_error *error);

/* Prints the module after a pass: the graph, then the kernels, the plan and the program, as far as
 * they exist. */
void cr_dump(FILE *out, const struct cr_module *module, const char *after);

#endif
