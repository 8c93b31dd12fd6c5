/* same_formats.c - compares the formats of parameters in two graphs; see same_formats.h. */
#include "same_formats.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* The parameters of a graph, and the index at which the next search begins. */
struct params {
    cr_id *ids;
    int n, at;
};

static struct params params_of(const struct cr_graph *g)
{
    struct params p = {.ids = cr_calloc((size_t)g->n_nodes + 1, sizeof(cr_id))};
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_param)
            p.ids[p.n++] = id;
    return p;
}

/* Returns the parameter named `name`, or null.  Two graphs have their parameters in nearly the same
 * order, so the search begins after the parameter found before. */
static const struct cr_node *find_param(const struct cr_graph *g, struct params *p, const char *name)
{
    for (int i = 0; i < p->n; i++) {
        const struct cr_node *param = &g->nodes[p->ids[p->at++ % p->n]];
        if (strcmp(param->name, name) == 0)
            return param;
    }
    return NULL;
}

bool cr_any_rounded(const struct cr_graph *g)
{
    bool any = false;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        any |= node->op == CR_OP_param && (node->format != CR_FORMAT_f32 || node->arithmetic != CR_ARITHMETIC_f32);
    }
    return any;
}

void cr_take_formats(struct cr_graph *to, const struct cr_graph *from)
{
    struct params p = params_of(to), of = params_of(from);
    for (int i = 0; i < p.n; i++) {
        struct cr_node *param = &to->nodes[p.ids[i]];
        const struct cr_node *other = find_param(from, &of, param->name);
        if (other) {
            param->format = other->format;
            param->arithmetic = other->arithmetic;
        }
    }
    free(p.ids);
    free(of.ids);
}

bool cr_have_same_formats(const struct cr_graph *a, const struct cr_graph *b)
{
    struct params p = params_of(a), of = params_of(b);
    bool same = true;
    for (int i = 0; i < p.n && same; i++) {
        const struct cr_node *param = &a->nodes[p.ids[i]], *other = find_param(b, &of, param->name);
        same = !other || (param->format == other->format && param->arithmetic == other->arithmetic);
    }
    free(p.ids);
    free(of.ids);
    return same;
}
