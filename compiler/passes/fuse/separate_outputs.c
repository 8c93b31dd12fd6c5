/* separate_outputs.c - gives each output its own node, and makes reshapes of one permute share
 * it. */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/weights/weights.h"
#include "fuse.h"

/* Adds a reshape for each output that is a leaf or is also another output.  Outputs that replace
 * states keep their own node, since a kernel may write only some of its rows; so they are handled
 * first. */
static void separate_outputs(struct cr_graph *g)
{
    bool *taken = cr_calloc((size_t)g->n_nodes, sizeof *taken);
    for (int n = 0; n < g->n_outputs; n++) {
        int i = (n + cr_n_results(g)) % g->n_outputs;
        cr_id id = g->outputs[i].id;
        bool shared = taken[id] || cr_kind_of(g, id) == CR_KIND_LEAF || cr_is_laid_out(g, id);
        taken[id] = true;
        struct cr_attr attr = cr_attr_of(&g->nodes[id]);
        g->here = g->nodes[id].where;
        g->here.entry = (signed char)g->outputs[i].entry;
        if (shared)
            g->outputs[i].id = cr_must(g, CR_OP_reshape, 1, &id, &attr);
    }
    free(taken);
}

/* Makes all reshapes of one permute read the first of them.  They have the same elements in the
 * same order, so an epilogue can end at that reshape, and the node is not stored in two orders. */
static void chain_reshapes(struct cr_graph *g)
{
    cr_id *first = cr_calloc((size_t)g->n_nodes, sizeof *first);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        cr_id in = g->nodes[id].op == CR_OP_reshape ? cr_in(g, id, 0) : CR_NONE;
        if (in == CR_NONE || g->nodes[in].op != CR_OP_permute)
            continue;
        if (first[in])
            g->operands[g->nodes[id].first_in] = first[in];
        else
            first[in] = id; /* 0 means none: node 0 has no operands */
    }
    free(first);
}

/* Marks all outputs that have elements as stored. */
static void store_outputs(struct cr_module *m)
{
    const struct cr_graph *g = m->graph;
    m->materialised = cr_calloc((size_t)g->n_nodes, sizeof *m->materialised);
    for (int i = 0; i < g->n_outputs; i++)
        m->materialised[g->outputs[i].id] = !cr_is_empty(&g->nodes[g->outputs[i].id]);
}

void cr_pass_separate_outputs(struct cr_module *module)
{
    separate_outputs(module->graph);
    chain_reshapes(module->graph);
    store_outputs(module);
}
