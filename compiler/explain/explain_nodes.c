/* explain_nodes.c - reads the nodes of an inspection; see explanation.h. */
#include "compiler/ir/mem.h"
#include "explanation.h"

crescent_node *cr_nodes_of(const crescent_inspection *inspection, int graph, int *n)
{
    *n = crescent_node_count(inspection, graph);
    crescent_node *nodes = cr_calloc((size_t)*n, sizeof *nodes);
    for (int i = 0; i < *n; i++)
        crescent_node_at(inspection, graph, i, &nodes[i]);
    return nodes;
}

const char *cr_op_of(const crescent_node *node)
{
    crescent_op op;
    return crescent_op_at(node->op, &op) ? "" : op.name;
}
