/* stored_nodes.c - lists the nodes that kernels leave in memory; see stored_nodes.h. */
#include "stored_nodes.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

static void add(struct cr_stored_nodes *list, const struct cr_module *m, int call, int result)
{
    cr_id node = m->kernels[call].stored[result];
    *CR_PUSH(list->items, list->n, list->cap) =
        (struct cr_stored){node, call, result, m->storage[node]};
}

/* If several kernels write parts of a buffer, the buffer is complete after the last of them. */
void cr_find_stored_nodes(const struct cr_module *m, struct cr_stored_nodes *list)
{
    int *last = cr_calloc((size_t)m->graph->n_nodes, sizeof *last);
    *list = (struct cr_stored_nodes){.graph = cr_graph_copy(m->graph)};
    for (int i = 0; i < m->n_kernels; i++)
        last[m->kernels[i].buffer] = i;
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        if (last[k->buffer] == i)
            add(list, m, i, 0);
        for (int s = 1; s < k->n_stored; s++)
            add(list, m, i, s);
    }
    free(last);
}

int *cr_find_last_reads(const struct cr_module *m)
{
    int *last = cr_calloc((size_t)m->graph->n_nodes, sizeof *last);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        last[id] = -1;
    for (int k = 0; k < m->n_kernels; k++)
        for (int r = 0; r < m->kernels[k].n_refs; r++)
            last[m->kernels[k].refs[r]] = k;
    return last;
}

void cr_free_stored_nodes(struct cr_stored_nodes *list)
{
    cr_graph_free(list->graph);
    free(list->items);
    *list = (struct cr_stored_nodes){0};
}
