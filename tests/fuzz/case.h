/*
 * case.h - a graph with data for its leaves and what it computes: what is tested at once.
 */
#ifndef CR_FUZZ_CASE_H
#define CR_FUZZ_CASE_H

#include <stdio.h>

#include "bounds.h"
#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

struct cr_case {
    struct cr_graph *graph;
    void **data;              /* by node: of inputs and parameters (leaves.h) */
    struct cr_bounds *bounds; /* by node */
    int n, cap;               /* nodes that have them; room */
    bool extreme;             /* some value is not finite, or far from 1 */
};

struct cr_case *cr_case_new(const char *name);

/* Takes over the graph, and evaluates it. */
struct cr_case *cr_case_of(struct cr_graph *graph);

/* Evaluates the nodes of the graph that were added since. */
void cr_case_evaluate(struct cr_case *c);

/* Takes back all nodes from number n_nodes on. */
void cr_case_cut(struct cr_case *c, int n_nodes, int n_operands);

void cr_case_free(struct cr_case *c);

/*
 * Whether the bounds of a node say anything of compiled code: rewrites of gradients are exact for
 * finite values only, and may leave the range of floats where the formula does not.
 */
bool cr_case_is_known(const struct cr_case *c, cr_id id);

/* The data of the input or parameter of that name. */
const void *cr_case_data(const struct cr_case *c, const char *name);

/* A graph of its own with the same nodes, and no outputs. */
struct cr_graph *cr_graph_copy_nodes(const struct cr_graph *g);

/* Nodes added to `to` from here on have the origin of node `id` of `from`. */
void cr_graph_origin(struct cr_graph *to, const struct cr_graph *from, cr_id id);

/* The attributes of a node for a graph that has other strings and literals. */
struct cr_attr cr_attr_for(struct cr_graph *to, const struct cr_graph *from,
                           const struct cr_node *node);

/* Copies node `id` of `from` to the end of `to`, with operands `in` there. */
cr_id cr_graph_copy_node(struct cr_graph *to, const struct cr_graph *from, cr_id id,
                         const cr_id *in);

/* The graph as a script, for the caller to free; and what a script makes. */
char *cr_graph_text(const struct cr_graph *g);
struct cr_graph *cr_graph_from_text(const char *text, struct cr_error *error);
struct cr_graph *cr_graph_from_file(const char *path, struct cr_error *error);

#endif
