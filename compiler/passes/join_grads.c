/*
 * join_grads.c - lets one kernel compute the gradients of the queries, keys and values of an
 * attention; it computes the probabilities again, block by block (Dao et al. 2022).
 *
 * A kernel stores one node.  So the pass joins the three gradients in a concat, unless the graph
 * does so already, and readers get slices of it.  fuse finds the pattern by the concat.
 */
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "compiler/ir/mem.h"
#include "factors.h"
#include "pass_list.h"
#include "rules.h"

/* ---- finding the three ---- */

struct search {
    const struct cr_module *module;
    const struct cr_graph *g;
    const struct cr_users *users;
};

static bool is_op(const struct search *s, cr_id id, enum cr_op op)
{
    return id != CR_NONE && s->g->nodes[id].op == op;
}

/* True if both nodes are views of one node, and differ by an exchange of the last two axes. */
static bool are_transposed(const struct cr_graph *g, cr_id a, cr_id b)
{
    int64_t axes[2][CR_MAX_RANK];
    cr_id of[2] = {a, b};
    int rank = g->nodes[a].rank;
    for (int i = 0; i < 2; i++) {
        const struct cr_node *node = &g->nodes[of[i]];
        for (int j = 0; j < rank; j++)
            axes[i][j] = node->op == CR_OP_permute ? node->index[j] : j;
        if (node->op == CR_OP_permute)
            of[i] = cr_in(g, of[i], 0);
    }
    int64_t last = axes[0][rank - 1];
    axes[0][rank - 1] = axes[0][rank - 2];
    axes[0][rank - 2] = last;
    return of[0] == of[1] && memcmp(axes[0], axes[1], (size_t)rank * sizeof last) == 0;
}

/* The only user of a node, or CR_NONE. */
static cr_id only_user(const struct search *s, cr_id id)
{
    bool one = cr_n_users(s->users, id) == 1 && !cr_is_materialised(s->module, id);
    return one ? s->users->list[s->users->first[id]] : CR_NONE;
}

/* The product whose left operand is the transpose of a node; CR_NONE if not exactly one. */
static cr_id transposed_product(const struct search *s, cr_id id)
{
    cr_id found = CR_NONE;
    for (int u = s->users->first[id]; u < s->users->first[id + 1]; u++) {
        cr_id user = s->users->list[u];
        if (!is_op(s, user, CR_OP_permute) || !are_transposed(s->g, id, user))
            continue;
        cr_id product = only_user(s, user);
        if (found != CR_NONE || !is_op(s, product, CR_OP_matmul) || cr_in(s->g, product, 0) != user)
            return CR_NONE;
        found = product;
    }
    return found;
}

/* True if nothing but the product reads one of its factors, or a node between the two. */
static bool only_leads_to(const struct search *s, cr_id factor, cr_id product)
{
    while (product != factor) {
        cr_id next = cr_towards_factor(s->g, product, factor);
        if (only_user(s, next) != product)
            return false;
        product = next;
    }
    return true;
}

/* Finds dA, the factor of dP that is a matmul, and the other factors, which must be a dropout. */
static bool find_ddropped(const struct search *s, struct cr_attention_backward *b,
                          struct cr_factors *dropout)
{
    b->ddropped = CR_NONE;
    if (!cr_find_factors(s->g, b->dprobs, dropout))
        return false;
    for (int i = 0; i < dropout->n && b->ddropped == CR_NONE; i++)
        if (dropout->nodes[i] >= 0 && is_op(s, dropout->nodes[i], CR_OP_matmul))
            b->ddropped = dropout->nodes[i];
    return b->ddropped != CR_NONE && cr_take_factor(dropout, b->ddropped) &&
           cr_is_dropout(s->g, dropout) &&
           only_leads_to(s, b->ddropped, b->dprobs);
}

/* The product of P and the factors of the dropout, which is searched among the users of `id`; or
 * CR_NONE. */
