/* verify_backwards.c - checks the gradients of attentions that the module lists: products, arrays
 * and results. */
#include "verifier.h"

/* Follows movement ops down from `id`, to the first other node or to node `to`; returns that
 * node. */
static cr_id below(const struct cr_graph *g, cr_id id, cr_id to)
{
    while (id != to && cr_kind_of(g, id) == CR_KIND_MOVE)
        id = cr_in(g, id, 0);
    return id;
}

/* True if node `id` is a view of the product of x and y. */
static bool is_product(const struct cr_graph *g, cr_id id, cr_id x, cr_id y)
{
    return g->nodes[id].op == CR_OP_matmul && below(g, cr_in(g, id, 0), x) == x &&
           cr_in(g, id, 1) == y;
}

/* True if the products have the operands given by the equations in module.h. */
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

/* Returns the number of operands of a concat that are views of node `id`. */
static int n_views(const struct cr_graph *g, cr_id concat, cr_id id)
{
    int n = 0;
    for (int i = 0; i < g->nodes[concat].n_in; i++)
        n += below(g, cr_in(g, concat, i), id) == id;
    return n;
}

/* True if gradient i is also another gradient, or is an array that the kernel uses. */
static bool is_shared(const struct cr_attention_backward *b, int i)
{
    cr_id id = cr_gradient_at(b, i);
    bool shared = i >= 3 && cr_is_own_node(b, i) && id == b->arrays[i - 3].array;
    for (int j = 0; j < i; j++)
        shared |= cr_gradient_at(b, j) == id;
    return shared;
}

/* True if each gradient is a node of its own, or exactly one part of the concat. */
static bool are_results(const struct cr_graph *g, const struct cr_attention_backward *b)
{
    int parts = 0;
    for (int i = 0; i < cr_n_gradients(b); i++) {
        bool part = !cr_is_own_node(b, i);
        if (is_shared(b, i) || (b->joined && n_views(g, b->output, cr_gradient_at(b, i)) != part))
            return false;
        parts += part;
    }
    return b->joined ? g->nodes[b->output].op == CR_OP_concat && g->nodes[b->output].n_in == parts
                     : b->output == b->dq;
}

int cr_verify_backwards(const struct cr_module *m, struct cr_error *error)
{
    for (int i = 0; i < m->n_backwards; i++) {
        const struct cr_attention_backward *b = &m->backwards[i];
        const char *fault = i && b[-1].output >= b->output ? "are listed behind later ones"
                            : !are_products(m->graph, b)   ? "have other products"
                            : !are_results(m->graph, b)    ? "are no results of one kernel"
                                                           : NULL;
        if (fault)
            return cr_fail(error, "node %d: the gradients of an attention %s", (int)b->output, fault);
    }
    return 0;
}
