/* incremental_graph.c - makes a graph incremental, so that it continues from cached keys and values
 * of earlier tokens; see crescent.h. */
#include "compiler/ir/incremental.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/fixed_lengths.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/rewrite/kept_factors.h"
#include "handles.h"

/* True if a node or an output reads a node. */
static bool is_read(const struct cr_graph *g, cr_id id)
{
    for (cr_id user = 0; user < g->n_nodes; user++)
        for (int i = 0; i < g->nodes[user].n_in; i++)
            if (cr_in(g, user, i) == id)
                return true;
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].id == id)
            return true;
    return false;
}

/* Copies a graph without those inputs of the graph `lengths` that held lengths, as nothing reads
 * them any more. */
static struct cr_graph *without_inputs(const struct cr_graph *g, const struct cr_graph *lengths)
{
    struct cr_graph *to = cr_graph_successor(g);
    cr_id *map = cr_calloc((size_t)g->n_nodes, sizeof *map);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        struct cr_attr attr = cr_attr_of(node);
        cr_id *in = cr_calloc((size_t)node->n_in, sizeof *in);
        map[id] = CR_NONE;
        for (int i = 0; i < node->n_in; i++)
            in[i] = map[cr_in(g, id, i)];
        to->here = node->where;
        if (!cr_is_input(node) || cr_find_length(lengths, node->name) == CR_NONE)
            map[id] = cr_must(to, node->op, node->n_in, in, &attr);
        if (map[id] != CR_NONE && node->tap)
            to->nodes[map[id]].tap = node->tap;
        free(in);
    }
    cr_copy_outputs(to, g, map);
    free(map);
    return to;
}

/* Returns a copy of a graph without lengths: with one text, and all other lengths at their
 * bounds. */
static struct cr_graph *at_bounds(const struct cr_graph *g, const char *path, struct cr_error *error)
{
    int64_t values[CR_MAX_LENGTHS];
    const int32_t *const no_rows[CR_MAX_LENGTHS] = {NULL};
    for (int i = 0; i < g->n_lengths; i++)
        values[i] = g->lengths[i].bound;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (!cr_is_input(node))
            continue;
        if (strcmp(node->name, CR_IDS) == 0 && node->rank == 2 && node->lengths[0] &&
            node->lengths[0] != node->lengths[1])
            values[node->lengths[0] - 1] = 1;
        if (cr_find_length(g, node->name) != CR_NONE && is_read(g, id)) {
            cr_fail(error, "%.400s: found the length %.100s read as a number, expected it in shapes "
                    "alone", path, node->name);
            return NULL;
        }
    }
    struct cr_graph *fixed = cr_fix_lengths(g, values, no_rows, NULL);
    struct cr_graph *made = without_inputs(fixed, g);
    cr_graph_free(fixed);
    return made;
}

int cr_graph_make_incremental(crescent_graph *graph, const crescent_incremental *how, struct cr_error *error)
{
    const struct cr_incremental_how chosen = {how->chunk, how->last_only != 0};
    struct cr_graph *made = NULL;
    if (graph->has_gradients)
        return cr_fail(error, "%.400s: the graph has gradients, expected none to go on from tokens",
                       graph->origin->path);
    struct cr_graph *whole = NULL;
    if (graph->graph->n_lengths &&
        !(whole = at_bounds(graph->graph, graph->origin->path, error)))
        return -1;
    int status = cr_incremental(whole ? whole : graph->graph, &chosen, &made, graph->origin->path, error);
    if (whole)
        cr_graph_free(whole);
    if (status)
        return -1;
    cr_graph_free(graph->graph);
    graph->graph = cr_keep_factors(made);
    graph->chunk = how->chunk;
    graph->last_only = how->last_only != 0;
    graph->n_script_outputs = cr_n_results(graph->graph);
    cr_index_ports(graph);
    return 0;
}

int crescent_graph_incremental(crescent_graph *graph, const crescent_incremental *how)
{
    CR_REQUIRE(graph, how);
    CR_ENTER(graph->context);
    return cr_done(&guard, cr_graph_make_incremental(graph, how, guard.error));
}
