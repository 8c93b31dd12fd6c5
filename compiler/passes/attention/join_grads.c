/*
 * join_grads.c - lets one kernel compute the gradients of an attention's queries, keys and values,
 * and all else that is computed from the gradient of its logits.  The kernel recomputes the
 * probabilities block by block (Dao et al. 2022).
 *
 * A kernel stores one node.  So the pass joins the gradients in a concat, unless the graph does so
 * already, and readers get slices of it.  match_grads finds the pattern by the concat.
 */
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/rewrite/rule_tools.h"
#include "compiler/passes/rewrite/rules.h"
#include "compiler/passes/weights/weights.h"

struct search {
    const struct cr_module *module;
    const struct cr_graph *g;
    const struct cr_users *users;
    const bool *weights;
};

static bool is_op(const struct search *s, cr_id id, enum cr_op op)
{
    return id != CR_NONE && s->g->nodes[id].op == op;
}

/* Returns the only user of a node that is not stored, or CR_NONE. */
static cr_id only_user(const struct search *s, cr_id id)
{
    bool one = cr_n_users(s->users, id) == 1 && !cr_is_materialised(s->module, id);
    return one ? s->users->list[s->users->first[id]] : CR_NONE;
}

/* ---- missing gradients ---- */

/* Exchanges the last two axes of a node, merged with a permute below. */
static cr_id transposed_view(struct cr_graph *g, cr_id id)
{
    struct cr_attr attr = {0};
    bool permuted = g->nodes[id].op == CR_OP_permute, moves = false;
    int rank = g->nodes[id].rank;
    for (int i = 0; i < rank; i++) {
        int axis = i < rank - 2 ? i : 2 * rank - 3 - i;
        attr.index[i] = permuted ? g->nodes[id].index[axis] : axis;
        moves |= attr.index[i] != i;
    }
    cr_id base = permuted ? cr_in(g, id, 0) : id;
    return moves ? cr_must(g, CR_OP_permute, 1, &base, &attr) : base;
}

static void add_product(struct cr_graph *g, cr_id a, cr_id b)
{
    cr_must(g, CR_OP_matmul, 2, (cr_id[]){a, b}, NULL);
}

/*
 * Adds those of the three products that are missing although T exists, as where keys and values
 * are constant.  The kernel computes them although nothing reads them; that costs little compared
 * with storing arrays of queries by keys.  True if it added any.
 */
static bool complete(const struct search *s, struct cr_graph *g, cr_id t)
{
    struct cr_attention_backward b;
    int n = g->n_nodes;
    if (!cr_match_products(s->module, s->users, s->weights, t, &b))
        return false;
    cr_id q = cr_in(g, b.scores, 0), k = cr_in(g, b.scores, 1), grad = cr_in(g, b.ddropped, 0);
    g->here = g->nodes[t].where;
    if (b.dq == CR_NONE && b.dk != CR_NONE)
        add_product(g, t, transposed_view(g, k));
    if (b.dq != CR_NONE && b.dk == CR_NONE)
        add_product(g, transposed_view(g, t), q);
    if (b.dv == CR_NONE)
        add_product(g, transposed_view(g, b.dropped), grad);
    return g->n_nodes > n;
}

/* True if a node may be the T of some gradients: it is elementwise, and a matmul reads it or its
 * transpose. */
static bool may_be_dscores(const struct search *s, cr_id id)
{
    for (int u = s->users->first[id]; u < s->users->first[id + 1]; u++) {
        cr_id user = s->users->list[u];
        if (is_op(s, user, CR_OP_permute))
            user = only_user(s, user);
        if (is_op(s, user, CR_OP_matmul))
            return cr_kind_of(s->g, id) == CR_KIND_ELEMENTWISE;
    }
    return false;
}

/* Completes the gradients of all T.  `marks` comes from cr_mark_dlogits. */
static bool complete_all(struct cr_graph *g, const struct search *s, const bool *marks)
{
    bool added = false;
    for (cr_id id = 0, n = g->n_nodes; id < n; id++)
        added |= marks[id] && may_be_dscores(s, id) && complete(s, g, id);
    return added;
}

/* ---- the pass ---- */

enum { MOST_PARTS = 3 + CR_MAX_ARRAYS };

/* The nodes that one concat joins, the three products first; first and last are the smallest and
 * the largest id. */
struct parts {
    const struct cr_attention_backward *b;
    cr_id nodes[MOST_PARTS], first, last;
    int n;
};

