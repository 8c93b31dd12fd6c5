/* generator.h - what is behind a generator, and how its graph is made; see crescent.h. */
#ifndef CR_GENERATOR_H
#define CR_GENERATOR_H

#include "handles.h"

/* The graph of a model that goes on with texts. */
struct cr_continuation {
    crescent_graph *graph;
    int64_t context; /* positions there is room for */
    int64_t chunk;   /* tokens that can come at once */
};

/* A script: a path, and its text if that is in memory. */
struct cr_script_text {
    const char *path, *text;
    size_t length;
};

/* Runs a script with as many positions as are asked for, or as the model has, and makes it one that
 * goes on, unless it is.  A failure leaves nothing to free. */
int cr_continuation_open(crescent_context *context, const struct cr_script_text *script,
                         const crescent_script *how, const crescent_generation *generation,
                         struct cr_continuation *made, struct cr_error *error);

#endif
