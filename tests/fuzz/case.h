/*
 * case.h - a test case: a graph, data for its leaves, and the values that it computes.
 */
#ifndef CR_FUZZ_CASE_H
#define CR_FUZZ_CASE_H

#include <stdio.h>

#include "bounds.h"
#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

struct cr_case {
    struct cr_graph *graph;
    void **data;              /* by node: the data of inputs and parameters (leaves.h) */
    struct cr_bounds *bounds; /* by node */
    int n, cap;               /* number of nodes with bounds; capacity */
    bool extreme;             /* the value of some node is not finite, or is very large */
};

struct cr_case *cr_case_new(const char *name);

/* Returns a case with the graph, which it owns, and evaluates its nodes. */
struct cr_case *cr_case_of(struct cr_graph *graph);

/* Evaluates the nodes that were added to the graph since the last call. */
void cr_case_evaluate(struct cr_case *c);

/* Removes all nodes from number n_nodes on. */
void cr_case_cut(struct cr_case *c, int n_nodes, int n_operands);

void cr_case_free(struct cr_case *c);

/*
 * Returns true if compiled code has to keep the bounds of a node.  Gradients with extreme values
 * need not: their rewrites are exact for finite values only, and may overflow where the formula
 * does not.
 */
bool cr_case_is_known(const struct cr_case *c, cr_id id);

/* Returns the data of the input or parameter with a name. */
const void *cr_case_data(const struct cr_case *c, const char *name);

/* Returns a new graph with the same nodes, and no outputs. */
struct cr_graph *cr_graph_copy_nodes(const struct cr_graph *g);

/* Lets nodes that are added to `to` from here on have the source line, scope and pass of node `id`
 * of `from`. */
void cr_graph_origin(struct cr_graph *to, const struct cr_graph *from, cr_id id);

/* Returns the attributes of a node, with strings and literals copied to the graph `to`. */
struct cr_attr cr_attr_for(struct cr_graph *to, const struct cr_graph *from,
                           const struct cr_node *node);

/* Copies node `id` of `from` to the end of `to`, with the operands `in` of `to`. */
cr_id cr_graph_copy_node(struct cr_graph *to, const struct cr_graph *from, cr_id id,
                         const cr_id *in);

/* Return the graph as a script, which the caller frees; and the graph of a script. */
char *cr_graph_text(const struct cr_graph *g);
struct cr_graph *cr_graph_from_text(const char *text, struct cr_error *error);
struct cr_graph *cr_graph_from_file(const char *path, struct cr_error *error);

#endif
