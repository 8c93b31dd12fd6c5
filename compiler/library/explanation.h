/*
 * explanation.h - what is behind crescent_explanation.
 */
#ifndef CR_EXPLANATION_H
#define CR_EXPLANATION_H

#include "compiler/explain/measurement.h"
#include "compiler/passes/passes.h"
#include "handles.h"

/* What one pass left: its graph, and what is counted of the module. */
struct cr_stage {
    const char *name, *doc;
    struct cr_graph *graph;        /* null: that of the stage before */
    int64_t ns;                    /* with what verifies it */
    int kernels, functions, loops; /* -1: there are none yet */
    int64_t weights_bytes, arena_bytes, arena_bytes_least;
    int steps, statements;
};

/* The error of what a call stores. */
struct cr_call_error {
    bool known;                   /* false: a later call writes the rest of that tensor */
    double max_abs, max_ulp, rms; /* rms: of what is expected */
    int64_t nans;
};

struct crescent_explanation {
    crescent_context *context;
    struct cr_origin *origin;
    struct cr_graph *source; /* as the script built it; what the model is compiled of */
    crescent_config config;
    int n_gradients;          /* outputs that are gradients */
    struct cr_module *module; /* through all passes; the program is apart */
    struct cr_program *program;
    int *first_kernel; /* by function: the first kernel of the module that has its code */
    struct cr_stage *stages;
    int n_stages, cap_stages;
    int64_t stage_began;
    crescent_model *model;           /* null until it is asked for */
    struct cr_measurement *measured; /* or null */
    struct cr_call_error *errors;    /* by call, or null */
};

/* Writes the document of one explanation. */
void cr_explain_document(struct cr_doc *d, const char *key, const crescent_explanation *e);

/* Parts of it: what was read, and the graphs; the sources of all lines. */
void cr_explain_graphs(struct cr_doc *d, const crescent_explanation *e);

/* One run as Chrome's trace events. */
void cr_explain_trace(FILE *out, const crescent_explanation *e);

#endif
