/*
 * fma.c - a product that is only added to something becomes one fused multiply-add.
 *
 * Decided here, once for the graph, and not for each kernel or by a C compiler: a value that
 * several kernels compute has the same bits in all of them, and so on every backend.  One
 * operation instead of two, and one rounding less.
 */
#include "pass_list.h"
#include "rewrite.h"
#include "users.h"

/* The operand of a float sum that is a product nobody else reads, or -1. */
static int lone_product(const struct cr_graph *g, const struct cr_users *users, cr_id sum)
{
    if (g->nodes[sum].op != CR_OP_add || g->nodes[sum].dtype != CR_F32)
        return -1;
    for (int i = 0; i < 2; i++) {
        cr_id product = cr_in(g, sum, i);
        if (g->nodes[product].op == CR_OP_mul && cr_only_user(users, product) == sum &&
            users->meet[product] == sum) /* no output */
            return i;
    }
    return -1;
}

/* Enters a b + c in the new graph for the sum of a product, its operand `which`, and c. */
static void add_fma(struct cr_rewrite *rw, cr_id sum, int which)
{
    const struct cr_graph *g = rw->from;
    cr_id product = cr_in(g, sum, which);
    cr_id in[3] = {rw->map[cr_in(g, product, 0)], rw->map[cr_in(g, product, 1)],
                   rw->map[cr_in(g, sum, 1 - which)]};
    cr_rewrite_replace(rw, sum, CR_OP_fma, 3, in, NULL);
}

void cr_pass_fma(struct cr_module *module)
{
    struct cr_users users;
    struct cr_rewrite rw;
    cr_users_find(&users, module->graph);
    cr_rewrite_begin(&rw, module->graph);
    for (cr_id id = 0; id < rw.from->n_nodes; id++) {
        int which = rw.live[id] ? lone_product(rw.from, &users, id) : -1;
        if (which >= 0)
            add_fma(&rw, id, which);
        else if (rw.live[id])
            cr_rewrite_copy(&rw, id);
    }
    module->graph = cr_rewrite_end(&rw);
    cr_users_free(&users);
}
