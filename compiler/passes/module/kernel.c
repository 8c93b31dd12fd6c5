#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

const char *const cr_array_titles[] = {[CR_SUM_OVER_KEYS] = "summed over keys",
                                       [CR_SUM_OVER_QUERIES] = "summed over queries",
                                       [CR_WHOLE_ARRAY] = "stored",
                                       [CR_OF_SINK] = "of a sink",
                                       [CR_SCATTERED] = "scattered"};

bool cr_goes_down(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    return cr_kind_of(g, id) == CR_KIND_REDUCE && g->nodes[cr_in(g, id, 0)].shape[node->axis] > 1 &&
           cr_elements(node->rank - node->axis - 1, node->shape + node->axis + 1) > 1;
}

/* "<= row +0 or <= 23", of which either part may be missing. */
static int put_edge(char *buffer, size_t size, const struct cr_edge *edge, const char *relation,
                    const char *row)
{
    int n = 0;
    buffer[0] = 0;
    if (edge->moves)
        n = snprintf(buffer, size, "%s %s %+lld", relation, row, (long long)edge->offset);
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

void cr_kernel_free(struct cr_kernel *kernel)
{
    for (int i = 0; i < CR_PROGRAMS; i++)
        free(kernel->programs[i].values);
}

static void copy_tiles(struct cr_tiles *copy, const struct cr_tiles *tiles)
{
    *copy = *tiles;
    copy->values = cr_calloc((size_t)tiles->n, sizeof *copy->values);
    if (tiles->n)
        memcpy(copy->values, tiles->values, (size_t)tiles->n * sizeof *copy->values);
}

void cr_kernel_copy(struct cr_kernel *copy, const struct cr_kernel *kernel)
{
    *copy = *kernel;
    for (int i = 0; i < CR_PROGRAMS; i++)
        copy_tiles(&copy->programs[i], &kernel->programs[i]);
}

int64_t cr_elements_read(const struct cr_graph *g, const struct cr_kernel *k, int r)
{
    const struct cr_node *node = &g->nodes[k->refs[r]], *root = &g->nodes[k->root];
    int64_t all = cr_elements(node->rank, node->shape), made = cr_elements(root->rank, root->shape);
    bool gathers = false, loads = k->kind != CR_KERNEL_TILE;
    for (int i = 0; i < k->program.n && !loads; i++) {
        const struct cr_value *v = &k->program.values[i];
        gathers |= v->source == CR_GATHER && v->ref == r;
        loads |= v->source == CR_LOAD && v->ref == r;
    }
    return gathers && !loads && made < all ? made : all;
}