static struct parts parts_of(const struct cr_attention_backward *b)
{
    struct parts p = {.b = b, .nodes = {b->dq, b->dk, b->dv}, .n = 3};
    for (int i = 0; i < b->n_arrays; i++)
        p.nodes[p.n++] = b->arrays[i].result;
    p.first = p.last = p.nodes[0];
    for (int i = 1; i < p.n; i++) {
        p.first = p.nodes[i] < p.first ? p.nodes[i] : p.first;
        p.last = p.nodes[i] > p.last ? p.nodes[i] : p.last;
    }
    return p;
}

/* True if a part is an array that the kernel also uses to compute other parts. */
static bool is_inside(const struct parts *p, int i)
{
    const struct cr_array_gradient *array = i < 3 ? NULL : &p->b->arrays[i - 3];
    return array && array->result == array->array;
}

/* dK and dV are x' y.  Returns x; other_factor returns y. */
static cr_id transposed_factor(const struct parts *p, int i)
{
    return i == 1 ? p->b->dscores : p->b->dropped;
}

static cr_id other_factor(const struct cr_graph *g, const struct parts *p, int i)
{
    return cr_in(g, i == 1 ? p->b->scores : p->b->ddropped, 0);
}

static void mark(const struct cr_graph *g, const struct parts *p, cr_id user, bool *needed)
{
    for (int i = 0; i < g->nodes[user].n_in; i++)
        if (cr_in(g, user, i) >= p->first)
            needed[cr_in(g, user, i)] = true;
}

/* True if a node outside the kernel reads an array that the kernel computes inside: it needs the
 * stored copy. */
static bool reads_stored(const struct cr_graph *g, const struct parts *p, cr_id id)
{
    const struct cr_attention_backward *b = p->b;
    bool reads = false, own = id == cr_in(g, b->dk, 0);
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < g->nodes[id].n_in; j++)
            reads |= is_inside(p, i) && cr_in(g, id, j) == p->nodes[i];
    for (int i = 0; i < b->n_behind; i++)
        own |= b->behind[i] == id;
    for (int i = 0; i < b->n_arrays; i++)
        own |= b->arrays[i].kind == CR_SCATTERED && cr_in(g, b->arrays[i].result, 0) == id;
    return reads && !own;
}

/* Marks the nodes with ids from the first to the last part on which a part depends; false if one
 * part depends on another. */
static bool mark_sources(const struct cr_graph *g, const struct parts *p, bool *needed)
{
    memset(needed + p->first, 0, (size_t)(p->last - p->first + 1) * sizeof *needed);
    for (int i = 0; i < p->n; i++)
        mark(g, p, p->nodes[i], needed);
    for (int i = 1; i < 3; i++)
        if (other_factor(g, p, i) >= p->first)
            needed[other_factor(g, p, i)] = true;
    for (cr_id id = p->last; id >= p->first; id--)
        if (needed[id])
            mark(g, p, id, needed);
    for (int i = 0; i < p->n; i++)
        if (needed[p->nodes[i]] && !is_inside(p, i))
            return false;
    for (cr_id id = p->first; id <= p->last; id++)
        if (needed[id] && reads_stored(g, p, id))
            return false;
    return true;
}

/* Copies the marked nodes, which follow the first part, ahead of the concat. */
static void copy_ahead(struct cr_rewrite *rw, const struct parts *p, const bool *needed)
{
    for (cr_id id = p->first; id <= p->last; id++)
        if (needed[id] && rw->map[id] == CR_NONE)
            cr_rewrite_copy(rw, id);
}

static bool is_turned(const struct parts *p, int i)
{
    return (i == 1 && p->b->dk_turned) || (i == 2 && p->b->dv_turned);
}

/* True if a part is an output, which has memory of its own and stays out of the concat. */
static bool is_apart(const struct parts *p, int i)
{
    return i >= 3 && p->b->arrays[i - 3].apart;
}

/* Copies a part; a transposed product is made in the form that the kernel computes. */
static cr_id copy_part(struct cr_rewrite *rw, const struct parts *p, int i)
{
    if (is_inside(p, i) && rw->map[p->nodes[i]] != CR_NONE)
        return rw->map[p->nodes[i]];
    if (!is_turned(p, i))
        return cr_rewrite_copy(rw, p->nodes[i]);
    cr_rewrite_at(rw, p->nodes[i]);
    cr_id in[] = {cr_transpose_last(rw, rw->map[transposed_factor(p, i)]),
                  rw->map[other_factor(rw->from, p, i)]};
    return cr_rewrite_add(rw, CR_OP_matmul, 2, in, NULL);
}

