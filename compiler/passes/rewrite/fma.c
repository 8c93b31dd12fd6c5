/*
 * fma.c - turns a sum and a product that only the sum reads into one fused multiply-add: one
 * operation instead of two, and one rounding less.
 *
 * The pass decides this once for the graph; no kernel and no C compiler does.  So a value that
 * several kernels compute has the same bits in all of them, and on every backend.
 *
 * A product of positions, numbers and parameters (a *fixed* node) becomes part of every sum that
 * reads it.  An incremental graph computes such a product several times, for keys and for queries,
 * while the graph of all tokens has one with several readers.  So the number of readers must not
 * decide.
 *
 * Outputs other than `logits` do not affect how the logits are computed, because a graph for
 * generation lacks them.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/incremental.h"
#include "compiler/ir/mem.h"
#include "rewrite.h"
#include "rules.h"

/* A sum whose operand number `which` is the product, or movement ops on the product.  The sum can
 * be replaced by an fma. */
struct fma {
    cr_id sum, product;
    int which;
};

/* The readers of each node, and the properties that decide which readers count. */
struct readers {
    cr_id *only;  /* by node: the node's only reader; CR_NONE if it has none, n_nodes if it has
                     several */
    bool *fixed;  /* by node: true if the only inputs and states that it depends on are scalar
                     integers */
    bool *beside; /* by node: true if no logits and no state depend on it, in an entry with
                     logits */
    bool *result; /* by node: true for an output, except one from which the logits are computed */
};

/* Sets `result` and `beside` of all nodes. */
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

/* Sets `only`.  If the logits or a state need a node, its readers that are `beside` do not
 * count. */
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

/* True if `user` is the only reader of node `id`, reads it once, and the node is not an output. */
static bool only_for(const struct readers *r, cr_id id, cr_id user)
{
    return !r->result[id] && r->only[id] == user;
}

/* True if a node is fixed.  Scalar integers are allowed, because in an incremental graph they are
 * numbers of tokens. */
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

/* True if node `id`, a product or moves of one, may become part of the sum through its reader
 * `user`: either `user` is its only reader, or the product is fixed, so that every reader computes
 * it. */
static bool may_join(const struct readers *r, cr_id id, cr_id user)
{
    return r->fixed[id] || only_for(r, id, user);
}

/* Finds a product that a sum adds, directly or through movement ops.  Moved products are included,
 * because some moves vanish where an axis has size 1, and a single sequence must get the same bits
 * as one in a batch. */
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

/* Returns a factor of `product`, moved by the movement ops between `product` and `id`.  It has the
 * lengths of `id`, which an expand may have on its own. */
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

/* Replaces each sum of a product that only it reads by an fma. */
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