static cr_id find_dropped(const struct search *s, cr_id id, cr_id probs,
                          const struct cr_factors *dropout)
{
    struct cr_factors f;
    if (!cr_find_factors(s->g, id, &f) || !cr_take_factor(&f, probs))
        return CR_NONE;
    if (cr_equal_factors(&f, dropout))
        return id;
    for (int u = s->users->first[id]; u < s->users->first[id + 1]; u++) {
        cr_id found = find_dropped(s, s->users->list[u], probs, dropout);
        if (found != CR_NONE)
            return found;
    }
    return CR_NONE;
}

/* dS = (dP - delta) P, in either order. */
static bool match_dlogits(const struct search *s, cr_id id, struct cr_attention_backward *b)
{
    struct cr_softmax softmax;
    struct cr_factors dropout;
    for (int i = 0; is_op(s, id, CR_OP_mul) && i < 2; i++) {
        cr_id difference = cr_in(s->g, id, i);
        if (!is_op(s, difference, CR_OP_sub) || only_user(s, difference) != id)
            continue;
        cr_id wide = cr_in(s->g, difference, 1);
        b->dlogits = id;
        b->probs = cr_in(s->g, id, 1 - i);
        b->dprobs = cr_in(s->g, difference, 0);
        if (!is_op(s, b->probs, CR_OP_div) || !is_op(s, wide, CR_OP_expand) ||
            only_user(s, wide) != difference ||
            only_user(s, b->dprobs) != difference || !find_ddropped(s, b, &dropout) ||
            !cr_match_softmax(s->g, &softmax, b->probs))
            continue;
        b->delta = cr_in(s->g, wide, 0);
        b->dropped = find_dropped(s, b->probs, b->probs, &dropout);
        b->logits = softmax.logits;
        b->scores = cr_find_scores(s->module, softmax.logits);
        const struct cr_node *row = &s->g->nodes[b->delta], *full = &s->g->nodes[wide];
        if (b->dropped != CR_NONE && row->rank == full->rank && row->shape[row->rank - 1] == 1 &&
            b->scores != CR_NONE &&
            memcmp(row->shape, full->shape, (size_t)(row->rank - 1) * sizeof *row->shape) == 0)
            return true;
    }
    return false;
}

/* Goes down from T through elementwise work to dS, within `budget` nodes. */
static bool find_dlogits(const struct search *s, cr_id id, struct cr_attention_backward *b,
                         int *budget)
{
    if (--*budget < 0 || cr_is_materialised(s->module, id))
        return false;
    if (match_dlogits(s, id, b))
        return true;
    if (cr_kind_of(s->g, id) != CR_KIND_ELEMENTWISE)
        return false;
    for (int i = 0; i < s->g->nodes[id].n_in; i++)
        if (find_dlogits(s, cr_in(s->g, id, i), b, budget))
            return true;
    return false;
}

/* True if every path from one node leads to the other, and no node on them is stored. */
static bool leads_to(const struct search *s, cr_id from, cr_id to)
{
    struct cr_region region;
    return !cr_is_materialised(s->module, from) && !cr_is_materialised(s->module, to) &&
           (from == to || cr_find_region(s->module, s->users, from, to, &region));
}

/* True if a user reads the probabilities, before or after dropout, as the forward product or the
 * gradients do. */
static bool is_reader(const struct search *s, const struct cr_attention_backward *b, cr_id id,
                      cr_id user)
{
    return (id == b->probs && user == b->dlogits) ||
           (id == b->dropped && (user == cr_in(s->g, b->dv, 0) || is_op(s, user, CR_OP_matmul)));
}

