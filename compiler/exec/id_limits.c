/* id_limits.c - see id_limits.h. */
#include "id_limits.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

/* Lowers the limit of an input that a gather uses as index to the number of rows of the table.
 * `number` has the index of each input, by node. */
static void limit_ids(int64_t *limits, const struct cr_graph *g, const struct cr_node *gather,
                      const int *number)
{
    cr_id id = cr_inputs(g, gather)[1];
    int64_t rows = g->nodes[cr_inputs(g, gather)[0]].shape[0];
    while (cr_kind_of(g, id) == CR_KIND_MOVE)
        id = cr_in(g, id, 0);
    if (g->nodes[id].op != CR_OP_input)
        return;
    int i = number[id];
    if (!limits[i] || rows < limits[i])
        limits[i] = rows;
}

/* Gathers of backward passes set no limit: their index may come from a forward scatter_add, which
 * permits indices that are out of bounds. */
int64_t *cr_find_id_limits(const struct cr_graph *g)
{
    int *number = cr_calloc((size_t)g->n_nodes, sizeof *number), n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == CR_OP_input)
            number[i] = n++;
    int64_t *limits = cr_calloc((size_t)n, sizeof *limits);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == CR_OP_gather && !g->nodes[i].where.backward)
            limit_ids(limits, g, &g->nodes[i], number);
    free(number);
    return limits;
}
