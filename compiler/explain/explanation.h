/*
 * explanation.h - the struct crescent_explanation.
 */
#ifndef CR_EXPLANATION_H
#define CR_EXPLANATION_H

#include "measurement.h"

/* The error of the tensor that a call stores. */
struct cr_call_error {
    bool known;                   /* false: a later call completes the tensor */
    double max_abs, max_ulp, rms; /* rms: of the exact values */
    int64_t nans;
};

struct crescent_explanation {
    crescent_context *context;
    crescent_graph *graph; /* a copy, from which the model is compiled */
    crescent_inspection *inspection;
    crescent_config config; /* as in the inspection */
    crescent_report report;
    int n_graphs;
    crescent_node *nodes; /* nodes of the last graph */
    int n_nodes;
    crescent_replay *replay;         /* owns the model; null until it is requested */
    struct cr_measurement *measured; /* null: not measured */
    struct cr_call_error *errors;    /* by call; null: not checked */
};

/* Writes the document of one explanation. */
void cr_explain_document(struct cr_doc *d, const char *key, const crescent_explanation *e);

/* Writes passes, graphs, tables, and the sources of all lines. */
void cr_explain_graphs(struct cr_doc *d, const crescent_explanation *e);

/* Writes one run as Chrome's trace events. */
void cr_explain_trace(FILE *out, const crescent_explanation *e);

/* Returns all nodes of a graph; the caller frees them. */
crescent_node *cr_nodes_of(const crescent_inspection *inspection, int graph, int *n);

/* Returns the name of a node's op. */
const char *cr_op_of(const crescent_node *node);

#endif
