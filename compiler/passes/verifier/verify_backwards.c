/* Checks the gradients of attentions that the module lists: products, arrays and the concat. */
#include "verifier.h"

/* Follows moves down to the node that `id` is a view of, but no further than `to`. */
static cr_id below(const struct cr_graph *g, cr_id id, cr_id to)
{
    while (id != to && cr_kind_of(g, id) == CR_KIND_MOVE)
        id = cr_in(g, id, 0);
    return id;
}

/* True if a node is a view of x times y. */
static bool is_product(const struct cr_graph *g, cr_id id, cr_id x, cr_id y)
{
    return g->nodes[id].op == CR_OP_matmul && below(g, cr_in(g, id, 0), x) == x &&
           cr_in(g, id, 1) == y;
}

/* True if the products are those of the equations (module.h). */
static bool are_products(const struct cr_graph *g, const struct cr_attention_backward *b)
{
    const struct cr_node *nodes = g->nodes;
    return nodes[b->scores].op == CR_OP_matmul && nodes[b->ddropped].op == CR_OP_matmul &&
           nodes[b->dq].op == CR_OP_matmul && cr_in(g, b->dq, 0) == b->dscores &&
           is_product(g, b->dk, b->dscores, cr_in(g, b->scores, 0)) &&
           is_product(g, b->dv, b->dropped, cr_in(g, b->ddropped, 0)) &&
           cr_same_shape(&nodes[b->dscores], &nodes[b->scores]) &&
           cr_same_shape(&nodes[b->dlogits], &nodes[b->probs]);
}

/* Returns how many operands of the concat are views of a node. */
static int n_views(const struct cr_graph *g, cr_id concat, cr_id id)
{
    int n = 0;
    for (int i = 0; i < g->nodes[concat].n_in; i++)
        n += below(g, cr_in(g, concat, i), id) == id;
    return n;
}

/* True if each result is one part of the concat, or an output and no part. */
static bool are_parts(const struct cr_module *m, const struct cr_attention_backward *b)
{
    const cr_id products[] = {b->dq, b->dk, b->dv};
    int parts = 0;
    for (int i = 0; i < 3 + b->n_arrays; i++) {
        const struct cr_array_gradient *array = i < 3 ? NULL : &b->arrays[i - 3];
        bool apart = array && array->apart;
        cr_id id = array ? array->result : products[i];
        if (n_views(m->graph, b->output, id) != !apart || (apart && !cr_is_materialised(m, id)))
            return false;
        parts += !apart;
    }
    return m->graph->nodes[b->output].op == CR_OP_concat &&
           m->graph->nodes[b->output].n_in == parts;
}

int cr_verify_backwards(const struct cr_module *m, struct cr_error *error)
{
    for (int i = 0; i < m->n_backwards; i++) {
        const struct cr_attention_backward *b = &m->backwards[i];
        const char *fault = i && b[-1].output >= b->output ? "is listed behind a later one"
                            : !are_products(m->graph, b)   ? "has other products"
                            : !are_parts(m, b)             ? "does not join its gradients"
                                                           : NULL;
        if (fault)
            return cr_fail(error, "node %d: the gradient of an attention %s", (int)b->output, fault);
    }
    return 0;
}
