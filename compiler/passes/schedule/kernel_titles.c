#include "kernel_titles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/gradient.h"
#include "compiler/ir/identifiers.h"
#include "compiler/ir/mem.h"
#include "title_parts.h"

/* Sets the name of each node that has one of its own: its tap, or the name of its first output. */
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

/* Gives a node without a name the name of its first view, which may in turn have got it from a
 * view. */
static void find_names_of_views(struct cr_titles *t)
{
    const struct cr_graph *g = t->g;
    cr_id *view = cr_calloc((size_t)g->n_nodes, sizeof *view); /* by node: the first view of the
                                                                  node, or 0 */
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

/* ---- unique titles ---- */

/* A function's name, and the kernel that the function was made for. */
struct named_function {
    int kernel;
    char name[CR_FUNCTION_NAME];
};

static int by_name(const void *a, const void *b)
{
    const struct named_function *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->kernel - y->kernel;
}

static void name_function(const struct cr_titles *t, struct named_function *f)
{
    cr_function_name(f->name, t, t->m->kernels[f->kernel].root);
}

/* Adds a part to the titles of n functions that share a name.  Removes it again if it is equal for
 * all of them, unless it is the op: a scope alone does not tell what is computed. */
static void add_part(struct cr_titles *t, struct named_function *functions, int n, unsigned part)
{
    bool differ = part == CR_TITLE_OP;
    for (int i = 0; i < n; i++) {
        t->parts[t->m->kernels[functions[i].kernel].root] |= part;
        name_function(t, &functions[i]);
        differ |= strcmp(functions[i].name, functions[0].name) != 0;
    }
    for (int i = 0; i < n && !differ; i++) {
        t->parts[t->m->kernels[functions[i].kernel].root] &= ~part;
        name_function(t, &functions[i]);
    }
}

/* Adds a part to the titles of all functions that share a name with another one. */
static void add_part_where_shared(struct cr_titles *t, struct named_function *functions, int n,
                                  unsigned part)
{
    qsort(functions, (size_t)n, sizeof *functions, by_name);
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n; end++)
            if (strcmp(functions[end].name, functions[i].name) != 0)
                break;
        if (end - i > 1)
            add_part(t, functions + i, end - i, part);
    }
}

/* Adds parts to the titles of functions until they differ, or no part is left.  All kernels that
 * share a function have the same parts. */
static void make_unique(struct cr_titles *t)
{
    const struct cr_module *m = t->m;
    struct named_function *functions = cr_calloc((size_t)m->n_kernels, sizeof *functions);
    int n = 0;
    for (cr_id id = 0; id < t->g->n_nodes; id++)
        t->kernel[id] = -1;
    for (int i = 0; i < m->n_kernels; i++) {
        t->kernel[m->kernels[i].root] = i;
        t->calls[m->function[i]]++;
    }
    for (int i = 0; i < m->n_kernels; i++)
        if (m->function[i] == i) {
            functions[n].kernel = i;
            name_function(t, &functions[n++]);
        }
    for (unsigned part = 1; part < CR_TITLE_END; part <<= 1)
        add_part_where_shared(t, functions, n, part);
    for (int i = 0; i < m->n_kernels; i++)
        t->parts[m->kernels[i].root] = t->parts[m->kernels[m->function[i]].root];
    free(functions);
}

/* Names of nodes are set first, because make_unique compares titles. */
void cr_titles_find(struct cr_titles *titles, const struct cr_module *m)
{
    const struct cr_graph *g = m->graph;
    *titles = (struct cr_titles){.m = m, .g = g};
    titles->name = cr_calloc((size_t)g->n_nodes, sizeof *titles->name);
    titles->replaces = cr_calloc((size_t)g->n_nodes, sizeof *titles->replaces);
    titles->parts = cr_calloc((size_t)g->n_nodes, sizeof *titles->parts);
    titles->kernel = cr_calloc((size_t)g->n_nodes, sizeof *titles->kernel);
    titles->calls = cr_calloc((size_t)m->n_kernels, sizeof *titles->calls);
    titles->role = cr_find_roles(m);
    find_own_names(titles);
    find_names_of_views(titles);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (cr_is_interface(&g->nodes[id]) && g->nodes[id].op != CR_OP_state)
            cr_names_add(&titles->leaves, g->nodes[id].name);
    make_unique(titles);
}

