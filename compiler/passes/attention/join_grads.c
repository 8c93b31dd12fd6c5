/*
 * join_grads.c - lists the gradients of an attention that one kernel computes: the gradients of
 * queries, keys and values, and all others that depend on the gradient of its logits.  The kernel
 * recomputes the probabilities block by block (Dao et al. 2022) and stores each gradient as a
 * result of its own.
 *
 * The pass gives the gradients the form in which the kernel stores them and makes them neighbours
 * in the graph, so that the kernel runs after all of its operands and before all readers.  If a
 * concat of the script joins the gradients, the kernel stores them as its parts.
 */
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/rewrite/rule_tools.h"
#include "compiler/passes/rewrite/rules.h"
#include "compiler/passes/weights/weights.h"

/* ---- missing gradients ---- */

/* Swaps the last two axes of node `id`; a permute that `id` may be is merged with the new one. */
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
 * Adds dQ, dK and dV where the graph lacks them but has T, as where keys and values are constant.
 * The kernel computes them although nothing reads them; that costs little compared with storing
 * arrays of queries by keys.  Returns true if it added a product.
 */
static bool complete(const struct cr_search *s, struct cr_graph *g, cr_id t)
{
    struct cr_attention_backward b;
    int n = g->n_nodes;
    if (!cr_match_products(s, t, &b))
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

/* True if a node may be T, the gradient of scores, from which dQ and dK are computed: it is
 * elementwise, and a matmul reads the node or its transpose. */
static bool may_be_dscores(const struct cr_search *s, cr_id id)
{
    for (int u = s->users->first[id]; u < s->users->first[id + 1]; u++) {
        cr_id user = s->users->list[u];
        if (cr_is_op(s->g, user, CR_OP_permute))
            user = cr_single_use(s->users, user);
        if (cr_is_op(s->g, user, CR_OP_matmul))
            return cr_kind_of(s->g, id) == CR_KIND_ELEMENTWISE;
    }
    return false;
}

/* Adds the missing products of every T in the graph.  `marks` comes from cr_mark_dlogits. */
static bool complete_all(struct cr_graph *g, const struct cr_search *s, const bool *marks)
{
    bool added = false;
    for (cr_id id = 0, n = g->n_nodes; id < n; id++)
        added |= marks[id] && may_be_dscores(s, id) && complete(s, g, id);
    return added;
}

/* ---- the pass ---- */

/* The gradients that one kernel computes: dQ, dK, dV, then those of arrays.  `first` and `last` are
 * the smallest and the largest node id. */
struct parts {
    const struct cr_attention_backward *b;
    cr_id nodes[CR_MAX_STORED], first, last;
    int n;
};

static struct parts parts_of(const struct cr_attention_backward *b)
{
    struct parts p = {.b = b, .n = cr_n_gradients(b)};
    p.first = p.last = b->dq;
    for (int i = 0; i < p.n; i++) {
        p.nodes[i] = cr_gradient_at(b, i);
        p.first = p.nodes[i] < p.first ? p.nodes[i] : p.first;
        p.last = p.nodes[i] > p.last ? p.nodes[i] : p.last;
    }
    return p;
}

/* True if part i is an array that the kernel also reads to compute other parts. */
static bool is_inside(const struct parts *p, int i)
{
    const struct cr_array_gradient *array = i < 3 ? NULL : &p->b->arrays[i - 3];
    return array && array->result == array->array;
}

/* dK and dV are products x' y.  Returns x of part i; other_factor returns y. */
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

/* True if node `id`, outside the kernel, reads a part that the kernel also uses inside.  That part
 * must then be stored. */
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

/* Marks the nodes with ids from the first to the last part on which a part depends.  Returns false
 * if the parts cannot move together: one depends on another, or was copied already as an operand of
 * another attention's parts. */
static bool mark_sources(const struct cr_rewrite *rw, const struct parts *p, bool *needed)
{
    const struct cr_graph *g = rw->from;
    for (int i = 0; i < p->n; i++)
        if (rw->map[p->nodes[i]] != CR_NONE)
            return false;
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

/* Copies the nodes marked in `needed`, so that they precede all parts in the new graph. */
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

/* Copies a part in the form that the kernel stores.  A product stored transposed becomes the
 * product of the swapped operands; an array that the kernel also reads inside becomes a separate
 * node. */
static cr_id copy_part(struct cr_rewrite *rw, const struct parts *p, int i)
{
    bool inside = is_inside(p, i), turned = is_turned(p, i);
    if (!turned && !(inside && rw->map[p->nodes[i]] != CR_NONE))
        cr_rewrite_copy(rw, p->nodes[i]);
    cr_rewrite_at(rw, p->nodes[i]);
    if (inside) {
        struct cr_attr attr = cr_attr_of(&rw->from->nodes[p->nodes[i]]);
        return cr_rewrite_add(rw, CR_OP_reshape, 1, &rw->map[p->nodes[i]], &attr);
    }
    if (!turned)
        return rw->map[p->nodes[i]];
    cr_id in[] = {cr_transpose_last(rw, rw->map[transposed_factor(p, i)]),
                  rw->map[other_factor(rw->from, p, i)]};
    return cr_rewrite_add(rw, CR_OP_matmul, 2, in, NULL);
}

/* Replaces all node ids in *b by the ids of their copies in the new graph; `results` has the copies
 * of the parts. */
static void set_nodes(const struct cr_rewrite *rw, struct cr_attention_backward *b,
                      const cr_id *results)
{
    cr_id *const nodes[] = {&b->dropped, &b->probs,   &b->logits,  &b->scores, &b->ddropped,
                            &b->dprobs,  &b->dlogits, &b->dscores, &b->delta,  &b->sink.node};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (*nodes[i] != CR_NONE)
            *nodes[i] = rw->map[*nodes[i]];
    for (int i = 0; i < b->n_behind; i++)
        b->behind[i] = rw->map[b->behind[i]];
    b->dq = results[0];
    b->dk = results[1];
    b->dv = results[2];
    for (int i = 0; i < b->n_arrays; i++) {
        b->arrays[i].array = rw->map[b->arrays[i].array];
        b->arrays[i].result = results[3 + i];
    }
    b->output = b->joined ? rw->map[b->output] : b->dq;
}

/* Copies the parts to adjacent nodes, and maps each old part to the node that its readers read. */
static void join(struct cr_rewrite *rw, struct cr_attention_backward *b, const struct parts *p)
{
    cr_id results[CR_MAX_STORED];
    for (int i = 0; i < p->n; i++)
        results[i] = copy_part(rw, p, i);
    set_nodes(rw, b, results);
    for (int i = 0; i < p->n; i++)
        rw->map[p->nodes[i]] = is_turned(p, i) ? cr_transpose_last(rw, results[i]) : results[i];
}

/* All gradients of attentions that were found; one kernel may compute all parts of an item. */
struct joins {
    struct cr_attention_backward *items;
    int n, cap;
    int *of; /* by node: 1 + the index of the item that has this node as a part, or 0 */
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

/* If node `id` is the first part of an attention's gradients, returns these gradients and sets *p
 * to their parts.  Returns null for other nodes, and if a concat of the graph joins the parts
 * already. */
static struct cr_attention_backward *parts_at(const struct joins *all, cr_id id, struct parts *p)
{
    struct cr_attention_backward *b = all->of[id] ? &all->items[all->of[id] - 1] : NULL;
    if (!b || b->joined)
        return NULL;
    *p = parts_of(b);
    return p->first == id ? b : NULL;
}

/*
 * Copies the graph.  The parts move to the position of the first part, so operands of the other
 * parts are copied before it.  Parts that depend on each other are not moved, and their item gets
 * no `output`. No rewrite rules run, because they would undo the form of the parts.
 */
static void rewrite(struct cr_module *module, struct joins *all)
{
    static const struct cr_rewrite_rules no_rules = {NULL, 0};
    struct cr_rewrite rw;
    struct parts p;
    bool *needed = cr_calloc((size_t)module->graph->n_nodes, sizeof *needed);
    cr_rewrite_begin(&rw, module->graph, &no_rules);
    rw.keeps_dead = true;
    for (cr_id id = 0; id < rw.from->n_nodes; id++) {
        if (!rw.live[id] || rw.map[id] != CR_NONE)
            continue;
        struct cr_attention_backward *b = parts_at(all, id, &p);
        if (b && mark_sources(&rw, &p, needed)) {
            copy_ahead(&rw, &p, needed);
            join(&rw, b, &p);
        } else {
            cr_rewrite_copy(&rw, id);
        }
    }
    for (int i = 0; i < all->n; i++) {
        if (!all->items[i].joined)
            continue;
        p = parts_of(&all->items[i]);
        for (int part = 0; part < p.n; part++)
            p.nodes[part] = rw.map[p.nodes[part]];
        set_nodes(&rw, &all->items[i], p.nodes);
    }
    module->graph = cr_rewrite_end(&rw);
    free(needed);
}

/* Adds missing products and finds all gradients.  Returns true if the graph must be rewritten: if
 * products were added, or if some gradients are not joined by a concat. */
static bool find_joins(struct cr_module *module, struct cr_users *users, struct joins *all)
{
    bool *weights = cr_find_weights(module->graph);
    struct cr_search s = {module, module->graph, users, weights};
    struct cr_attention_backward b;
    bool *marks = cr_mark_dlogits(&s);
    int n = module->graph->n_nodes;
    bool rewrites = complete_all(module->graph, &s, marks);
    if (rewrites) {
        cr_users_free(users);
        cr_users_list(users, module->graph);
        free(weights);
        s.weights = weights = cr_find_weights(module->graph);
    }
    all->of = cr_calloc((size_t)module->graph->n_nodes, sizeof *all->of);
    for (cr_id id = 0; id < module->graph->n_nodes; id++) {
        cr_id left = cr_is_op(s.g, id, CR_OP_matmul) ? cr_in(module->graph, id, 0) : CR_NONE;
        if (left == CR_NONE || left >= n || !marks[left] ||
            !cr_match_backward(&s, id, &b))
            continue;
        b.output = cr_find_joined(&s, &b);
        b.joined = b.output != CR_NONE;
        rewrites |= !b.joined;
        add_join(all, &b);
    }
    free(marks);
    free(weights);
    return rewrites;
}

static int by_output(const void *x, const void *y)
{
    const struct cr_attention_backward *a = x, *b = y;
    return (a->output > b->output) - (a->output < b->output);
}

/* Moves the items whose `output` is set to module->backwards, sorted by output. */
static void list_gradients(struct cr_module *module, struct joins *all)
{
    int n = 0;
    for (int i = 0; i < all->n; i++)
        if (all->items[i].output != CR_NONE)
            all->items[n++] = all->items[i];
    if (n)
        qsort(all->items, (size_t)n, sizeof *all->items, by_output);
    module->backwards = all->items;
    module->n_backwards = n;
}

/*
 * Fills in module->backwards.
 */
void cr_pass_join_grads(struct cr_module *module)
{
    struct joins all = {0};
    struct cr_users users;
    if (module->no_gradients || module->graph->n_lengths)
        return; /* because the kernel's loops would run to the bounds of lengths */
    cr_users_list(&users, module->graph);
    if (find_joins(module, &users, &all))
        rewrite(module, &all);
    list_gradients(module, &all);
    cr_users_free(&users);
    free(all.of);
}
