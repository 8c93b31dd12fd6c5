/* Changes the sizes of a model; see resize.h. */
#include "resize.h"

#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "compiler/ir/mem.h"

int64_t cr_resized(const struct cr_resize *sizes, int n, int64_t extent)
{
    for (int i = 0; i < n; i++)
        if (extent % sizes[i].from == 0)
            extent = extent / sizes[i].from * sizes[i].to;
    return extent;
}

/* Returns the nodes that an output needs, as flags; the caller frees them. */
static bool *live_nodes(const struct cr_graph *g, cr_id output)
{
    bool *live = cr_calloc((size_t)g->n_nodes, sizeof *live);
    live[output] = true;
    for (cr_id id = output; id >= 0; id--)
        for (int i = 0; live[id] && i < g->nodes[id].n_in; i++)
            live[cr_in(g, id, i)] = true;
    return live;
}

/* Adds a node with other sizes, or returns CR_NONE; weights and tables keep their sizes. */
static cr_id resize_node(struct cr_graph *to, const struct cr_graph *g, cr_id id,
                         const struct cr_resize *sizes, int n, const cr_id *map)
{
    const struct cr_node *node = &g->nodes[id];
    struct cr_attr attr = cr_attr_for(to, g, node);
    bool fixed = node->op == CR_OP_param || node->op == CR_OP_literal;
    cr_id few[8], *in = node->n_in <= 8 ? few : cr_calloc((size_t)node->n_in, sizeof *in);
    for (int a = 0; a < node->rank && !fixed; a++)
        attr.shape[a] = cr_resized(sizes, n, attr.shape[a]);
    for (int i = 0; i < node->n_in; i++)
        in[i] = map[cr_inputs(g, node)[i]];
    cr_graph_origin(to, g, id);
    cr_id made = cr_build(to, node->op, node->n_in, in, &attr);
    if (in != few)
        free(in);
    return made;
}

struct cr_graph *cr_resize_graph(const struct cr_graph *g, int output,
                                 const struct cr_resize *sizes, int n)
{
    cr_id last = g->outputs[output].id;
    bool *live = live_nodes(g, last), fits = true;
    cr_id *map = cr_calloc((size_t)g->n_nodes, sizeof *map);
    struct cr_graph *to = cr_graph_new(g->name);
    for (cr_id id = 0; id <= last && fits; id++) {
        map[id] = live[id] ? resize_node(to, g, id, sizes, n, map) : CR_NONE;
        fits = !live[id] || map[id] != CR_NONE;
    }
    if (fits)
        cr_add_output(to, g->outputs[output].name, map[last]);
    free(live);
    free(map);
    if (fits)
        return to;
    cr_graph_free(to);
    return NULL;
}
