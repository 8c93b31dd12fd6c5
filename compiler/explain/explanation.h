/*
 * explanation.h - the struct crescent_explanation.
 */
#ifndef CR_EXPLANATION_H
#define CR_EXPLANATION_H

#include "measurement.h"

/* The error of the tensor that a call of a kernel stores. */
struct cr_call_error {
    bool known;                   /* false if a later call completes the tensor */
    double max_abs, max_ulp, rms; /* rms: root mean square of the exact values */
    int64_t nans;
};

struct crescent_explanation {
    crescent_context *context;
    crescent_graph *graph; /* a copy of the graph, from which the model is compiled */
    crescent_inspection *inspection;
    crescent_config config; /* how the inspection compiled the graph */
    crescent_report report;
    int n_graphs;
    crescent_node *nodes; /* nodes of the graph after the last pass */
    int n_nodes;
    crescent_replay *replay;         /* owns the model; null until the model is needed */
    struct cr_measurement *measured; /* null: no times were measured */
    struct cr_call_error *errors;    /* by call; null: no errors were measured */
};

/* Writes the document of one explanation. */
void cr_explain_document(struct cr_doc *d, const char *key, const crescent_explanation *e);

/* Writes the passes, the graphs, their tables, and the source files of all nodes. */
void cr_explain_graphs(struct cr_doc *d, const crescent_explanation *e);

/* Writes the calls of one run in Chrome's trace format. */
void cr_explain_trace(FILE *out, const crescent_explanation *e);

/* Returns all nodes of graph `graph` of an inspection, and sets *n to their number; the caller
 * frees them. */
crescent_node *cr_nodes_of(const crescent_inspection *inspection, int graph, int *n);

/* Returns the name of a node's op. */
const char *cr_op_of(const crescent_node *node);

#endif