/* Joins the parts and maps each to its slice, except those that stay out of the concat. */
static void join(struct cr_rewrite *rw, const struct parts *p)
{
    struct cr_attr shape[MOST_PARTS];
    cr_id flat[MOST_PARTS];
    int64_t size[MOST_PARTS], start = 0;
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        cr_id id = copy_part(rw, p, i);
        if (is_apart(p, i))
            continue;
        const struct cr_node *node = &rw->to->nodes[id];
        shape[i] = (struct cr_attr){.rank = node->rank};
        memcpy(shape[i].shape, node->shape, sizeof shape[i].shape);
        size[i] = cr_elements(node->rank, node->shape);
        struct cr_attr line = {.rank = 1, .shape = {size[i]}};
        flat[n++] = cr_rewrite_add(rw, CR_OP_reshape, 1, &id, &line);
    }
    cr_id all = cr_rewrite_add(rw, CR_OP_concat, n, flat, &(struct cr_attr){.axis = 0});
    for (int i = 0; i < p->n; i++) {
        if (is_apart(p, i))
            continue;
        struct cr_attr part = {.shape = {size[i]}, .index = {start}};
        cr_id id = cr_rewrite_add(rw, CR_OP_slice, 1, &all, &part);
        id = cr_rewrite_add(rw, CR_OP_reshape, 1, &id, &shape[i]);
        rw->map[p->nodes[i]] = is_turned(p, i) ? cr_transpose_last(rw, id) : id;
        start += size[i];
    }
}

/* The attentions whose gradients the pass joins. */
struct joins {
    struct cr_attention_backward *items;
    int n, cap;
    int *of; /* by node: 1 + the index of the item of which it is a part, or 0 */
};

static void add_join(struct joins *all, const struct cr_attention_backward *b)
{
    struct parts p = parts_of(b);
    for (int i = 0; i < p.n; i++)
        if (all->of[p.nodes[i]])
            return;
    *CR_PUSH(all->items, all->n, all->cap) = *b;
    for (int i = 0; i < p.n; i++)
        all->of[p.nodes[i]] = all->n;
}

/*
 * Copies the graph.  The concat stands at its first part, so the sources of the other parts are
 * copied ahead of it.  Parts that depend on each other are not joined.
 */
static void rewrite(struct cr_module *module, const struct joins *all)
{
    struct cr_rewrite rw;
    bool *needed = cr_calloc((size_t)module->graph->n_nodes, sizeof *needed);
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    for (cr_id id = 0; id < rw.from->n_nodes; id++) {
        if (!rw.live[id] || rw.map[id] != CR_NONE)
            continue;
        struct parts p = {.n = 0};
        if (all->of[id])
            p = parts_of(&all->items[all->of[id] - 1]);
        if (id == p.first && p.n && mark_sources(rw.from, &p, needed)) {
            copy_ahead(&rw, &p, needed);
            join(&rw, &p);
        } else {
            cr_rewrite_copy(&rw, id);
        }
    }
    module->graph = cr_rewrite_end(&rw);
    free(needed);
}

/* Completes the patterns and finds those to join; true if the graph has to be rewritten. */
static bool find_joins(struct cr_module *module, struct cr_users *users, struct joins *all)
{
    bool *weights = cr_find_weights(module->graph);
    const struct search s = {module, module->graph, users, weights};
    struct cr_attention_backward b;
    bool *marks = cr_mark_dlogits(module, users, weights);
    int n = module->graph->n_nodes;
    bool completed = complete_all(module->graph, &s, marks);
    if (completed) {
        cr_users_free(users);
        cr_users_list(users, module->graph);
        free(weights);
        weights = cr_find_weights(module->graph);
    }
    all->of = cr_calloc((size_t)module->graph->n_nodes, sizeof *all->of);
    for (cr_id id = 0; id < module->graph->n_nodes; id++) {
        cr_id left = is_op(&s, id, CR_OP_matmul) ? cr_in(module->graph, id, 0) : CR_NONE;
        if (left != CR_NONE && left < n && marks[left] &&
            cr_match_backward(module, users, weights, id, &b) && !cr_are_joined(module, users, &b))
            add_join(all, &b);
    }
    free(marks);
    free(weights);
    return all->n || completed;
}

/*
 * Joins the gradients of each attention that one kernel can compute, unless the graph joins them
 * already.  First it rewrites what depends on them into the kernel's form, and adds products that
 * complete a pattern; the users are then found again.
 */
void cr_pass_join_grads(struct cr_module *module)
{
    struct joins all = {0};
    struct cr_users users;
    if (module->graph->n_lengths)
        return; /* models with lengths have no gradients except those that a script spells out */
    cr_users_list(&users, module->graph);
    if (cr_lift_gradients(module, &users) && find_joins(module, &users, &all))
        rewrite(module, &all);
    cr_users_free(&users);
    free(all.items);
    free(all.of);
}
