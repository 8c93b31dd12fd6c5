#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

bool cr_goes_down(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    return cr_kind_of(g, id) == CR_KIND_REDUCE && g->nodes[cr_in(g, id, 0)].shape[node->axis] > 1 &&
           cr_elements(node->rank - node->axis - 1, node->shape + node->axis + 1) > 1;
}

void cr_kernel_free(struct cr_kernel *kernel)
{
    for (int i = 0; i < CR_PROGRAMS; i++)
        free(kernel->programs[i].values);
}

static void copy_tiles(struct cr_tiles *copy, const struct cr_tiles *tiles)
{
    *copy = (struct cr_tiles){.n = tiles->n, .result = tiles->result};
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