/* True if only the forward product and the gradients use the softmax. */
static bool is_private(const struct search *s, const struct cr_attention_backward *b)
{
    struct cr_softmax softmax;
    if (!cr_match_dropped(s->g, &softmax, b->dropped))
        return false;
    for (int i = -1; i < softmax.n; i++) {
        cr_id id = i < 0 ? softmax.logits : softmax.parts[i];
        if (cr_is_materialised(s->module, id))
            return false;
        for (int u = s->users->first[id]; u < s->users->first[id + 1]; u++) {
            cr_id user = s->users->list[u];
            bool known = is_reader(s, b, id, user);
            for (int j = 0; j < softmax.n; j++)
                known |= softmax.parts[j] == user;
            if (!known)
                return false;
        }
    }
    return true;
}

bool cr_match_backward(const struct cr_module *module, const struct cr_users *users, cr_id dq,
                       struct cr_attention_backward *b)
{
    const struct search search = {module, module->graph, users}, *s = &search;
    const struct cr_graph *g = s->g;
    if (!is_op(s, dq, CR_OP_matmul))
        return false;
    int budget = CR_MAX_VALUES;
    cr_id t = cr_in(g, dq, 0);
    *b = (struct cr_attention_backward){.output = CR_NONE, .dq = dq, .dscores = t};
    if (cr_n_users(users, t) != 2 || !find_dlogits(s, t, b, &budget))
        return false;
    b->dk = transposed_product(s, t);
    b->dv = transposed_product(s, b->dropped);
    return b->dk != CR_NONE && b->dv != CR_NONE &&
           cr_in(g, b->dk, 1) == cr_in(g, b->scores, 0) &&
           cr_in(g, b->dv, 1) == cr_in(g, b->ddropped, 0) &&
           are_transposed(g, cr_in(g, dq, 1), cr_in(g, b->scores, 1)) &&
           leads_to(s, b->dlogits, t) && leads_to(s, b->scores, b->logits) && is_private(s, b);
}

/* The product that operand i of a concat is a view of, if nothing else reads it; or CR_NONE. */
static cr_id part_of(const struct search *s, cr_id concat, int i)
{
    cr_id user = concat, id = cr_in(s->g, concat, i);
    while (only_user(s, id) == user && (is_op(s, id, CR_OP_reshape) || is_op(s, id, CR_OP_permute)))
        user = id, id = cr_in(s->g, id, 0);
    return only_user(s, id) == user && is_op(s, id, CR_OP_matmul) ? id : CR_NONE;
}

/* True if a concat of three operands joins the three gradients, in any order. */
static bool joins(const struct search *s, cr_id concat, const struct cr_attention_backward *b)
{
    bool dq = false, dk = false, dv = false;
    for (int i = 0; i < 3; i++) {
        cr_id part = part_of(s, concat, i);
        dq |= part == b->dq;
        dk |= part == b->dk;
        dv |= part == b->dv;
    }
    return dq && dk && dv;
}

void cr_find_backwards(struct cr_module *module, const struct cr_users *users)
{
    struct search s = {module, module->graph, users};
    struct cr_attention_backward b;
    for (cr_id id = 0; id < s.g->n_nodes; id++) {
        if (!is_op(&s, id, CR_OP_concat) || s.g->nodes[id].n_in != 3)
            continue;
        for (int i = 0; i < 3; i++) {
            cr_id dq = part_of(&s, id, i);
            if (dq == CR_NONE || !cr_match_backward(module, users, dq, &b) || !joins(&s, id, &b))
                continue;
            b.output = id;
            *CR_PUSH(module->backwards, module->n_backwards, module->cap_backwards) = b;
            break;
        }
    }
}

/* Visits the nodes that the kernel computes for an operand of a product, as random numbers and
 * masks. */
static void visit_mask(const struct cr_module *module, cr_id id, void (*visit)(void *, cr_id),
                       void *context, int *budget)
{
    const struct cr_graph *g = module->graph;
    enum cr_kind kind = cr_kind_of(g, id);
    bool inside = kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_MOVE || kind == CR_KIND_RANDOM;
    if (--*budget < 0 || !inside || cr_is_materialised(module, id))
        return;
    visit(context, id);
    for (int i = 0; kind != CR_KIND_RANDOM && i < g->nodes[id].n_in; i++)
        visit_mask(module, cr_in(g, id, i), visit, context, budget);
}

