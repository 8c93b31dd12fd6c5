/*
 * fma.c - turns a sum and a product that only the sum reads into one fused multiply-add: one
 * operation instead of two, and one rounding less.
 *
 * The pass decides this once for the graph; no kernel and no C compiler does.  So a value that
 * several kernels compute has the same bits in all of them, and on every backend.
 *
 * A product of positions, numbers and parameters becomes part of every sum that reads it.  An
 * incremental graph computes such a product several times, for keys and for queries; the graph of
 * all tokens has one with several readers.  So the number of readers must not decide.
 *
 * Outputs other than `logits` do not decide how the logits are computed: a graph for generation
 * lacks them.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/incremental.h"
#include "compiler/ir/mem.h"
#include "rewrite.h"
#include "rules.h"

/* A sum whose operand `which` is a product, or a product behind movement ops: both can become an fma. */
struct fma {
    cr_id sum, product;
    int which;
};

/* The readers of each node. */
struct readers {
    cr_id *only;  /* by node: its only reader, CR_NONE if there is none, n_nodes if several */
    bool *fixed;  /* by node: it depends on no input or state but scalar integers */
    bool *beside; /* by node: neither the logits nor a state depends on it */
    bool *result; /* by node: it is an output, but not a side output that the logits are computed
                     from */
};

/* Finds the outputs, and the nodes of entries with logits that neither these nor a state need. */
static void find_beside(struct readers *r, const struct cr_graph *g)
{
    bool has_logits[CR_MAX_ENTRIES] = {false};
    r->beside = cr_calloc((size_t)g->n_nodes + 1, sizeof *r->beside);
    r->result = cr_calloc((size_t)g->n_nodes + 1, sizeof *r->result);
    for (int i = 0; i < cr_n_results(g); i++)
        has_logits[g->outputs[i].entry] |= strcmp(g->outputs[i].name, CR_LOGITS) == 0;
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_output *o = &g->outputs[i];
        bool other = i < cr_n_results(g) && strcmp(o->name, CR_LOGITS) != 0;
        r->result[o->id] |= !other || !has_logits[o->entry];
    }
    for (cr_id id = 0; id < g->n_nodes; id++)
        r->beside[id] = !r->result[id];
    for (cr_id id = g->n_nodes - 1; id >= 0; id--)
        for (int i = 0; i < g->nodes[id].n_in && !r->beside[id]; i++)
            r->beside[cr_in(g, id, i)] = false;
    for (int i = 0; i < g->n_outputs; i++)
        r->result[g->outputs[i].id] |= r->beside[g->outputs[i].id];
}

/* Finds the only reader of each node.  A node that the logits need is not counted as read by
 * others. */
static void find_only(struct readers *r, const struct cr_graph *g)
{
    r->only = cr_calloc((size_t)g->n_nodes + 1, sizeof *r->only);
    for (cr_id id = 0; id < g->n_nodes; id++)
        r->only[id] = CR_NONE;
    for (cr_id user = 0; user < g->n_nodes; user++)
        for (int i = 0; i < g->nodes[user].n_in; i++) {
            cr_id in = cr_in(g, user, i);
            if (r->beside[in] || !r->beside[user])
                r->only[in] = r->only[in] == CR_NONE ? user : g->n_nodes;
        }
}

/* True if `user` is the only reader of a node, reads it once, and the node is not an output. */
static bool only_for(const struct readers *r, cr_id id, cr_id user)
{
    return !r->result[id] && r->only[id] == user;
}

/* Scalar integers are allowed: in an incremental graph they are numbers of tokens. */
static bool is_fixed(const struct cr_graph *g, const bool *fixed, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    if (cr_is_input(node) || node->op == CR_OP_state)
        return node->dtype == CR_I32 && node->rank == 0;
    for (int i = 0; i < node->n_in; i++)
        if (!fixed[cr_in(g, id, i)])
            return false;
    return true;
}

static void find_readers(struct readers *r, const struct cr_graph *g)
{
    find_beside(r, g);
    find_only(r, g);
    r->fixed = cr_calloc((size_t)g->n_nodes + 1, sizeof *r->fixed);
    for (cr_id id = 0; id < g->n_nodes; id++)
        r->fixed[id] = is_fixed(g, r->fixed, id);
}

/* True if the sum above `user` may compute a product, or moves of one: `user` is its only reader,
 * or the product is fixed, so that all its readers compute it. */
static bool may_join(const struct readers *r, cr_id id, cr_id user)
{
    return r->fixed[id] || only_for(r, id, user);
}

/* Finds a product that a sum adds, directly or through moves.  A moved product counts: where an
 * axis has size 1 some moves vanish, and a single sequence must get the same bits as in a batch. */
static bool find_fma(const struct cr_graph *g, const struct readers *r, cr_id sum, struct fma *fma)
{
    if (g->nodes[sum].op != CR_OP_add || g->nodes[sum].dtype != CR_F32)
        return false;
    for (int i = 0; i < 2; i++) {
        cr_id user = sum, id = cr_in(g, sum, i);
        while (cr_kind_of(g, id) == CR_KIND_MOVE && may_join(r, id, user))
            user = id, id = cr_in(g, id, 0);
        *fma = (struct fma){sum, id, i};
        if (g->nodes[id].op == CR_OP_mul && may_join(r, id, user))
            return true;
    }
    return false;
}

/* Applies the moves between `product` and `id` to a factor of the product.  The result keeps the lengths of
 * `id`, which an expand may have on its own. */
static cr_id move_factor(struct cr_rewrite *rw, cr_id id, cr_id product, int factor)
{
    if (id == product)
        return rw->map[cr_in(rw->from, product, factor)];
    struct cr_attr attr = cr_attr_of(&rw->from->nodes[id]);
    cr_id below = move_factor(rw, cr_in(rw->from, id, 0), product, factor);
    cr_id moved = cr_rewrite_add(rw, rw->from->nodes[id].op, 1, &below, &attr);
    return cr_rewrite_limited(rw, moved, rw->from->nodes[id].lengths);
}

/* Replaces the sum by an fma in the new graph. */
static void add_fma(struct cr_rewrite *rw, const struct fma *fma)
{
    cr_id moved = cr_in(rw->from, fma->sum, fma->which);
    cr_rewrite_at(rw, fma->sum);
    cr_id in[3] = {move_factor(rw, moved, fma->product, 0), move_factor(rw, moved, fma->product, 1),
                   rw->map[cr_in(rw->from, fma->sum, 1 - fma->which)]};
    cr_rewrite_replace(rw, fma->sum, CR_OP_fma, 3, in, NULL);
}

/* Makes an fma of each sum and the product that only it reads, for all kernels that compute the
 * sum. */
void cr_pass_fma(struct cr_module *module)
{
    struct readers readers;
    struct cr_rewrite rw;
    find_readers(&readers, module->graph);
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    for (cr_id id = 0; id < rw.from->n_nodes; id++) {
        struct fma fma;
        if (!rw.live[id])
            continue;
        if (find_fma(rw.from, &readers, id, &fma))
            add_fma(&rw, &fma);
        else
            cr_rewrite_copy(&rw, id);
    }
    module->graph = cr_rewrite_end(&rw);
    free(readers.only);
    free(readers.fixed);
    free(readers.beside);
    free(readers.result);
}
