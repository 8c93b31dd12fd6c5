/*
 * join.c - joins contractions that share an operand into one.
 *
 * A head's query, key and value projections multiply the same normalised rows by different weights: x W1, x W2 ... are
 * slices of x [W1 W2 ...].  One wide product reads x once and fills the micro-kernel's columns.  Weights are joined
 * when they are loaded, so the concatenation costs nothing.  Biases are joined likewise if their sum is the only reader
 * of the product: x W1 + b1, x W2 + b2 ... are slices of x [W1 W2 ...] + [b1 b2 ...]. Products with such biases are
 * joined with one another, and so are products without.  Joining changes no bit.
 */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"
#include "compiler/passes/weights/arithmetics.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/weights.h"
#include "rewrite.h"
#include "rules.h"
#include "users.h"

/* True if a node is x W with a weight matrix W of rank 2, the same for the whole batch. */
static bool is_projection(const struct cr_graph *g, const bool *weights, cr_id id)
{
    if (g->nodes[id].op != CR_OP_matmul)
        return false;
    cr_id b = cr_weight_matrix(g, cr_in(g, id, 1));
    return g->nodes[b].rank == 2 && weights[b];
}

/* Copies a weight (a leaf, or movement ops on one) to the new graph, if it has not been copied. */
static cr_id copy_weight(struct cr_rewrite *rw, cr_id id)
{
    if (rw->map[id] == CR_NONE) {
        for (int i = 0; i < rw->from->nodes[id].n_in; i++)
            copy_weight(rw, cr_in(rw->from, id, i));
        cr_rewrite_copy(rw, id);
    }
    return rw->map[id];
}

/* Projections that are joined into one product. */
struct group {
    cr_id *members;
    int n;
    cr_id *sums; /* by member, if `biased`: the sum of the member and its bias, its only reader */
    bool biased;
};

/* Returns the vector parameter that node `id` expands along all axes but the last, or CR_NONE. */
static cr_id bias_of(const struct cr_graph *g, cr_id id)
{
    cr_id param = g->nodes[id].op == CR_OP_expand ? cr_in(g, id, 0) : CR_NONE;
    bool one = param != CR_NONE && g->nodes[param].op == CR_OP_param && g->nodes[param].rank == 1;
    return one && g->nodes[param].shape[0] == g->nodes[id].shape[g->nodes[id].rank - 1] ? param
                                                                                         : CR_NONE;
}

/* True if the only reader of a product adds a bias to it. */
static bool is_biased(const struct cr_graph *g, const struct cr_users *users, cr_id product)
{
    cr_id user = cr_only_user(users, product);
    if (user == CR_NONE || users->output[product] || g->nodes[user].op != CR_OP_add)
        return false;
    return bias_of(g, cr_in(g, user, cr_in(g, user, 0) == product)) != CR_NONE;
}

/* Sets `biased`, and the sum of each member and its bias. */
static void find_sums(struct group *group, const struct cr_graph *g, const struct cr_users *users)
{
    group->biased = is_biased(g, users, group->members[0]);
    for (int i = 0; i < group->n; i++)
        group->sums[i] = cr_only_user(users, group->members[i]);
}

/* Returns the bias that the sum of member i adds. */
static cr_id bias_of_member(const struct group *group, const struct cr_graph *g, int i)
{
    bool second = cr_in(g, group->sums[i], 0) == group->members[i];
    return bias_of(g, cr_in(g, group->sums[i], second));
}

/* Returns the number of characters of the innermost scope that contains both scopes, with the dot
 * after it. */
static size_t common_scope(const char *a, const char *b)
{
    size_t common = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        common = a[i] == '.' ? i + 1 : common;
    return common;
}

/* Returns the scope of the wide product, such as "attn.q_proj-k_proj-v_proj".  It consists of the
 * first member's scope and, for each other member, the next part of its scope after the scope that
 * contains both, unless that part is a number: "moe.gate-experts" for moe.gate, moe.experts.0.w1,
 * moe.experts.0.w3 and so on. */