/* Visits the nodes from a product to one of its factors, and the other operands on the way. */
static void visit_product(const struct cr_module *module, cr_id id, cr_id factor,
                          void (*visit)(void *, cr_id), void *context)
{
    const struct cr_graph *g = module->graph;
    int budget = 4 * CR_MAX_VALUES;
    while (id != factor) {
        cr_id next = cr_towards_factor(g, id, factor);
        visit(context, id);
        for (int i = 0; i < g->nodes[id].n_in; i++)
            if (cr_in(g, id, i) != next)
                visit_mask(module, cr_in(g, id, i), visit, context, &budget);
        id = next;
    }
}

void cr_each_inside(const struct cr_module *module, const struct cr_users *users,
                    const struct cr_attention_backward *b, void (*visit)(void *, cr_id),
                    void *context)
{
    const struct cr_graph *g = module->graph;
    struct cr_softmax softmax;
    struct cr_region region;
    const cr_id ends[2][2] = {{b->scores, b->logits}, {b->dlogits, b->dscores}};
    const cr_id nodes[] = {b->dq,
                           b->dk,
                           b->dv,
                           b->ddropped,
                           b->scores,
                           b->logits,
                           b->dlogits,
                           cr_in(g, b->dk, 0),
                           cr_in(g, b->dv, 0)};
    cr_match_softmax(module->graph, &softmax, b->probs);
    for (int i = 0; i < softmax.n; i++)
        visit(context, softmax.parts[i]);
    visit_product(module, b->dropped, b->probs, visit, context);
    visit_product(module, b->dprobs, b->ddropped, visit, context);
    for (int r = 0; r < 2; r++) {
        region.n = 0;
        if (ends[r][0] != ends[r][1])
            cr_find_region(module, users, ends[r][0], ends[r][1], &region);
        for (int i = 0; i < region.n; i++)
            visit(context, region.nodes[i]);
    }
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        visit(context, nodes[i]);
    cr_id difference = users->list[users->first[b->dprobs]]; /* its only user */
    visit(context, difference);
    visit(context, cr_in(g, difference, 1));
    for (int i = 0; i < 3; i++)
        for (cr_id id = cr_in(g, b->output, i); cr_kind_of(g, id) == CR_KIND_MOVE;
             id = cr_in(g, id, 0))
            visit(context, id);
}

/* ---- gradients that nobody asked for ---- */

/* Adds a permute that exchanges the last two axes of a node. */
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

/* The product of T and the keys, if it is there. */
static cr_id query_product(const struct search *s, cr_id t, cr_id keys)
{
    for (int u = s->users->first[t]; u < s->users->first[t + 1]; u++) {
        cr_id user = s->users->list[u];
        if (is_op(s, user, CR_OP_matmul) && cr_in(s->g, user, 0) == t &&
            are_transposed(s->g, cr_in(s->g, user, 1), keys))
            return user;
    }
    return CR_NONE;
}

static void add_product(struct cr_graph *g, cr_id a, cr_id b)
{
    cr_must(g, CR_OP_matmul, 2, (cr_id[]){a, b}, NULL);
}

/*
 * If T exists but some of the three products do not, as where keys and values are constant, adds
 * those that are missing.  The kernel computes them although nobody reads them; that costs little
 * compared with storing arrays of queries by keys.
 */
