/*
 * passes.h - the pipeline: a table of passes over a module, and its driver.
 *
 * passes.def lists the passes in order.  The driver runs them and verifies the module after each.
 * It can also dump the module after a pass, stop after a pass, or skip one.
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
    const char *dump_after; /* the name of a pass, "script" for the graph that the script built, or
                               null */
    const char *stop_after; /* the last pass to run, or null */
    FILE *dump_to;
    void (*after)(void *context, const struct cr_pass *pass, const struct cr_module *module);
    void *context; /* the argument for `after`, a function called after each pass; both may be
                      null */
    struct cr_stored_nodes *stored;  /* if not null, receives the list of stored nodes */
};

/*
 * Runs the passes in order, to the end or to stop_after.  Fails if an option names an unknown pass,
 * if a later pass or emit needs a property that a skipped pass gives, or if a pass has a bug
 * (cr_run_pass).
 */
int cr_run_passes(struct cr_module *module, const struct cr_pass_options *options,
                  struct cr_error *error);

/*
 * Runs one pass and verifies all properties that the module then has.  Graph and kernels are
 * verified if they changed, steps and plan always.  A failed check is a bug of the compiler: the
 * error is "bug: after PASS, " and names a node or kernel.  The module must not be used afterwards.
 */
int cr_run_pass(struct cr_module *module, const struct cr_pass *pass, struct cr_error *error);

/* Prints the module after a pass: the graph, and kernels, plan and program if they exist. */
void cr_dump(FILE *out, const struct cr_module *module, const char *after);

#endif
