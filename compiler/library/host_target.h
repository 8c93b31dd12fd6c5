/*
 * host_target.h - the target of this machine: stored by tuning, stored by a probe, or found by a
 * probe.
 *
 * In $XDG_CACHE_HOME/crescent, or $HOME/.cache/crescent, are
 *
 *     PROCESSOR-ISA.target          found by `crescent tune`; it is preferred
 *     PROCESSOR-ISA-THREADS.probe   found by a probe.  Its first line lists what that depends on; a
 *                                   file with another first line is ignored
 *
 * Without such a folder, or where nothing can be written, each context probes again.
 */
#ifndef CR_HOST_TARGET_H
#define CR_HOST_TARGET_H

#include <stdbool.h>

#include "compiler/crescent.h"
#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/module/target.h"

/* Properties of a run that the target of this machine depends on. */
struct cr_use {
    const char *isa; /* null: the best that the machine has */
    int threads;
    bool is_long; /* it takes long enough to justify a probe of 25 ms */
};

/* Returns the properties of a run of a graph: it is long if the products of the graph take some
 * milliseconds. */
struct cr_use cr_use_of(const struct cr_graph *graph, const char *isa, int threads);

/* The second line of the file of a probe that was made while other programs used the processors:
 * such a probe is repeated after ten minutes. */
#define CR_BUSY_PROBE "# on a busy machine, for ten minutes\n"

int cr_host_target_for(crescent_context *context, const struct cr_use *use,
                       struct cr_target *target, struct cr_error *error);

/* Returns the path of the file in which `crescent tune` stores its result, and makes its folders.
 * The caller frees it.  Null with an error if there is no cache folder. */
char *cr_tuned_path(const char *isa, struct cr_error *error);

#endif
