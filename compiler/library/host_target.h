/*
 * host_target.h - the target of this machine: stored by `crescent tune`, stored by a probe, or found by a
 * new probe.
 *
 * In $XDG_CACHE_HOME/crescent, or else $HOME/.cache/crescent, there may be these files:
 *
 *     PROCESSOR-ISA.target          stored by `crescent tune`; it takes precedence
 *     PROCESSOR-ISA-THREADS.probe   stored by a probe.  Its first line lists what the result depends on;
 *                                   if it differs, the file is ignored
 *
 * If there is no such folder, or it is not writable, each context probes again.
 */
#ifndef CR_HOST_TARGET_H
#define CR_HOST_TARGET_H

#include <stdbool.h>

#include "compiler/crescent.h"
#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/module/target.h"

/* The properties of a run on which the target of this machine depends. */
struct cr_use {
    const char *isa; /* the instruction set; null: the best one that the machine has */
    int threads;
    bool is_long; /* the run takes so long that a probe of 25 ms is worth its time */
};

/* Returns the properties of a run of a graph.  The run is long if the graph's products take some
 * milliseconds. */
struct cr_use cr_use_of(const struct cr_graph *graph, const char *isa, int threads);

/* The second line of the file of a probe that was made while other programs used the processors.
 * Such a probe is repeated after ten minutes. */
#define CR_BUSY_PROBE "# on a busy machine, for ten minutes\n"

int cr_host_target_for(crescent_context *context, const struct cr_use *use,
                       struct cr_target *target, struct cr_error *error);

/* Returns the path of the file in which `crescent tune` stores its result, and creates its folders.
 * The caller frees the path.  Returns null with an error if there is no cache folder. */
char *cr_tuned_path(const char *isa, struct cr_error *error);

#endif
