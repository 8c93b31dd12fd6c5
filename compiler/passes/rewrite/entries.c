/*
 * entries.c - gives each entry its own nodes.
 *
 * A script computes a node once for several entries.  This pass duplicates the node for each entry
 * that needs it, so that later passes treat an entry as if it were alone: fusion, rounding and
 * storage do not depend on the other entries, and an entry has the bits of a script that returns
 * only its outputs.  Inputs, states and parameters are not duplicated: entries share the weights
 * and their layout, and one entry reads the state that another wrote.  Nodes are listed by entry,
 * and so are the kernels made from them.
 */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "rewrite.h"

struct copy {
    const struct cr_graph *from;
    struct cr_graph *to;
    unsigned *needed; /* by node of `from`: a bit for each entry that needs the node */
    cr_id *map;       /* by node of `from`: the node's copy in `to`, for the entry that was copied
                         last */
};

/* Copies a node for an entry; its operands have been copied.  Only the copy for the first entry
 * keeps the tap. */
static void copy_node(struct copy *c, cr_id id, int entry)
{
    const struct cr_node *node = &c->from->nodes[id];
    struct cr_attr attr = cr_attr_of(node);
    cr_id *in = cr_calloc((size_t)node->n_in, sizeof *in);
    bool first = !(c->needed[id] & ((1u << entry) - 1));
    for (int i = 0; i < node->n_in; i++)
        in[i] = c->map[cr_in(c->from, id, i)];
    c->to->here = node->where;
    c->to->here.entry = (signed char)entry;
    c->map[id] = cr_must(c->to, node->op, node->n_in, in, &attr);
    if (node->tap && first)
        c->to->nodes[c->map[id]].tap = node->tap;
    free(in);
}

/* Copies all nodes of an entry, its outputs, and its replacements of states. */
static void copy_entry(struct copy *c, int entry)
{
    const struct cr_graph *g = c->from;
    cr_add_entry(c->to, g->entries[entry]);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (!g->nodes[id].name && c->needed[id] >> entry & 1)
            copy_node(c, id, entry);
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_output *output = &g->outputs[i];
        if (output->entry == entry && output->state == CR_NONE)
            cr_add_output(c->to, output->name, c->map[output->id]);
        else if (output->entry == entry)
            cr_add_replacement(c->to, entry, c->map[output->state], c->map[output->id]);
    }
}

/* First copies inputs, states and parameters in their order, then the nodes of each entry. */
void cr_pass_entries(struct cr_module *module)
{
    struct cr_graph *g = module->graph;
    if (g->n_entries == 1)
        return;
    struct copy c = {g, cr_graph_successor(g), cr_find_needed(g),
                     cr_calloc((size_t)g->n_nodes, sizeof *c.map)};
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].name)
            copy_node(&c, id, 0);
    for (int entry = 0; entry < g->n_entries; entry++)
        copy_entry(&c, entry);
    module->graph = c.to;
    cr_graph_free(g);
    free(c.needed);
    free(c.map);
}
