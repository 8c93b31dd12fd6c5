#include "titles.h"

#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"

/* The own name of a node is its tap, else the name of its first output. */
static void find_own_names(struct cr_titles *t)
{
    for (int i = t->g->n_outputs - 1; i >= 0; i--) {
        t->name[t->g->outputs[i].id] = t->g->outputs[i].name;
        t->replaces[t->g->outputs[i].id] = t->g->outputs[i].state != CR_NONE;
    }
    for (cr_id id = 0; id < t->g->n_nodes; id++)
        if (t->g->nodes[id].tap) {
            t->name[id] = t->g->nodes[id].tap;
            t->replaces[id] = false;
        }
}

/* A node without a name takes the name of its first view, which may come from a view of that
 * view. */
static void find_names_of_views(struct cr_titles *t)
{
    const struct cr_graph *g = t->g;
    cr_id *view = cr_calloc((size_t)g->n_nodes, sizeof *view); /* by node: its first view, or 0 */
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        if (!t->name[id] && view[id]) {
            t->name[id] = t->name[view[id]];
            t->replaces[id] = t->replaces[view[id]];
        }
        if (g->nodes[id].op == CR_OP_reshape || g->nodes[id].op == CR_OP_permute)
            view[cr_in(g, id, 0)] = id;
    }
    free(view);
}

void cr_titles_find(struct cr_titles *titles, const struct cr_graph *g)
{
    *titles = (struct cr_titles){.g = g};
    titles->name = cr_calloc((size_t)g->n_nodes, sizeof *titles->name);
    titles->replaces = cr_calloc((size_t)g->n_nodes, sizeof *titles->replaces);
    find_own_names(titles);
    find_names_of_views(titles);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (cr_is_interface(&g->nodes[id]) && g->nodes[id].op != CR_OP_state)
            cr_names_add(&titles->leaves, g->nodes[id].name);
}

void cr_titles_free(struct cr_titles *titles)
{
    free(titles->name);
    free(titles->replaces);
    cr_names_free(&titles->leaves);
}

void cr_kernel_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id root)
{
    const char *scope = titles->g->nodes[root].where.scope, *name = titles->name[root];
    bool next = name && (titles->replaces[root] || cr_names_find(&titles->leaves, name) >= 0);
    if (name)
        snprintf(buffer, size, "%s%s", next ? "next " : "", name);
    else
        snprintf(buffer, size, "%s", *scope ? scope : titles->g->name);
}
