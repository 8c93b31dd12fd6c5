#include "activations.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

/* Returns a list by node: true if the node belongs to the backward pass or depends on a node that
 * does. */
static bool *find_backward_nodes(const struct cr_graph *g)
{
    bool *backward = cr_calloc((size_t)g->n_nodes, sizeof *backward);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        backward[id] = g->nodes[id].where.backward && cr_kind_of(g, id) != CR_KIND_LEAF;
        for (int i = 0; i < g->nodes[id].n_in; i++)
            backward[id] |= backward[cr_in(g, id, i)];
    }
    return backward;
}

/*
 * Returns a list by kernel: true if the kernel computes a gradient or depends on one, as kernels of
 * the backward pass and of an optimiser do.  The caller frees it.
 */
static bool *find_backward_kernels(const struct cr_module *m)
{
    bool *nodes = find_backward_nodes(m->graph);
    bool *kernels = cr_calloc((size_t)m->n_kernels, sizeof *kernels);
    for (int i = 0; i < m->n_kernels; i++)
        kernels[i] = nodes[m->kernels[i].root];
    free(nodes);
    return kernels;
}

/* Returns the size of a value in floats if it is in the arena and was not counted yet; else 0. */
static int64_t count_once(const struct cr_module *m, cr_id id, bool *counted)
{
    const struct cr_node *node = &m->graph->nodes[id];
    if (counted[id] || m->storage[id].space != CR_SPACE_ARENA)
        return 0;
    counted[id] = true;
    return cr_elements(node->rank, node->shape);
}

/* Returns the floats that one entry, with the kernels begin .. end - 1, keeps for its backward
 * pass; -1 if it has no backward pass. */
static int64_t floats_of_entry(const struct cr_module *m, const bool *backward, int begin, int end)
{
    bool *made = cr_calloc((size_t)m->graph->n_nodes, sizeof *made);
    bool *counted = cr_calloc((size_t)m->graph->n_nodes, sizeof *counted);
    int64_t floats = 0;
    int border = begin;
    for (; border < end && !backward[border]; border++)
        for (int s = 0; s < m->kernels[border].n_stored; s++)
            made[m->kernels[border].stored[s]] = true;
    for (int i = border; i < end; i++)
        for (int r = 0; backward[i] && r < m->kernels[i].n_refs; r++)
            if (made[m->kernels[i].refs[r]])
                floats += count_once(m, m->kernels[i].refs[r], counted);
    free(made);
    free(counted);
    return border < end ? floats : -1;
}

int64_t cr_activation_floats(const struct cr_module *m)
{
    bool *backward = find_backward_kernels(m);
    int64_t most = -1;
    for (int begin = 0, end; begin < m->n_kernels; begin = end) {
        for (end = begin; end < m->n_kernels && m->kernels[end].entry == m->kernels[begin].entry;)
            end++;
        int64_t floats = floats_of_entry(m, backward, begin, end);
        if (most < floats)
            most = floats;
    }
    free(backward);
    return most;
}