static bool complete(const struct search *s, struct cr_graph *g, cr_id t)
{
    struct cr_attention_backward b;
    int budget = CR_MAX_VALUES, n = g->n_nodes;
    if (!find_dlogits(s, t, &b, &budget) ||
        !cr_same_shape(&g->nodes[t], &g->nodes[b.scores])) /* softmax of the scores transposed */
        return false;
    cr_id q = cr_in(g, b.scores, 0), k = cr_in(g, b.scores, 1), grad = cr_in(g, b.ddropped, 0);
    bool dq = query_product(s, t, k) != CR_NONE, dk = transposed_product(s, t) != CR_NONE;
    bool dv = transposed_product(s, b.dropped) != CR_NONE;
    g->here = g->nodes[t].where;
    if (!dq && dk)
        add_product(g, t, transposed_view(g, k));
    if (dq && !dk)
        add_product(g, transposed_view(g, t), q);
    if (!dv)
        add_product(g, transposed_view(g, b.dropped), grad);
    return g->n_nodes > n;
}

/* True if a node may be the T of some gradients: a matmul reads it or its transpose. */
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

static bool complete_all(struct cr_graph *g, const struct search *s)
{
    bool added = false;
    for (cr_id id = 0, n = g->n_nodes; id < n; id++)
        added |= may_be_dscores(s, id) && complete(s, g, id);
    return added;
}

/* ---- the pass ---- */

/* True if the graph joins the three already, as it does where queries, keys and values are slices
 * of one projection. */
static bool are_joined(const struct search *s, const struct cr_attention_backward *b)
{
    cr_id user = only_user(s, b->dq);
    while (is_op(s, user, CR_OP_reshape) || is_op(s, user, CR_OP_permute))
        user = only_user(s, user);
    return is_op(s, user, CR_OP_concat) && s->g->nodes[user].n_in == 3 && joins(s, user, b);
}

/* The three products, and the nodes from the first of them to the last. */
struct trio {
    cr_id nodes[3], first, last;
};

static struct trio trio_of(const struct cr_attention_backward *b)
{
    struct trio t = {{b->dq, b->dk, b->dv}, b->dq, b->dq};
    for (int i = 1; i < 3; i++) {
        t.first = t.nodes[i] < t.first ? t.nodes[i] : t.first;
        t.last = t.nodes[i] > t.last ? t.nodes[i] : t.last;
    }
    return t;
}

static void mark(const struct cr_graph *g, const struct trio *t, cr_id user, bool *needed)
{
    for (int i = 0; i < g->nodes[user].n_in; i++)
        if (cr_in(g, user, i) >= t->first)
            needed[cr_in(g, user, i)] = true;
}

/* Marks the nodes between the first and the last of the three that any of them depends on; false if
 * one of the three depends on another. */
static bool mark_sources(const struct cr_graph *g, const struct trio *t, bool *needed)
{
    memset(needed + t->first, 0, (size_t)(t->last - t->first + 1) * sizeof *needed);
    for (int i = 0; i < 3; i++)
        mark(g, t, t->nodes[i], needed);
    for (cr_id id = t->last; id >= t->first; id--)
        if (needed[id])
            mark(g, t, id, needed);
    return !needed[t->nodes[0]] && !needed[t->nodes[1]] && !needed[t->nodes[2]];
}

/* Copies the marked nodes, which stand after the first of the three, ahead of the concat. */
static void copy_ahead(struct cr_rewrite *rw, const struct trio *t, const bool *needed)
{
    for (cr_id id = t->first; id <= t->last; id++)
        if (needed[id] && rw->map[id] == CR_NONE)
            cr_rewrite_copy(rw, id);
}

