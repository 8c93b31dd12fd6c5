#include "kernel_titles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
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

/* Marks the results of functions whose title is a scope that another function has as a title. */
static void find_shared(struct cr_titles *t)
{
    const struct cr_module *m = t->m;
    struct cr_names names = {0};
    char(*plain)[64] = cr_calloc((size_t)m->n_kernels, sizeof *plain);
    int *first = cr_calloc((size_t)m->n_kernels, sizeof *first); /* by name: its first result */
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id root = m->kernels[i].root;
        char title[256];
        if (m->function[i] != i || t->name[root])
            continue;
        cr_kernel_title(title, sizeof title, t, root);
        cr_identifier(plain[i], sizeof plain[i], title);
        int found = cr_names_find(&names, plain[i]);
        if (found < 0) {
            first[names.n] = root;
            cr_names_add(&names, plain[i]);
        } else {
            t->shared[root] = t->shared[first[found]] = true;
        }
    }
    for (int i = 0; i < m->n_kernels; i++)
        t->shared[m->kernels[i].root] |= t->shared[m->kernels[m->function[i]].root];
    free(first);
    free(plain);
    cr_names_free(&names);
}

/* Titles of nodes first: find_shared compares them. */
void cr_titles_find(struct cr_titles *titles, const struct cr_module *m)
{
    const struct cr_graph *g = m->graph;
    *titles = (struct cr_titles){.m = m, .g = g};
    titles->name = cr_calloc((size_t)g->n_nodes, sizeof *titles->name);
    titles->replaces = cr_calloc((size_t)g->n_nodes, sizeof *titles->replaces);
    titles->shared = cr_calloc((size_t)g->n_nodes, sizeof *titles->shared);
    find_own_names(titles);
    find_names_of_views(titles);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (cr_is_interface(&g->nodes[id]) && g->nodes[id].op != CR_OP_state)
            cr_names_add(&titles->leaves, g->nodes[id].name);
    find_shared(titles);
}

void cr_titles_free(struct cr_titles *titles)
{
    free(titles->name);
    free(titles->replaces);
    free(titles->shared);
    cr_names_free(&titles->leaves);
}

/* Returns the node that a view is of. */
static cr_id below_views(const struct cr_graph *g, cr_id id)
{
    while (g->nodes[id].op == CR_OP_reshape || g->nodes[id].op == CR_OP_permute ||
           g->nodes[id].op == CR_OP_expand)
        id = cr_in(g, id, 0);
    return id;
}

/* True if the value of a node is stored. */
static bool is_stored(const struct cr_module *m, cr_id id)
{
    return m->storage[id].space != CR_SPACE_NONE;
}

/* Appends the op of a node to a title.  In front of a reduction's op it appends the op of the
 * operand, if the kernel computes the operand, too. */
static void append_op(char *buffer, size_t size, const struct cr_module *m, cr_id root)
{
    const struct cr_graph *g = m->graph;
    cr_id id = below_views(g, root);
    size_t n = strlen(buffer);
    if (cr_kind_of(g, id) == CR_KIND_REDUCE) {
        cr_id in = below_views(g, cr_in(g, id, 0));
        if (cr_kind_of(g, in) == CR_KIND_ELEMENTWISE && !is_stored(m, in))
            n += (size_t)snprintf(buffer + n, size - n, ".%s", cr_ops[g->nodes[in].op].name);
    }
    if (n < size)
        snprintf(buffer + n, size - n, ".%s", cr_ops[g->nodes[id].op].name);
}

void cr_kernel_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id root)
{
    const char *scope = titles->g->nodes[root].where.scope, *name = titles->name[root];
    bool next = name && (titles->replaces[root] || cr_names_find(&titles->leaves, name) >= 0);
    if (name)
        snprintf(buffer, size, "%s%s", next ? "next " : "", name);
    else
        snprintf(buffer, size, "%s", *scope ? scope : titles->g->name);
    if (titles->shared[root])
        append_op(buffer, size, titles->m, root);
}
