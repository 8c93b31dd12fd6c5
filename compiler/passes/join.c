/*
 * join.c - contractions that share an operand become one.
 *
 * A head's query, key and value projections multiply the same normalised rows by
 * different weights: x W1, x W2 ... are slices of x [W1 W2 ...].  One wide product reads
 * x once and keeps the micro-kernel's columns full.  Weights are joined when they are
 * loaded, so the concatenation costs nothing.
 */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "formats.h"
#include "pass_list.h"
#include "rules.h"
#include "weights.h"

/* True if the node is x W with a weight matrix W of rank 2 that all of the batch shares. */
static bool is_projection(const struct cr_graph *g, const bool *weights, cr_id id)
{
    if (g->nodes[id].op != CR_OP_matmul)
        return false;
    cr_id b = cr_weight_matrix(g, cr_in(g, id, 1));
    return g->nodes[b].rank == 2 && weights[b];
}

/* Copies what a weight is made of, which are leaves and their moves, ahead of its place. */
static cr_id copy_weight(struct cr_rewrite *rw, cr_id id)
{
    if (rw->map[id] == CR_NONE) {
        for (int i = 0; i < rw->from->nodes[id].n_in; i++)
            copy_weight(rw, cr_in(rw->from, id, i));
        cr_rewrite_copy(rw, id);
    }
    return rw->map[id];
}

/* x [W1 W2 ...] in the new graph. */
static cr_id wide_product(struct cr_rewrite *rw, const cr_id *members, int n)
{
    const struct cr_graph *g = rw->from;
    cr_id *weights = cr_calloc((size_t)n, sizeof *weights);
    for (int i = 0; i < n; i++)
        weights[i] = copy_weight(rw, cr_weight_matrix(g, cr_in(g, members[i], 1)));
    struct cr_attr attr = {.axis = 1};
    cr_id in[2] = {rw->map[cr_in(g, members[0], 0)],
                   cr_rewrite_add(rw, CR_OP_concat, n, weights, &attr)};
    free(weights);
    struct cr_node *a = &rw->to->nodes[in[0]], *b = &rw->to->nodes[in[1]];
    attr.rank = a->rank;
    for (int i = 0; i < a->rank; i++)
        attr.shape[i] = i < a->rank - 2 ? a->shape[i] : b->shape[i - (a->rank - 2)];
    in[1] = cr_rewrite_add(rw, CR_OP_expand, 1, &in[1], &attr);
    return cr_rewrite_add(rw, CR_OP_matmul, 2, in, NULL);
}

/* Maps each member to its columns of the wide product. */
static void join(struct cr_rewrite *rw, const cr_id *members, int n)
{
    cr_rewrite_at(rw, members[0]);
    cr_id wide = wide_product(rw, members, n);
    int64_t start = 0;
    for (int i = 0; i < n; i++) {
        const struct cr_node *node = &rw->from->nodes[members[i]];
        struct cr_attr attr = cr_attr_of(node);
        attr.index[node->rank - 1] = start;
        rw->map[members[i]] = cr_rewrite_add(rw, CR_OP_slice, 1, &wide, &attr);
        struct cr_node *made = &rw->to->nodes[rw->map[members[i]]];
        if (node->tap && !made->tap)
            made->tap = node->tap;
        start += node->shape[node->rank - 1];
    }
}

/* True if two projections are for the same entry, and their weights to be kept alike. */
static bool are_alike(const struct cr_graph *g, cr_id a, cr_id b)
{
    return g->nodes[a].where.entry == g->nodes[b].where.entry &&
           cr_panel_format(g, cr_in(g, a, 1)) == cr_panel_format(g, cr_in(g, b, 1));
}

/* By node: the next live projection of the same rows that is like it, or CR_NONE. */
static cr_id *link_projections(const struct cr_rewrite *rw)
{
    const struct cr_graph *g = rw->from;
    bool *weights = cr_find_weights(g);
    cr_id *next = cr_calloc((size_t)g->n_nodes, sizeof *next);
    cr_id *first = cr_calloc((size_t)g->n_nodes, sizeof *first); /* by rows: seen from the end */
    for (cr_id id = 0; id < g->n_nodes; id++)
        next[id] = first[id] = CR_NONE;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        if (!rw->live[id] || !is_projection(g, weights, id))
            continue;
        cr_id *seen = &first[cr_in(g, id, 0)];
        if (*seen != CR_NONE && are_alike(g, *seen, id))
            next[id] = *seen;
        *seen = id;
    }
    free(weights);
    free(first);
    return next;
}

/* True if any rows have two projections. */
static bool any_linked(const cr_id *next, int n)
{
    for (cr_id id = 0; id < n; id++)
        if (next[id] != CR_NONE)
            return true;
    return false;
}

/* Copies the graph, with each group of projections in the place of its first. */
static void join_all(struct cr_rewrite *rw, const cr_id *next)
{
    cr_id *members = cr_calloc((size_t)rw->from->n_nodes, sizeof *members);
    for (cr_id id = 0; id < rw->from->n_nodes; id++) {
        if (!rw->live[id] || rw->map[id] != CR_NONE)
            continue;
        int n = 0;
        for (cr_id member = id; next[id] != CR_NONE && member != CR_NONE; member = next[member])
            members[n++] = member;
        if (n > 1)
            join(rw, members, n);
        else
            cr_rewrite_copy(rw, id);
    }
    free(members);
}

/* Leaves the graph as it is if there is nothing to join. */
void cr_pass_join(struct cr_module *module)
{
    struct cr_rewrite rw;
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    cr_id *next = link_projections(&rw);
    if (any_linked(next, rw.from->n_nodes)) {
        join_all(&rw, next);
        module->graph = cr_rewrite_end(&rw);
    } else {
        cr_rewrite_cancel(&rw);
    }
    free(next);
}
