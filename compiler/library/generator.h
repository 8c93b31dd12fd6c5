/* generator.h - makes the graph of a generator; see crescent.h. */
#ifndef CR_GENERATOR_H
#define CR_GENERATOR_H

#include "handles.h"

/* The graph of a model that generates text, and its limits. */
struct cr_continuation {
    crescent_graph *graph;
    int64_t context; /* the most tokens of a text, prompt included */
    int64_t chunk;   /* the most tokens that one run reads */
    bool can_grow;   /* neither the caller nor the model fixes `context`, so a larger one is
                        possible */
};

/* A script: a path, and its text if the script is in memory. */
struct cr_script_text {
    const char *path, *text;
    size_t length;
};

/* Runs a script for the requested number of positions, or by default for the model's, and makes its
 * graph incremental unless it is so already.  After a failure nothing is left allocated. */
int cr_continuation_open(crescent_context *context, const struct cr_script_text *script,
                         const crescent_script *how, const crescent_generation *generation,
                         struct cr_continuation *made, struct cr_error *error);

#endif
