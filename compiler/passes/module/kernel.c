#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>

bool cr_goes_down(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    return cr_kind_of(g, id) == CR_KIND_REDUCE && g->nodes[cr_in(g, id, 0)].shape[node->axis] > 1 &&
           cr_elements(node->rank - node->axis - 1, node->shape + node->axis + 1) > 1;
}

/* Prints an edge as "<= row - 2 or <= 23", where `relation` is "<="; either part may be missing. */
static int put_edge(char *buffer, size_t size, const struct cr_edge *edge, const char *relation,
                    const char *row)
{
    int n = 0;
    buffer[0] = 0;
    if (edge->moves)
        n = snprintf(buffer, size, "%s %s", relation, row);
    if (edge->moves && edge->offset)
        n += snprintf(buffer + n, size - (size_t)n, " %c %lld", edge->offset < 0 ? '-' : '+',
                      llabs((long long)edge->offset));
    if (edge->stays)
        n += snprintf(buffer + n, size - (size_t)n, "%s%s %lld", n ? " or " : "", relation,
                      (long long)edge->at);
    return n;
}

const char *cr_bound_text(char *buffer, size_t size, const struct cr_bound *bound,
                          const char *row)
{
    int n = put_edge(buffer, size, &bound->last, "<=", row);
    if (n && cr_has_edge(&bound->first))
        n += snprintf(buffer + n, size - (size_t)n, " or ");
    put_edge(buffer + n, size - (size_t)n, &bound->first, ">=", row);
    return buffer;
}

bool cr_reads_node(const struct cr_kernel *kernel, cr_id id)
{
    for (int i = 0; i < kernel->n_refs; i++)
        if (kernel->refs[i] == id)
            return true;
    return false;
}
