/*
 * fma.c - turns a sum and a product that nothing else reads into one fused multiply-add: one
 * operation instead of two, and one rounding less.
 *
 * The pass decides this once for the graph; no kernel and no C compiler does.  So a value that
 * several kernels compute has the same bits in all of them, and on every backend.
 */
#include "pass_list.h"
#include "rules.h"
#include "users.h"

/* A sum whose operand `which` is a product, or a moved one, that nothing else reads. */
struct fma {
    cr_id sum, product;
    int which;
};

/* True if a node is read by another alone, and is no output. */
static bool only_for(const struct cr_users *users, cr_id id, cr_id user)
{
    return cr_only_user(users, id) == user && users->meet[id] == user;
}

/* The product may be moved before it is added.  Such a product must become an fma as well: where an
 * axis has size 1 some moves vanish, and a single sequence must get the same bits as in a batch. */
static bool find_fma(const struct cr_graph *g, const struct cr_users *users, cr_id sum,
                     struct fma *fma)
{
    if (g->nodes[sum].op != CR_OP_add || g->nodes[sum].dtype != CR_F32)
        return false;
    for (int i = 0; i < 2; i++) {
        cr_id user = sum, id = cr_in(g, sum, i);
        while (cr_kind_of(g, id) == CR_KIND_MOVE && only_for(users, id, user))
            user = id, id = cr_in(g, id, 0);
        *fma = (struct fma){sum, id, i};
        if (g->nodes[id].op == CR_OP_mul && only_for(users, id, user))
            return true;
    }
    return false;
}

/* Moves a factor of the product in the same way as the product was moved to `id`. */
static cr_id move_factor(struct cr_rewrite *rw, cr_id id, cr_id product, int factor)
{
    if (id == product)
        return rw->map[cr_in(rw->from, product, factor)];
    struct cr_attr attr = cr_attr_of(&rw->from->nodes[id]);
    cr_id below = move_factor(rw, cr_in(rw->from, id, 0), product, factor);
    return cr_rewrite_add(rw, rw->from->nodes[id].op, 1, &below, &attr);
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

/* Makes one fma of a sum and a product that nothing else reads, for all kernels that compute
 * the sum. */
void cr_pass_fma(struct cr_module *module)
{
    struct cr_users users;
    struct cr_rewrite rw;
    cr_users_find(&users, module->graph);
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    for (cr_id id = 0; id < rw.from->n_nodes; id++) {
        struct fma fma;
        if (!rw.live[id])
            continue;
        if (find_fma(rw.from, &users, id, &fma))
            add_fma(&rw, &fma);
        else
            cr_rewrite_copy(&rw, id);
    }
    module->graph = cr_rewrite_end(&rw);
    cr_users_free(&users);
}
