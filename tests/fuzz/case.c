/* Test cases, and copies and texts of graphs; see case.h. */
#include "case.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/frontend/script.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/print_graph.h"
#include "leaves.h"

/* ---- cases ---- */

struct cr_case *cr_case_new(const char *name)
{
    struct cr_case *c = cr_calloc(1, sizeof *c);
    c->graph = cr_graph_new(name);
    return c;
}

struct cr_case *cr_case_of(struct cr_graph *graph)
{
    struct cr_case *c = cr_calloc(1, sizeof *c);
    c->graph = graph;
    cr_case_evaluate(c);
    return c;
}

/* Makes room for so many nodes. */
static void reserve(struct cr_case *c, int nodes)
{
    if (nodes <= c->cap)
        return;
    int cap = nodes + nodes / 2 + 64;
    void **data = cr_calloc((size_t)cap, sizeof *data);
    struct cr_bounds *bounds = cr_calloc((size_t)cap, sizeof *bounds);
    if (c->n) {
        memcpy(data, c->data, (size_t)c->n * sizeof *data);
        memcpy(bounds, c->bounds, (size_t)c->n * sizeof *bounds);
    }
    free(c->data);
    free(c->bounds);
    c->data = data;
    c->bounds = bounds;
    c->cap = cap;
}

/* Products of a few values up to this stay in the range of floats. */
static const double far = 1e9;

/* True if an element or its error is too large; numbers below -1e29, by which masks hide scores,
 * do not count. */
static bool is_extreme(const struct cr_bounds *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if ((!(fabs(b->value[i]) < far) && !(b->value[i] < -1e29)) || isinf(b->error[i]))
            return true;
    return false;
}

/* True if a node belongs to a gradient, or is computed from one. */
static bool is_of_gradient(const struct cr_graph *g, cr_id id)
{
    bool *of = cr_calloc((size_t)id + 1, sizeof *of);
    for (cr_id i = 0; i <= id; i++) {
        of[i] = g->nodes[i].where.backward;
        for (int k = 0; k < g->nodes[i].n_in && !of[i]; k++)
            of[i] = of[cr_in(g, i, k)];
    }
    bool found = of[id];
    free(of);
    return found;
}

bool cr_case_is_known(const struct cr_case *c, cr_id id)
{
    return !c->extreme || !is_of_gradient(c->graph, id);
}

void cr_case_evaluate(struct cr_case *c)
{
    reserve(c, c->graph->n_nodes);
    for (; c->n < c->graph->n_nodes; c->n++) {
        const struct cr_node *node = &c->graph->nodes[c->n];
        c->data[c->n] = node->name ? cr_leaf_data(c->graph, node) : NULL;
        cr_bounds_add(c->graph, c->n, c->data[c->n], c->bounds);
        c->extreme |= node->dtype == CR_F32 &&
                      is_extreme(&c->bounds[c->n], cr_elements(node->rank, node->shape));
    }
}

void cr_case_cut(struct cr_case *c, int n_nodes, int n_operands)
{
    for (; c->n > n_nodes; c->n--) {
        cr_bounds_free(&c->bounds[c->n - 1]);
        free(c->data[c->n - 1]);
    }
    c->graph->n_nodes = n_nodes;
    c->graph->n_operands = n_operands;
}

void cr_case_free(struct cr_case *c)
{
    if (!c)
        return;
    cr_case_cut(c, 0, 0);
    free(c->data);
    free(c->bounds);
    cr_graph_free(c->graph);
    free(c);
}

const void *cr_case_data(const struct cr_case *c, const char *name)
{
    for (cr_id id = 0; id < c->graph->n_nodes; id++)
        if (c->graph->nodes[id].name && strcmp(c->graph->nodes[id].name, name) == 0)
            return c->data[id];
    fprintf(stderr, "no leaf is called %s\n", name);
    abort();
}

/* ---- copies ---- */

void cr_graph_origin(struct cr_graph *to, const struct cr_graph *from, cr_id id)
{
    const struct cr_where *where = &from->nodes[id].where;
    to->here = *where;
    to->here.file = cr_intern(to, where->file);
    to->here.scope = cr_intern(to, where->scope);
}

struct cr_attr cr_attr_for(struct cr_graph *to, const struct cr_graph *from,
                           const struct cr_node *node)
{
    struct cr_attr attr = cr_attr_of(node);
    if (node->op == CR_OP_literal)
        attr.value = cr_add_literal(to, cr_literal_of(from, node));
    return attr;
}

cr_id cr_graph_copy_node(struct cr_graph *to, const struct cr_graph *from, cr_id id,
                         const cr_id *in)
{
    const struct cr_node *node = &from->nodes[id];
    struct cr_attr attr = cr_attr_for(to, from, node);
    cr_graph_origin(to, from, id);
    cr_id made = cr_build(to, node->op, node->n_in, in, &attr);
    if (made != CR_NONE)
        to->nodes[made].tap = node->tap ? cr_intern(to, node->tap) : NULL;
    return made;
}

struct cr_graph *cr_graph_copy_nodes(const struct cr_graph *g)
{
    struct cr_graph *copy = cr_graph_new(g->name);
    cr_graph_reserve(copy, g->n_nodes + 64, g->n_operands + 64);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (cr_graph_copy_node(copy, g, id, cr_inputs(g, &g->nodes[id])) == CR_NONE)
            abort();
    return copy;
}

/* ---- text ---- */

char *cr_graph_text(const struct cr_graph *g)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    cr_print_graph(out, g);
    fclose(out);
    return text;
}

struct cr_graph *cr_graph_from_file(const char *path, struct cr_error *error)
{
    struct cr_script script;
    if (cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, error))
        return NULL;
    struct cr_graph *g = script.graph;
    script.graph = NULL;
    cr_script_free(&script);
    return g;
}

/* The text becomes a file in memory, as the front end reads files only. */
struct cr_graph *cr_graph_from_text(const char *text, struct cr_error *error)
{
    char path[64];
    int fd = memfd_create("graph.lua", MFD_CLOEXEC);
    size_t length = strlen(text);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct cr_graph *g = cr_graph_from_file(path, error);
    close(fd);
    return g;
}
