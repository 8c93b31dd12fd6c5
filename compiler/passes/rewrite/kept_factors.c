#include "kept_factors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/intern.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/module/module.h"
#include "rewrite.h"
#include "rules.h"
#include "users.h"

/* A product that is written to a state and that only a sum reads. */
struct kept {
    cr_id product;
    cr_id value;  /* the value that is written to the state: the product, or movement ops on the
                     product */
    cr_id write;  /* the op that writes it */
    cr_id reader; /* the only node that reads `write`: the sum, or a movement op before it */
};

/* True if `id` is a sum, or starts a single-use chain of movement ops that ends in a sum. */
static bool ends_in_sum(const struct cr_graph *g, const struct cr_users *users, cr_id id)
{
    while (id != CR_NONE && cr_kind_of(g, id) == CR_KIND_MOVE)
        id = cr_single_use(users, id);
    return id != CR_NONE && g->nodes[id].op == CR_OP_add;
}

/* If `write` stores a product in a state, and only a sum reads it, fills in *kept and returns
 * true. */
static bool find_kept(const struct cr_graph *g, const struct cr_users *users, cr_id write,
                      struct kept *kept)
{
    if (g->nodes[write].op != CR_OP_write || g->nodes[cr_in(g, write, 0)].op != CR_OP_state ||
        cr_single_use(users, cr_in(g, write, 0)) != write || cr_is_entry_output(g, write))
        return false;
    *kept = (struct kept){
        .value = cr_in(g, write, 1), .write = write, .reader = cr_only_user(users, write)};
    if (!ends_in_sum(g, users, kept->reader))
        return false;
    cr_id user = write, id = kept->value;
    while (cr_kind_of(g, id) == CR_KIND_MOVE && cr_single_use(users, id) == user)
        user = id, id = cr_in(g, id, 0);
    kept->product = id;
    return g->nodes[id].op == CR_OP_mul && g->nodes[id].dtype == CR_F32 &&
           cr_single_use(users, id) == user;
}

/* True if a sum or a difference reads a written state, directly or through movement ops.  This
 * cheap test avoids simplifying and searching most graphs. */
static bool may_keep(const struct cr_graph *g)
{
    bool *kept = cr_calloc((size_t)g->n_nodes, sizeof *kept), found = false;
    for (cr_id id = 0; id < g->n_nodes && !found; id++) {
        const struct cr_node *node = &g->nodes[id];
        kept[id] = node->op == CR_OP_write && node->dtype == CR_F32;
        for (int i = 0; i < node->n_in; i++) {
            bool reads = kept[cr_in(g, id, i)];
            kept[id] |= reads && cr_kind_of(g, id) == CR_KIND_MOVE;
            found |= reads && (node->op == CR_OP_add || node->op == CR_OP_sub);
        }
    }
    free(kept);
    return found;
}

/* ---- the new graph ---- */

/* The names of the states that were added to keep second factors. */
struct added {
    const char **names;
    int n, cap;
};

/* Returns a factor of kept->product, moved by the movement ops between the product and `id`. */
static cr_id moved_factor(struct cr_rewrite *rw, cr_id id, const struct kept *kept, int factor)
{
    if (id == kept->product)
        return rw->map[cr_in(rw->from, id, factor)];
    struct cr_attr attr = cr_attr_of(&rw->from->nodes[id]);
    cr_id below = moved_factor(rw, cr_in(rw->from, id, 0), kept, factor);
    return cr_rewrite_add(rw, rw->from->nodes[id].op, 1, &below, &attr);
}

/* Returns a new state like `state`, with a name that no node of the new graph has. */
static cr_id second_state(struct cr_rewrite *rw, cr_id state)
{
    struct cr_attr attr = cr_attr_of(&rw->from->nodes[state]);
    char name[300];
    bool taken = true;
    for (int number = 1; taken; number++) {
        snprintf(name, sizeof name, "%.240s.factor%d", rw->from->nodes[state].name, number);
        taken = false;
        for (cr_id id = 0; id < rw->to->n_nodes && !taken; id++)
            taken = rw->to->nodes[id].name && strcmp(rw->to->nodes[id].name, name) == 0;
    }
    attr.name = cr_intern(rw->to, name);
    return cr_rewrite_add(rw, CR_OP_state, 0, NULL, &attr);
}

static cr_id write_factor(struct cr_rewrite *rw, const struct kept *kept, cr_id state, int factor)
{
    struct cr_attr attr = cr_attr_of(&rw->from->nodes[kept->write]);
    cr_id in[] = {state, moved_factor(rw, kept->value, kept, factor),
                  rw->map[cr_in(rw->from, kept->write, 2)]};
    return cr_rewrite_add(rw, CR_OP_write, 3, in, &attr);
}