/* Joins the three, and maps each to its part. */
static void join(struct cr_rewrite *rw, const struct cr_attention_backward *b)
{
    const cr_id three[] = {b->dq, b->dk, b->dv};
    struct cr_attr shape[3];
    cr_id flat[3];
    int64_t size[3], start = 0;
    for (int i = 0; i < 3; i++) {
        cr_id id = cr_rewrite_copy(rw, three[i]);
        const struct cr_node *node = &rw->to->nodes[id];
        shape[i] = (struct cr_attr){.rank = node->rank};
        memcpy(shape[i].shape, node->shape, sizeof shape[i].shape);
        size[i] = cr_elements(node->rank, node->shape);
        struct cr_attr line = {.rank = 1, .shape = {size[i]}};
        flat[i] = cr_rewrite_add(rw, CR_OP_reshape, 1, &id, &line);
    }
    cr_id all = cr_rewrite_add(rw, CR_OP_concat, 3, flat, &(struct cr_attr){.axis = 0});
    for (int i = 0; i < 3; i++) {
        struct cr_attr part = {.shape = {size[i]}, .index = {start}};
        cr_id id = cr_rewrite_add(rw, CR_OP_slice, 1, &all, &part);
        rw->map[three[i]] = cr_rewrite_add(rw, CR_OP_reshape, 1, &id, &shape[i]);
        start += size[i];
    }
}

/* Attentions whose gradients are to be joined. */
struct joins {
    struct cr_attention_backward *items;
    int n, cap;
    int *of; /* by node: one more than the number of those of which it is a product, or 0 */
};

static void add_join(struct joins *all, const struct cr_attention_backward *b)
{
    if (all->of[b->dq] || all->of[b->dk] || all->of[b->dv])
        return;
    *CR_PUSH(all->items, all->n, all->cap) = *b;
    all->of[b->dq] = all->of[b->dk] = all->of[b->dv] = all->n;
}

/*
 * Copies the graph.  The concat of a trio is made where the first of its three products stands, so
 * the sources of the others are copied ahead.  If one product depends on another, they stay apart.
 */
static void rewrite(struct cr_module *module, const struct joins *all)
{
    struct cr_rewrite rw;
    bool *needed = cr_calloc((size_t)module->graph->n_nodes, sizeof *needed);
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    for (cr_id id = 0; id < rw.from->n_nodes; id++) {
        if (!rw.live[id] || rw.map[id] != CR_NONE)
            continue;
        const struct cr_attention_backward *b = all->of[id] ? &all->items[all->of[id] - 1] : NULL;
        struct trio t = b ? trio_of(b) : (struct trio){{0}, 0, 0};
        if (b && mark_sources(rw.from, &t, needed)) {
            copy_ahead(&rw, &t, needed);
            join(&rw, b);
        } else {
            cr_rewrite_copy(&rw, id);
        }
    }
    module->graph = cr_rewrite_end(&rw);
    free(needed);
}

/* True if there is the gradient of a softmax's logits: an attention has no gradients without. */
static bool any_dlogits(const struct search *s)
{
    struct cr_attention_backward b;
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        if (match_dlogits(s, id, &b))
            return true;
    return false;
}

/* Completes the patterns, and finds those to join; true if the graph has to be made anew. */
static bool find_joins(struct cr_module *module, struct cr_users *users, struct joins *all)
{
    const struct search s = {module, module->graph, users};
    struct cr_attention_backward b;
    if (!any_dlogits(&s))
        return false;
    bool completed = complete_all(module->graph, &s);
    if (completed) {
        cr_users_free(users);
        cr_users_list(users, module->graph);
    }
    all->of = cr_calloc((size_t)module->graph->n_nodes, sizeof *all->of);
    for (cr_id id = 0; id < module->graph->n_nodes; id++)
        if (cr_match_backward(module, users, id, &b) && !are_joined(&s, &b))
            add_join(all, &b);
    return all->n || completed;
}

/*
 * Joins the gradients of each attention that one kernel can compute, unless the graph joins them
 * already.  First it adds products that complete a pattern; the lists of users are then made anew.
 */
void cr_pass_join_grads(struct cr_module *module)
{
    struct joins all = {0};
    struct cr_users users;
    cr_users_list(&users, module->graph);
    if (find_joins(module, &users, &all))
        rewrite(module, &all);
    cr_users_free(&users);
    free(all.items);
    free(all.of);
}