static const char *joined_scope(struct cr_rewrite *rw, const struct group *group)
{
    const struct cr_node *nodes = rw->from->nodes;
    const char *first = nodes[group->members[0]].where.scope, *last = "";
    char scope[200];
    size_t n = (size_t)snprintf(scope, sizeof scope, "%s", first), length = 0;
    for (int i = 1; i < group->n && n < sizeof scope; i++) {
        const char *other = nodes[group->members[i]].where.scope;
        const char *part = other + common_scope(first, other);
        if (!*part || (*part >= '0' && *part <= '9') || strcmp(other, first) == 0 || (length && strncmp(part, last, length + 1) == 0))
            continue;
        last = part;
        length = strcspn(part, ".");
        n += (size_t)snprintf(scope + n, sizeof scope - n, "-%.*s", (int)length, part);
    }
    return n < sizeof scope ? cr_intern(rw->to, scope) : first;
}

/* Gives nodes that are added from now on the origin of the group: the line of its first member, and
 * the joined scope. */
static void begin_at(struct cr_rewrite *rw, const struct group *group)
{
    cr_rewrite_at(rw, group->members[0]);
    rw->to->here.scope = joined_scope(rw, group);
}

/* Returns [W1 W2 ...] or, if `biases`, [b1 b2 ...] in the new graph, expanded over the batch axes
 * of `like`. */
static cr_id join_weights(struct cr_rewrite *rw, const struct group *group, bool biases,
                          const struct cr_attr *like)
{
    const struct cr_graph *g = rw->from;
    cr_id *weights = cr_calloc((size_t)group->n, sizeof *weights);
    for (int i = 0; i < group->n; i++)
        weights[i] =
            copy_weight(rw, biases ? bias_of_member(group, g, i)
                                   : cr_weight_matrix(g, cr_in(g, group->members[i], 1)));
    struct cr_attr attr = {.axis = !biases};
    begin_at(rw, group);
    cr_id joined = cr_rewrite_add(rw, CR_OP_concat, group->n, weights, &attr);
    free(weights);
    const struct cr_node *node = &rw->to->nodes[joined];
    attr = *like;
    for (int i = 0; i < node->rank; i++)
        attr.shape[attr.rank - node->rank + i] = node->shape[i];
    return cr_rewrite_add(rw, CR_OP_expand, 1, &joined, &attr);
}

/* Returns x [W1 W2 ...] in the new graph, plus [b1 b2 ...] if the group is biased. */
static cr_id wide_product(struct cr_rewrite *rw, const struct group *group)
{
    cr_id x = rw->map[cr_in(rw->from, group->members[0], 0)];
    struct cr_attr rows = cr_attr_of(&rw->to->nodes[x]);
    cr_id in[2] = {x, join_weights(rw, group, false, &rows)};
    in[0] = cr_rewrite_limited(rw, cr_rewrite_add(rw, CR_OP_matmul, 2, in, NULL),
                               rw->from->nodes[group->members[0]].lengths);
    if (!group->biased)
        return in[0];
    in[1] = join_weights(rw, group, true, &rows);
    return cr_rewrite_add(rw, CR_OP_add, 2, in, NULL);
}

/* Maps each member, or its sum with a bias, to its columns of the wide product. */
static void join(struct cr_rewrite *rw, const struct group *group)
{
    cr_id wide = wide_product(rw, group);
    int64_t start = 0;
    for (int i = 0; i < group->n; i++) {
        cr_id member = group->biased ? group->sums[i] : group->members[i];
        cr_rewrite_at(rw, member);
        const struct cr_node *node = &rw->from->nodes[member];
        struct cr_attr attr = cr_attr_of(&rw->from->nodes[group->members[i]]);
        attr.index[node->rank - 1] = start;
        rw->map[member] = cr_rewrite_add(rw, CR_OP_slice, 1, &wide, &attr);
        rw->map[group->members[i]] = rw->map[member]; /* if biased, only the sum reads the member */
        struct cr_node *made = &rw->to->nodes[rw->map[member]];
        if (node->tap && !made->tap)
            made->tap = node->tap;
        start += node->shape[node->rank - 1];
    }
}

/* True if two projections belong to the same entry, have the same lengths, and keep their weights
 * in the same format. */
static bool are_alike(const struct cr_graph *g, cr_id a, cr_id b)
{
    return memcmp(g->nodes[a].lengths, g->nodes[b].lengths, sizeof g->nodes[a].lengths) == 0 &&
           g->nodes[a].where.entry == g->nodes[b].where.entry &&
           cr_panel_format(g, cr_in(g, a, 1)) == cr_panel_format(g, cr_in(g, b, 1)) &&
           cr_panel_arithmetic(g, cr_in(g, a, 1)) == cr_panel_arithmetic(g, cr_in(g, b, 1));
}

