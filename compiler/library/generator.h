/* generator.h - makes the graph of a generator; see crescent.h. */
#ifndef CR_GENERATOR_H
#define CR_GENERATOR_H

#include "handles.h"

/* The graph of a model that generates. */
struct cr_continuation {
    crescent_graph *graph;
    int64_t context; /* the most positions of a text */
    int64_t chunk;   /* the most tokens of a run */
    bool can_grow;   /* nothing fixes `context`: it may be larger */
};

/* A script: a path, and its text if that is in memory. */
struct cr_script_text {
    const char *path, *text;
    size_t length;
};

/* Runs a script with the requested number of positions, or with the model's, and makes its graph
 * incremental unless it is already.  After a failure nothing is left allocated. */
int cr_continuation_open(crescent_context *context, const struct cr_script_text *script,
                         const crescent_script *how, const crescent_generation *generation,
                         struct cr_continuation *made, struct cr_error *error);

#endif
