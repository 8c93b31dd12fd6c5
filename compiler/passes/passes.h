/*
 * passes.h - the pipeline: a table of passes over a module and its driver.
 *
 * passes.def lists the passes in order.  The driver runs them, verifies after each,
 * and can dump after a pass, stop after it or leave one out.
 */
#ifndef CR_PASSES_H
#define CR_PASSES_H

#include <stdio.h>

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/module/module.h"

struct cr_stored_list;

struct cr_pass {
    const char *name;
    void (*run)(struct cr_module *module);
    unsigned needs;  /* properties (CR_HAS_...) that must hold before */
    unsigned gives;  /* properties that hold afterwards */
    unsigned breaks; /* properties that hold no longer */
    const char *doc;
};

extern const struct cr_pass cr_passes[];
extern const int cr_n_passes;

struct cr_pass_options {
    struct cr_settings settings;
    const char *dump_after; /* a pass's name, "script" for the graph as built, or null */
    const char *stop_after; /* or null */
    FILE *dump_to;
    void (*after)(void *context, const struct cr_pass *pass, const struct cr_module *module);
    void *context; /* of `after`, which is told of each pass that ran; both may be null */
    struct cr_stored_list *stored;  /* null, or what gets the list of what kernels store */
};

/*
 * Takes the module through the table, to its end or to stop_after.  Fails if an option names no
 * pass, if a skipped pass leaves a later one, or emit, without what it needs, and if a pass is at
 * fault (see cr_run_pass).
 */
int cr_run_passes(struct cr_module *module, const struct cr_pass_options *options,
                  struct cr_error *error);

/*
 * Runs one pass and verifies all that the module then has: the graph, kernels, steps and plan,
 * whatever the pass was to change.  A mistake found there is a bug of ours: the error is "bug:
 * after PASS, " and the node or kernel where it is.  The module must not be used afterwards.
 */
int cr_run_pass(struct cr_module *module, const struct cr_pass *pass, struct cr_error *error);

/* Prints what there is after a pass: the graph, then the kernels, the plan and the program. */
void cr_dump(FILE *out, const struct cr_module *module, const char *after);

#endif
