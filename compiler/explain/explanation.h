/*
 * explanation.h - what is behind crescent_explanation.
 */
#ifndef CR_EXPLANATION_H
#define CR_EXPLANATION_H

#include "measurement.h"

/* The error of what a call stores. */
struct cr_call_error {
    bool known;                   /* false: a later call writes the rest of that tensor */
    double max_abs, max_ulp, rms; /* rms: of what is expected */
    int64_t nans;
};

struct crescent_explanation {
    crescent_context *context;
    crescent_graph *graph; /* a copy; what the model is compiled of */
    crescent_inspection *inspection;
    crescent_config config; /* that of the inspection */
    crescent_report report;
    int n_graphs;
    crescent_node *nodes; /* of the last graph */
    int n_nodes;
    crescent_replay *replay;         /* has the model; null until it is asked for */
    struct cr_measurement *measured; /* or null */
    struct cr_call_error *errors;    /* by call, or null */
};

/* Writes the document of one explanation. */
void cr_explain_document(struct cr_doc *d, const char *key, const crescent_explanation *e);

/* Parts of it: what was read, and the graphs; the sources of all lines. */
void cr_explain_graphs(struct cr_doc *d, const crescent_explanation *e);

/* One run as Chrome's trace events. */
void cr_explain_trace(FILE *out, const crescent_explanation *e);

/* All nodes of a graph, to be freed. */
crescent_node *cr_nodes_of(const crescent_inspection *inspection, int graph, int *n);

/* The name of a node's op. */
const char *cr_op_of(const crescent_node *node);

#endif
