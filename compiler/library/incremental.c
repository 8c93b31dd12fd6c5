/* incremental.c - a graph that goes on from the tokens before; see crescent.h. */
#include "compiler/ir/incremental.h"

#include "handles.h"

/* The graph in place of the one that the script made. */
static int make_incremental(crescent_graph *graph, const crescent_incremental *how,
                            struct cr_error *error)
{
    const struct cr_incremental_how chosen = {how->chunk, how->last_only != 0};
    struct cr_graph *made = NULL;
    if (graph->has_gradients)
        return cr_fail(error, "%.400s: the graph has gradients, expected none to go on from tokens",
                       graph->origin->path);
    if (cr_incremental(graph->graph, &chosen, &made, graph->origin->path, error))
        return -1;
    cr_graph_free(graph->graph);
    graph->graph = made;
    graph->n_script_outputs = cr_n_results(made);
    cr_index_ports(graph);
    return 0;
}

int crescent_graph_incremental(crescent_graph *graph, const crescent_incremental *how)
{
    CR_REQUIRE(graph, how);
    CR_ENTER(graph->context);
    return cr_done(&guard, make_incremental(graph, how, guard.error));
}