void cr_titles_free(struct cr_titles *titles)
{
    free(titles->name);
    free(titles->replaces);
    free(titles->parts);
    free(titles->kernel);
    free(titles->calls);
    free(titles->role);
    cr_names_free(&titles->leaves);
}

/* Appends `name`, the name of a kernel's result, or if that is null the scope of the root. */
static void put_name(struct cr_text *title, const struct cr_titles *t, cr_id root, const char *name)
{
    const struct cr_node *node = &t->g->nodes[root];
    const char *weights = NULL, *scope = *node->where.scope ? node->where.scope : t->g->name;
    if (t->parts[root] & CR_TITLE_WEIGHTS)
        weights = cr_weights_name(t->m, &t->m->kernels[t->kernel[root]]);
    if (name)
        cr_put(title, "%s%s",
               t->replaces[root] || cr_names_find(&t->leaves, name) >= 0 ? "next " : "", name);
    else
        cr_put(title, "%s", node->where.backward ? CR_GRADIENT : "");
    if (!name && weights && strrchr(weights, '.'))
        cr_put_bytes(title, weights, (size_t)(strrchr(weights, '.') - weights));
    else if (!name)
        cr_put(title, "%s", scope);
}

/* Appends the parts of a title that follow the name. */
static void put_parts(struct cr_text *title, const struct cr_titles *t, cr_id root, unsigned parts)
{
    const struct cr_kernel *k = &t->m->kernels[t->kernel[root]];
    const bool unnamed = parts & CR_TITLE_OP && !t->name[root];
    const bool copy = (parts & CR_TITLE_COPY || unnamed) && cr_is_copy(k);
    if (parts & CR_TITLE_ROLE && t->role[k->buffer])
        cr_put(title, ".%s", t->role[k->buffer]);
    if (copy)
        cr_put(title, ".copy");
    if (!(parts & CR_TITLE_STEPS && cr_put_steps(title, k)) && unnamed && !copy)
        cr_put_op(title, t->m, root);
    if (parts & CR_TITLE_WINDOW)
        cr_put_window(title, k);
    if (parts & CR_TITLE_LAYER && t->calls[t->kernel[root]] == 1)
        cr_keep_numbers(title->data);
    if (parts & CR_TITLE_SHAPE)
        cr_put_shape(title, t->m, k);
}

static void write_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id root,
                        unsigned parts)
{
    struct cr_text title = {0};
    put_name(&title, titles, root, titles->name[root]);
    if (parts)
        put_parts(&title, titles, root, parts);
    snprintf(buffer, size, "%s", title.data);
    free(title.data);
}

void cr_node_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id id)
{
    unsigned parts = titles->name[id] ? 0 : titles->parts[id] & ~(unsigned)CR_TITLE_LAYER;
    write_title(buffer, size, titles, id, parts);
}

void cr_function_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id root)
{
    write_title(buffer, size, titles, root, titles->parts[root]);
}

void cr_function_name(char buffer[CR_FUNCTION_NAME], const struct cr_titles *titles, cr_id root)
{
    enum { LONG = 54 };
    char title[256], all[256], *at = title, *dot;
    cr_function_title(title, sizeof title, titles, root);
    cr_identifier(all, sizeof all, title);
    while (strlen(all) > LONG && (dot = strchr(at, '.'))) {
        bool gradient = at == title && strncmp(title, CR_GRADIENT, sizeof CR_GRADIENT - 1) == 0;
        at = dot + 1;
        if (gradient)
            memcpy(at -= sizeof CR_GRADIENT - 1, CR_GRADIENT, sizeof CR_GRADIENT - 1);
        cr_identifier(all, sizeof all, at);
    }
    snprintf(buffer, CR_FUNCTION_NAME, "%.63s", all);
}