/* True if neither a projection nor its weights exceed CR_MAX_ELEMENTS with this many columns. */
static bool may_have(const struct cr_graph *g, cr_id id, int64_t columns)
{
    const struct cr_node *product = &g->nodes[id], *weights = &g->nodes[cr_in(g, id, 1)];
    int64_t own = product->shape[product->rank - 1];
    return cr_elements(product->rank, product->shape) / own <= CR_MAX_ELEMENTS / columns &&
           cr_elements(weights->rank, weights->shape) / own <= CR_MAX_ELEMENTS / columns;
}

/* True if no axis of a projection's weights has a length. */
static bool has_whole_weights(const struct cr_graph *g, cr_id id)
{
    cr_id w = cr_in(g, id, 1);
    int r = g->nodes[w].rank;
    return !cr_length_at(g, w, r - 1) && !cr_length_at(g, w, r - 2);
}

/* Returns a list by node: the next live projection of the same rows that can be joined with it, or
 * CR_NONE. The columns of such a chain are few enough for one product. */
static cr_id *link_projections(const struct cr_rewrite *rw, const struct cr_users *users)
{
    const struct cr_graph *g = rw->from;
    bool *weights = cr_find_weights(g);
    size_t n = (size_t)g->n_nodes;
    cr_id *next = cr_calloc(n, sizeof *next);
    int64_t *columns = cr_calloc(n, sizeof *columns); /* by node: the columns of it and of the chain
                                                         after it */
    cr_id *first = cr_calloc(2 * n, sizeof *first); /* by left operand, without and with a bias: the
                                                       first projection of its chain */
    for (size_t i = 0; i < 2 * n; i++)
        next[i / 2] = first[i] = CR_NONE;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        if (!rw->live[id] || !is_projection(g, weights, id) || !has_whole_weights(g, id))
            continue;
        cr_id *seen = &first[2 * cr_in(g, id, 0) + is_biased(g, users, id)];
        columns[id] = g->nodes[id].shape[g->nodes[id].rank - 1];
        if (*seen != CR_NONE && are_alike(g, *seen, id) &&
            may_have(g, id, columns[id] + columns[*seen])) {
            next[id] = *seen;
            columns[id] += columns[*seen];
        }
        *seen = id;
    }
    free(columns);
    free(weights);
    free(first);
    return next;
}

/* True if any two products can be joined. */
static bool any_linked(const cr_id *next, int n)
{
    for (cr_id id = 0; id < n; id++)
        if (next[id] != CR_NONE)
            return true;
    return false;
}

/* Copies the graph with the projections of each chain joined.  The wide product takes the position
 * of the first one. */
static void join_all(struct cr_rewrite *rw, const cr_id *next, const struct cr_users *users)
{
    size_t n = (size_t)rw->from->n_nodes;
    struct group group = {cr_calloc(n, sizeof *group.members), 0,
                          cr_calloc(n, sizeof *group.sums), false};
    for (cr_id id = 0; id < rw->from->n_nodes; id++) {
        if (!rw->live[id] || rw->map[id] != CR_NONE)
            continue;
        group.n = 0;
        for (cr_id member = id; next[id] != CR_NONE && member != CR_NONE; member = next[member])
            group.members[group.n++] = member;
        if (group.n > 1) {
            find_sums(&group, rw->from, users);
            join(rw, &group);
        } else {
            cr_rewrite_copy(rw, id);
        }
    }
    free(group.members);
    free(group.sums);
}

/* Joins the contractions of all chains.  Leaves the graph as it is if there is nothing to join. */
void cr_pass_join(struct cr_module *module)
{
    struct cr_rewrite rw;
    struct cr_users users;
    cr_users_list(&users, module->graph);
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    cr_id *next = link_projections(&rw, &users);
    if (any_linked(next, rw.from->n_nodes)) {
        join_all(&rw, next, &users);
        module->graph = cr_rewrite_end(&rw);
    } else {
        cr_rewrite_cancel(&rw);
    }
    cr_users_free(&users);
    free(next);
}