/* Returns the second factor for all tokens: a constant, or a write to a second state, whose name is
 * added to `added`. */
static cr_id second_factor(struct cr_rewrite *rw, const struct kept *kept, int factor,
                           struct added *added)
{
    const struct cr_node *node = &rw->from->nodes[cr_in(rw->from, kept->product, factor)];
    if (node->op == CR_OP_const) {
        struct cr_attr attr = cr_attr_of(&rw->from->nodes[kept->write]);
        attr.value = node->value;
        return cr_rewrite_add(rw, CR_OP_const, 0, NULL, &attr);
    }
    cr_id state = second_state(rw, cr_in(rw->from, kept->write, 0));
    *CR_PUSH(added->names, added->n, added->cap) = rw->to->nodes[state].name;
    return write_factor(rw, kept, state, factor);
}

/* Writes one factor to the state and the other factor, unless it is a constant, to a second state.
 * Returns the product of both for all tokens. */
static cr_id keep_factors(struct cr_rewrite *rw, const struct kept *kept, struct added *added)
{
    const struct cr_graph *g = rw->from;
    int number = g->nodes[cr_in(g, kept->product, 0)].op == CR_OP_const ? 0 : 1;
    cr_rewrite_at(rw, kept->write);
    cr_id first = write_factor(rw, kept, rw->map[cr_in(g, kept->write, 0)], 1 - number);
    rw->map[kept->write] = first;
    cr_id in[] = {first, second_factor(rw, kept, number, added)};
    return cr_rewrite_add(rw, CR_OP_mul, 2, in, NULL);
}

/* By node, for a write of a product: the write of its first factor, and the product of both kept
 * factors; 0 for other nodes. */
struct products {
    cr_id *first, *product;
};

/* Copies a node.  In the copy, reads of a written product become reads of the product of the kept
 * factors. */
static void copy_reader(struct cr_rewrite *rw, cr_id id, const struct products *p)
{
    const struct cr_graph *g = rw->from;
    for (int i = 0; i < g->nodes[id].n_in; i++)
        if (p->product[cr_in(g, id, i)])
            rw->map[cr_in(g, id, i)] = p->product[cr_in(g, id, i)];
    cr_rewrite_copy(rw, id);
    for (int i = 0; i < g->nodes[id].n_in; i++)
        if (p->product[cr_in(g, id, i)])
            rw->map[cr_in(g, id, i)] = p->first[cr_in(g, id, i)];
}

/* Copies the graph.  Where a state keeps a product (struct kept), makes states keep its factors, and
 * multiplies these where the product was read.  Returns true if there is such a product. */
static bool rewrite(struct cr_module *module, struct added *added)
{
    struct cr_users users;
    struct cr_rewrite rw;
    bool any = false;
    cr_users_list(&users, module->graph);
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    size_t n = (size_t)rw.from->n_nodes;
    struct products p = {cr_calloc(n, sizeof *p.first), cr_calloc(n, sizeof *p.product)};
    for (cr_id id = 0; id < rw.from->n_nodes; id++) {
        struct kept kept;
        if (!rw.live[id])
            continue;
        if (find_kept(rw.from, &users, id, &kept)) {
            p.product[id] = keep_factors(&rw, &kept, added);
            p.first[id] = rw.map[id];
            any = true;
            continue;
        }
        copy_reader(&rw, id, &p);
    }
    free(p.first);
    free(p.product);
    cr_users_free(&users);
    module->graph = cr_rewrite_end(&rw);
    return any;
}

/* Makes the only write to the added state `name` its next value. */
static void replace_state(struct cr_graph *g, const char *name)
{
    for (cr_id id = 0; id < g->n_nodes; id++) {
        cr_id state = g->nodes[id].op == CR_OP_write ? cr_in(g, id, 0) : CR_NONE;
        if (state != CR_NONE && g->nodes[state].name && strcmp(g->nodes[state].name, name) == 0) {
            cr_add_replacement(g, 0, state, id);
            return;
        }
    }
}

struct cr_graph *cr_keep_factors(struct cr_graph *g)
{
    struct added added = {0};
    if (!may_keep(g))
        return g;
    struct cr_module *module = cr_module_new(cr_graph_copy(g));
    cr_pass_simplify(module);
    if (rewrite(module, &added)) {
        cr_graph_free(g);
        g = cr_graph_copy(module->graph);
        for (int i = 0; i < added.n; i++)
            replace_state(g, added.names[i]);
    }
    free(added.names);
    cr_module_free(module);
    return g;
}
