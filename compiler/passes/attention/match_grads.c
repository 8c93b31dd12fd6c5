/*
 * match_grads.c - matches the gradients of an attention: the gradients of its queries, keys and
 * values, and all others that depend on the gradient of its logits.
 *
 * All start from dS, the gradient of the logits.  Elementwise ops compute T, the gradient of the
 * scores, from dS, and products of T are the gradients of queries and keys.  Elementwise ops on dS
 * also compute other arrays of queries by keys; their sums are the gradients of tensors that the
 * script multiplies scores by or adds to them.
 *
 * An attention without softmax has dA, the gradient of the weights A, in place of dS, and its T
 * depends on the scores, too.
 */
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/module/index_map.h"
#include "compiler/passes/rewrite/factors.h"
#include "compiler/passes/rewrite/rule_tools.h"
#include "compiler/passes/rewrite/rules.h"
#include "compiler/passes/weights/weights.h"

/* ---- views of one matrix ---- */

/* Follows the operands of movement ops from *id down to the first other node.  Sets *id to that
 * node and *map to its index map.  Returns CR_MAP_SPLIT if an atom must be split first. */
static enum cr_map_status map_down(const struct cr_graph *g, const struct cr_atoms *atoms,
                                   cr_id *id, struct cr_map *map, struct cr_split *split)
{
    while (cr_kind_of(g, *id) == CR_KIND_MOVE) {
        struct cr_map below;
        enum cr_map_status status = cr_map_operand(g, *id, atoms, map, &below, split);
        if (status != CR_MAP_OK)
            return status;
        *map = below;
        *id = cr_in(g, *id, 0);
    }
    return CR_MAP_OK;
}

/* The loops over a node's elements: one atom for each axis, or several for an axis that was
 * split. */
struct loops {
    struct cr_atoms atoms;
    int axis[CR_MAX_ATOMS]; /* by atom: the axis that it belongs to */
};

/* Returns the map from atoms to the axes of a node; if `exchanged`, with the last two axes
 * swapped. */
static struct cr_map map_of(const struct loops *l, int rank, bool exchanged)
{
    struct cr_map map = {0};
    int64_t step[CR_MAX_RANK];
    for (int i = 0; i < rank; i++)
        step[i] = 1;
    for (int a = l->atoms.n - 1; a >= 0; a--) {
        int axis = l->axis[a];
        int to = exchanged && axis >= rank - 2 ? 2 * rank - 3 - axis : axis;
        map.axis[to].coef[a] = step[axis];
        step[axis] *= l->atoms.extent[a];
    }
    return map;
}

/* Splits an atom in two; returns false if there are too many atoms. */
static bool cut(struct loops *l, const struct cr_split *split)
{
    int a = split->atom, n = l->atoms.n;
    if (n == CR_MAX_ATOMS)
        return false;
    memmove(l->atoms.extent + a + 1, l->atoms.extent + a,
            (size_t)(n - a) * sizeof *l->atoms.extent);
    memmove(l->axis + a + 1, l->axis + a, (size_t)(n - a) * sizeof *l->axis);
    l->atoms.extent[a] /= split->low;
    l->atoms.extent[a + 1] = split->low;
    l->atoms.n++;
    return true;
}

/* True if a and b are views of the same node, and a is the transpose of b. */
static bool are_transposed(const struct cr_graph *g, cr_id a, cr_id b)
{
    const struct cr_node *node = &g->nodes[a];
    struct loops l = {0};
    if (node->rank != g->nodes[b].rank)
        return false;
    for (int i = 0; i < node->rank; i++) {
        int other = i < node->rank - 2 ? i : 2 * node->rank - 3 - i;
        if (node->shape[i] != g->nodes[b].shape[other])
            return false;
        if (node->shape[i] > 1) {
            l.axis[l.atoms.n] = i;
            l.atoms.extent[l.atoms.n++] = node->shape[i];
        }
    }
    for (;;) {
        struct cr_map of_a = map_of(&l, node->rank, false), of_b = map_of(&l, node->rank, true);
        struct cr_split split;
        cr_id below_a = a, below_b = b;
        enum cr_map_status status = map_down(g, &l.atoms, &below_a, &of_a, &split);
        if (status == CR_MAP_OK)
            status = map_down(g, &l.atoms, &below_b, &of_b, &split);
        if (status == CR_MAP_OK)
            return below_a == below_b &&
                   memcmp(of_a.axis, of_b.axis,
                          (size_t)g->nodes[below_a].rank * sizeof *of_a.axis) == 0;
        if (status != CR_MAP_SPLIT || !cut(&l, &split))
            return false;
    }
}

/* ---- the products ---- */

/* Returns the only product x' y, or y' x with *turned set; CR_NONE if there is none or more than
 * one.  A product y' x counts only if x' is still a permute of x after it replaced the product. */
static cr_id transposed_product(const struct cr_search *s, cr_id x, cr_id y, bool *turned)
{
    cr_id found = CR_NONE;
    for (int u = s->users->first[x]; u < s->users->first[x + 1]; u++) {
        cr_id user = s->users->list[u], product = CR_NONE;
        if (cr_is_op(s->g, user, CR_OP_permute) && are_transposed(s->g, x, user))
            product = cr_single_use(s->users, user);
        bool fits = cr_is_op(s->g, product, CR_OP_matmul) && cr_in(s->g, product, 0) == user &&
                    cr_in(s->g, product, 1) == y;
        *turned = !fits && cr_is_op(s->g, user, CR_OP_matmul) && cr_in(s->g, user, 1) == x &&
                  !cr_is_stored_transposed(s->g, x) &&
                  are_transposed(s->g, cr_in(s->g, user, 0), y);
        if (!fits && !*turned)
            continue;
        if (found != CR_NONE)
            return CR_NONE;
        found = fits ? product : user;
    }
    *turned = found != CR_NONE && cr_in(s->g, found, 1) == x;
    return found;
}

/* True if each node on the path from the factor to the product has only one reader. */
static bool only_leads_to(const struct cr_search *s, cr_id factor, cr_id product)
{
    while (product != factor) {
        cr_id next = cr_operand_with_factor(s->g, product, factor);
        if (cr_single_use(s->users, next) != product)
            return false;
        product = next;
    }
    return true;
}

/* Finds dA, the only matmul among the factors of dP.  Returns false unless the other factors are
 * those of a dropout. */
static bool find_ddropped(const struct cr_search *s, struct cr_attention_backward *b,
                          struct cr_factors *dropout)
{
    b->ddropped = CR_NONE;
    if (!cr_find_factors(s->g, b->dprobs, dropout))
        return false;
    for (int i = 0; i < dropout->n && b->ddropped == CR_NONE; i++)
        if (dropout->nodes[i] >= 0 && cr_is_op(s->g, dropout->nodes[i], CR_OP_matmul))
            b->ddropped = dropout->nodes[i];
    return b->ddropped != CR_NONE && cr_take_factor(dropout, b->ddropped) &&
           cr_is_dropout(s->g, dropout) && only_leads_to(s, b->ddropped, b->dprobs);
}

/* Searches the users of `id` for the product of P and the dropout's factors; CR_NONE if there is
 * none. */
static cr_id find_dropped(const struct cr_search *s, cr_id id, cr_id probs,
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

/* Matches dS = (dP - delta) P, with the factors in either order, and fills in *b. */
static bool match_dlogits(const struct cr_search *s, cr_id id, struct cr_attention_backward *b)
{
    struct cr_softmax softmax;
    struct cr_factors dropout;
    for (int i = 0; cr_is_op(s->g, id, CR_OP_mul) && i < 2; i++) {
        cr_id difference = cr_in(s->g, id, i);
        if (!cr_is_op(s->g, difference, CR_OP_sub) || cr_single_use(s->users, difference) != id)
            continue;
        cr_id wide = cr_in(s->g, difference, 1);
        b->dlogits = id;
        b->probs = cr_in(s->g, id, 1 - i);
        b->dprobs = cr_in(s->g, difference, 0);
        if (!cr_is_op(s->g, b->probs, CR_OP_div) || !cr_is_op(s->g, wide, CR_OP_expand) ||
            cr_single_use(s->users, wide) != difference ||
            cr_single_use(s->users, b->dprobs) != difference ||
            !find_ddropped(s, b, &dropout) || !cr_match_softmax(s->g, &softmax, b->probs))
            continue;
        b->delta = cr_in(s->g, wide, 0);
        b->dropped = find_dropped(s, b->probs, b->probs, &dropout);
        b->logits = softmax.logits;
        b->sink = softmax.sink;
        b->scores = cr_find_scores(s->module, softmax.logits);
        const struct cr_node *row = &s->g->nodes[b->delta], *full = &s->g->nodes[wide];
        if (b->dropped != CR_NONE && row->rank == full->rank && row->shape[row->rank - 1] == 1 &&
            b->scores != CR_NONE &&
            memcmp(row->shape, full->shape, (size_t)(row->rank - 1) * sizeof *row->shape) == 0)
            return true;
    }
    return false;
}

/* True if `product` is the output of a softmax attention, P V, and neither its logits nor a node of
 * its softmax is an output of the graph. */
static bool is_softmax_output(const struct cr_search *s, cr_id product)
{
    struct cr_softmax softmax;
    if (!cr_match_dropped(s->g, &softmax, cr_in(s->g, product, 0)) ||
        s->users->output[softmax.logits] ||
        cr_find_scores(s->module, softmax.logits) == CR_NONE)
        return false;
    for (int i = 0; i < softmax.n; i++)
        if (s->users->output[softmax.parts[i]])
            return false;
    return true;
}

/* Returns the scores of an attention without softmax whose second product is `output`, or CR_NONE.
 * They are never the output of a softmax attention: one kernel computes that attention, so none
 * computes its output as scores, and its own gradients need the products that this one would
 * take. */
static cr_id find_direct_scores(const struct cr_search *s, cr_id output)
{
    cr_id scores = cr_find_direct_scores(s->module, s->weights, output);
    return scores == CR_NONE || is_softmax_output(s, scores) ? CR_NONE : scores;
}

/* Follows views from `id` to the product A V of an attention without softmax, where V is a view of
 * `id` and the transpose of dA's right factor; returns it, or CR_NONE.  A V must be older than dA:
 * A and dA may look alike. */
static cr_id find_direct_product(const struct cr_search *s, cr_id id, cr_id ddropped, int *budget)
{
    const struct cr_graph *g = s->g;
    for (int u = s->users->first[id]; u < s->users->first[id + 1] && --*budget >= 0; u++) {
        cr_id user = s->users->list[u], found = CR_NONE;
        if (cr_kind_of(g, user) == CR_KIND_MOVE)
            found = find_direct_product(s, user, ddropped, budget);
        else if (cr_is_op(s->g, user, CR_OP_matmul) && cr_in(g, user, 1) == id && user < ddropped &&
                 g->nodes[user].where.entry == g->nodes[ddropped].where.entry &&
                 cr_same_shape(&g->nodes[cr_in(g, user, 0)], &g->nodes[ddropped]) &&
                 are_transposed(g, id, cr_in(g, ddropped, 1)) &&
                 find_direct_scores(s, user) != CR_NONE)
            found = user;
        if (found != CR_NONE)
            return found;
    }
    return CR_NONE;
}

/* Matches dA = g V', the gradient of the weights of an attention without softmax, and fills in
 * *b. */
static bool match_direct(const struct cr_search *s, cr_id id, struct cr_attention_backward *b)
{
    if (!cr_is_op(s->g, id, CR_OP_matmul) || s->weights[cr_in(s->g, id, 0)] ||
        s->weights[cr_in(s->g, id, 1)])
        return false;
    int budget = CR_MAX_VALUES;
    cr_id values = cr_in(s->g, id, 1);
    while (cr_kind_of(s->g, values) == CR_KIND_MOVE)
        values = cr_in(s->g, values, 0);
    cr_id product = find_direct_product(s, values, id, &budget);
    if (product == CR_NONE)
        return false;
    b->direct = true;
    b->delta = CR_NONE;
    b->dlogits = b->dprobs = b->ddropped = id;
    b->dropped = b->probs = b->logits = cr_in(s->g, product, 0);
    b->scores = find_direct_scores(s, product);
    return cr_same_shape(&s->g->nodes[b->scores], &s->g->nodes[id]);
}

/* Matches the gradient of the logits of an attention, with or without softmax, and fills in *b. */
static bool match_gradient(const struct cr_search *s, cr_id id, struct cr_attention_backward *b)
{
    return match_dlogits(s, id, b) || match_direct(s, id, b);
}

bool cr_match_dlogits(const struct cr_search *s, cr_id id, struct cr_attention_backward *found)
{
    *found = (struct cr_attention_backward){.output = CR_NONE};
    return match_gradient(s, id, found);
}

bool *cr_mark_dlogits(const struct cr_search *s)
{
    const struct cr_graph *g = s->g;
    struct cr_attention_backward b;
    bool *marks = cr_calloc((size_t)g->n_nodes, sizeof *marks);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        marks[id] = match_gradient(s, id, &b);
        for (int i = 0; i < g->nodes[id].n_in && cr_kind_of(g, id) == CR_KIND_ELEMENTWISE; i++)
            marks[id] |= marks[cr_in(g, id, i)];
    }
    return marks;
}

/* Follows the operands of elementwise ops from T to dS, with at most `budget` visits, and fills in
 * *b.  Returns false if there is no dS. */
static bool find_dlogits(const struct cr_search *s, cr_id id, struct cr_attention_backward *b,
                         int *budget)
{
    if (--*budget < 0)
        return false;
    if (match_gradient(s, id, b))
        return true;
    if (cr_kind_of(s->g, id) != CR_KIND_ELEMENTWISE)
        return false;
    for (int i = 0; i < s->g->nodes[id].n_in; i++)
        if (find_dlogits(s, cr_in(s->g, id, i), b, budget))
            return true;
    return false;
}

/* ---- other arrays computed from dS ---- */

/* The nodes on the paths between two nodes, or the nodes visited. */
struct nodes {
    cr_id items[CR_MAX_VALUES];
    int n;
    int budget; /* the number of visits left */
};

static bool among(const cr_id *items, int n, cr_id id)
{
    for (int i = 0; i < n; i++)
        if (items[i] == id)
            return true;
    return false;
}

static bool is_work(const struct cr_search *s, cr_id id)
{
    enum cr_op op = s->g->nodes[id].op;
    return cr_kind_of(s->g, id) == CR_KIND_ELEMENTWISE || op == CR_OP_reshape ||
           op == CR_OP_permute;
}

/* Appends the nodes on all paths from `id` through operands of elementwise ops, reshapes and
 * permutes to `to`; both ends are included.  Returns false if there is no path. */
static bool list_between(const struct cr_search *s, cr_id id, cr_id to, struct nodes *list)
{
    bool leads = id == to;
    if (--list->budget < 0)
        return false;
    if (among(list->items, list->n, id))
        return true;
    for (int i = 0; id != to && is_work(s, id) && i < s->g->nodes[id].n_in; i++)
        leads |= list_between(s, cr_in(s->g, id, i), to, list);
    if (leads && list->n < CR_MAX_VALUES)
        list->items[list->n++] = id;
    return leads;
}

/* Returns the last node of a single-use chain of sums over batch axes that starts at `id`, or `id`
 * if there is no such chain. */
static cr_id last_outer_sum(const struct cr_search *s, cr_id id)
{
    for (cr_id next = id;
         cr_is_op(s->g, next, CR_OP_sum) && s->g->nodes[next].axis < s->g->nodes[next].rank - 2;
         next = cr_single_use(s->users, next))
        id = next;
    return id;
}

/* True if node `id` permutes `array` for a scatter over queries and keys. */
static bool is_scattered(const struct cr_search *s, cr_id array, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    cr_id scatter = cr_single_use(s->users, id);
    if (!cr_is_op(s->g, id, CR_OP_permute) || !cr_is_op(s->g, scatter, CR_OP_scatter_add) ||
        cr_in(s->g, scatter, 0) != id || s->g->nodes[cr_in(s->g, scatter, 1)].rank != 2)
        return false;
    int rank = s->g->nodes[array].rank;
    for (int i = 2; i < rank; i++)
        if (node->index[i] != i - 2)
            return false;
    return true;
}

/* True if a node is an output and nothing reads it. */
static bool is_last(const struct cr_search *s, cr_id id)
{
    return cr_is_entry_output(s->g, id) && cr_n_users(s->users, id) == 0;
}

/* Returns the description of the gradient that node `reader` computes from an array of queries by
 * keys. */
static struct cr_array_gradient array_gradient(const struct cr_search *s, cr_id array, cr_id reader)
{
    const struct cr_node *node = &s->g->nodes[reader];
    if (node->op == CR_OP_sum && node->axis == node->rank - 1)
        return (struct cr_array_gradient){CR_SUM_OVER_KEYS, array, reader, false};
    if (node->op == CR_OP_sum && node->axis == node->rank - 2)
        return (struct cr_array_gradient){CR_SUM_OVER_QUERIES, array, reader, false};
    if (is_scattered(s, array, reader))
        return (struct cr_array_gradient){CR_SCATTERED, array, cr_single_use(s->users, reader),
                                          false};
    cr_id sum = node->op == CR_OP_sum ? last_outer_sum(s, reader) : array;
    cr_id last = sum == array ? reader : cr_single_use(s->users, sum);
    if (sum != array && is_last(s, sum))
        return (struct cr_array_gradient){CR_WHOLE_ARRAY, array, sum, true};
    if (cr_is_op(s->g, last, CR_OP_reshape) && is_last(s, last))
        return (struct cr_array_gradient){CR_WHOLE_ARRAY, array, last, true};
    return (struct cr_array_gradient){CR_WHOLE_ARRAY, array, sum, false};
}

/* Appends an array, unless it is in the list.  Returns false if the list is full, or if it would
 * have two scattered arrays: the kernel scatters only one. */
static bool add_array(struct cr_attention_backward *b, struct cr_array_gradient array)
{
    for (int i = 0; i < b->n_arrays; i++) {
        if (b->arrays[i].result == array.result)
            return true;
        if (b->arrays[i].kind == CR_SCATTERED && array.kind == CR_SCATTERED)
            return false;
    }
    if (b->n_arrays == CR_MAX_ARRAYS)
        return false;
    b->arrays[b->n_arrays++] = array;
    return true;
}

struct walk {
    const struct cr_search *s;
    struct cr_attention_backward *b;
    struct nodes ahead;   /* the nodes from the scores to the logits */
    struct nodes towards; /* the nodes from dS to T */
    struct nodes seen;
};

static bool visit(struct walk *w, cr_id id);

/* True if `id` is the probabilities, before or after dropout, and `user` is the forward product or
 * part of the gradients. */
static bool is_reader(const struct cr_search *s, const struct cr_attention_backward *b, cr_id id,
                      cr_id user)
{
    return (id == b->probs && user == b->dlogits) ||
           (id == b->dropped &&
            (user == cr_in(s->g, b->dv, 0) || cr_is_op(s->g, user, CR_OP_matmul)));
}

/* Visits `reader`, a node that reads `id`; the kernel computes `id`.  Continues through elementwise
 * ops.  Any other reader must be a gradient that the kernel can compute from `id`, such as that of
 * a bias, and is added to b->arrays; else returns false. */
static bool visit_reader(struct walk *w, cr_id id, cr_id reader)
{
    const struct cr_search *s = w->s;
    struct cr_attention_backward *b = w->b;
    bool ahead = among(w->ahead.items, w->ahead.n, reader);
    bool towards = among(w->towards.items, w->towards.n, reader);
    bool inside = among(w->ahead.items, w->ahead.n, id) && (b->direct || id != b->logits);
    bool elementwise = cr_kind_of(s->g, reader) == CR_KIND_ELEMENTWISE;
    if (reader == b->dq || (id == b->dscores && reader == cr_in(s->g, b->dk, 0)) ||
        (id == b->dscores && reader == b->dk) ||
        (b->direct && id == b->logits && is_reader(s, b, id, reader)))
        return true;
    if (ahead || towards || elementwise)
        return visit(w, reader);
    return !inside && cr_same_shape(&s->g->nodes[id], &s->g->nodes[b->probs]) &&
           add_array(b, array_gradient(s, id, reader));
}

/* Visits a node and, recursively, its readers; returns false if the kernel cannot compute one of
 * them. */
static bool visit(struct walk *w, cr_id id)
{
    const struct cr_search *s = w->s;
    if (among(w->seen.items, w->seen.n, id) || (id == w->b->logits && !w->b->direct))
        return true; /* the softmax may read the logits; without softmax, elementwise ops on the
                        logits are visited, too */
    bool ahead = among(w->ahead.items, w->ahead.n, id);
    if (w->seen.n == CR_MAX_VALUES || (ahead && s->users->output[id]))
        return false;
    w->seen.items[w->seen.n++] = id;
    if (s->users->output[id] &&
        !add_array(w->b, (struct cr_array_gradient){CR_WHOLE_ARRAY, id, id, false}))
        return false;
    for (int i = s->users->first[id]; i < s->users->first[id + 1]; i++)
        if (!visit_reader(w, id, s->users->list[i]))
            return false;
    return true;
}

/*
 * Lists the arrays other than T that are computed from dS, and the nodes that the kernel computes
 * between.  Returns false if an elementwise op on dS or the scores has readers that the kernel
 * cannot compute.
 */
static bool find_arrays(const struct cr_search *s, struct cr_attention_backward *b)
{
    struct walk w = {.s = s, .b = b};
    w.ahead.budget = w.towards.budget = 16 * CR_MAX_VALUES;
    b->n_arrays = b->n_behind = 0;
    if (!list_between(s, b->logits, b->scores, &w.ahead) ||
        !list_between(s, b->dscores, b->dlogits, &w.towards) || w.ahead.n == CR_MAX_VALUES ||
        !visit(&w, b->dlogits) || (b->scores != b->logits && !visit(&w, b->scores)))
        return false;
    for (int i = 0; i < w.seen.n; i++)
        if (!among(w.ahead.items, w.ahead.n, w.seen.items[i]))
            b->behind[b->n_behind++] = w.seen.items[i];
    return true;
}

/* ---- the gradient of a sink ---- */

/* Returns a user of node `id` whose op is `op`, or CR_NONE. */
static cr_id reader_of(const struct cr_search *s, cr_id id, enum cr_op op)
{
    for (int u = s->users->first[id]; u < s->users->first[id + 1]; u++)
        if (cr_is_op(s->g, s->users->list[u], op))
            return s->users->list[u];
    return CR_NONE;
}

/* Appends the gradient of a sink, -(delta / l) x, where x is the sink's term of the denominator
 * l; appends nothing if there is no sink.  Returns false if there are too many arrays. */
static bool add_sink(const struct cr_search *s, struct cr_attention_backward *b)
{
    const struct cr_graph *g = s->g;
    cr_id l = cr_operand_of_expand(g, cr_in(g, b->probs, 1));
    cr_id share = cr_is_op(g, l, CR_OP_add) ? reader_of(s, l, CR_OP_div) : CR_NONE;
    if (share == CR_NONE || cr_in(g, share, 0) != b->delta || b->n_behind > CR_MAX_VALUES - 3)
        return true;
    cr_id minus = cr_single_use(s->users, share);
    cr_id made = minus == CR_NONE ? CR_NONE : cr_single_use(s->users, minus);
    bool fits = cr_is_op(g, minus, CR_OP_neg) && cr_is_op(g, made, CR_OP_mul) &&
                cr_in(g, made, 0) == minus;
    cr_id x = fits ? cr_in(g, made, 1) : CR_NONE;
    if (x == CR_NONE || (cr_in(g, l, 0) != x && cr_in(g, l, 1) != x))
        return true;
    b->behind[b->n_behind++] = share;
    b->behind[b->n_behind++] = minus;
    b->behind[b->n_behind++] = made;
    return add_array(b, (struct cr_array_gradient){CR_OF_SINK, b->delta, made, false});
}

/* ---- the whole pattern ---- */

/* True if only the attention and its gradients read the nodes of the softmax. */
static bool is_private(const struct cr_search *s, const struct cr_attention_backward *b)
{
    struct cr_softmax softmax;
    if (b->direct)
        return true; /* find_arrays has checked all readers */
    if (!cr_match_dropped(s->g, &softmax, b->dropped))
        return false;
    for (int i = -1; i < softmax.n; i++) {
        cr_id id = i < 0 ? softmax.logits : softmax.parts[i];
        if (s->users->output[id])
            return false;
        for (int u = s->users->first[id]; u < s->users->first[id + 1]; u++) {
            cr_id user = s->users->list[u];
            bool known = is_reader(s, b, id, user) || among(b->behind, b->n_behind, user);
            for (int j = 0; j < softmax.n; j++)
                known |= softmax.parts[j] == user;
            if (!known)
                return false;
        }
    }
    return true;
}

bool cr_match_backward(const struct cr_search *s, cr_id dq, struct cr_attention_backward *b)
{
    const struct cr_graph *g = s->g;
    if (!cr_is_op(g, dq, CR_OP_matmul) || cr_n_users(s->users, cr_in(g, dq, 0)) < 2)
        return false; /* dK reads T as well */
    int budget = CR_MAX_VALUES;
    cr_id t = cr_in(g, dq, 0);
    *b = (struct cr_attention_backward){.output = CR_NONE, .dq = dq, .dscores = t};
    if (!find_dlogits(s, t, b, &budget) ||
        !are_transposed(g, cr_in(g, dq, 1), cr_in(g, b->scores, 1)))
        return false;
    b->dk = transposed_product(s, t, cr_in(g, b->scores, 0), &b->dk_turned);
    b->dv = transposed_product(s, b->dropped, cr_in(g, b->ddropped, 0), &b->dv_turned);
    return b->dk != CR_NONE && b->dv != CR_NONE && find_arrays(s, b) &&
           (!b->sink.there || add_sink(s, b)) && is_private(s, b);
}

bool cr_match_products(const struct cr_search *s, cr_id t, struct cr_attention_backward *b)
{
    int budget = CR_MAX_VALUES;
    *b = (struct cr_attention_backward){.output = CR_NONE, .dscores = t, .dq = CR_NONE};
    if (!find_dlogits(s, t, b, &budget) ||
        !cr_same_shape(&s->g->nodes[t], &s->g->nodes[b->scores])) /* `t` may have the shape of the
                                                                     transposed scores */
        return false;
    b->dk = transposed_product(s, t, cr_in(s->g, b->scores, 0), &b->dk_turned);
    b->dv = transposed_product(s, b->dropped, cr_in(s->g, b->ddropped, 0), &b->dv_turned);
    for (int u = s->users->first[t]; u < s->users->first[t + 1]; u++) {
        cr_id user = s->users->list[u];
        if (cr_is_op(s->g, user, CR_OP_matmul) && cr_in(s->g, user, 0) == t &&
            are_transposed(s->g, cr_in(s->g, user, 1), cr_in(s->g, b->scores, 1)))
            b->dq = user;
    }
    return true;
}

/* ---- joined gradients ---- */

/* True if operand i of a concat is a view of `node`.  Unless `shared`, only the concat may read
 * it. */
static bool is_part(const struct cr_search *s, cr_id concat, int i, cr_id node, bool shared)
{
    cr_id user = concat, id = cr_in(s->g, concat, i);
    while (id != node && cr_single_use(s->users, id) == user &&
           (cr_is_op(s->g, id, CR_OP_reshape) || cr_is_op(s->g, id, CR_OP_permute)))
        user = id, id = cr_in(s->g, id, 0);
    return id == node && (shared || cr_single_use(s->users, id) == user);
}

/* True if a concat joins exactly the gradients, in any order. */
static bool joins(const struct cr_search *s, cr_id concat, const struct cr_attention_backward *b)
{
    const cr_id three[] = {b->dq, b->dk, b->dv};
    int parts = 3;
    for (int i = 0; i < b->n_arrays; i++)
        parts += !b->arrays[i].apart;
    if (b->dk_turned || b->dv_turned || s->g->nodes[concat].n_in != parts)
        return false;
    for (int p = 0; p < 3 + b->n_arrays; p++) {
        const struct cr_array_gradient *array = p < 3 ? NULL : &b->arrays[p - 3];
        bool found = array && array->apart;
        for (int i = 0; i < s->g->nodes[concat].n_in; i++)
            found |= is_part(s, concat, i, array ? array->result : three[p],
                             array && array->result == array->array);
        if (!found)
            return false;
    }
    return true;
}

cr_id cr_find_joined(const struct cr_search *s, const struct cr_attention_backward *b)
{
    cr_id user = cr_single_use(s->users, b->dq);
    while (cr_is_op(s->g, user, CR_OP_reshape) || cr_is_op(s->g, user, CR_OP_permute))
        user = cr_single_use(s->users, user);
    return cr_is_op(s->g, user, CR_OP_concat) && joins(s, user, b) ? user : CR_NONE;
}

/* Calls `visit` for the nodes that the kernel computes for an operand of a product, such as random
 * numbers and masks. */
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

/* Calls `visit` for the nodes on the path from a product to one of its factors, and for the nodes
 * that compute the other operands. */
static void visit_product(const struct cr_module *module, cr_id id, cr_id factor,
                          void (*visit)(void *, cr_id), void *context)
{
    const struct cr_graph *g = module->graph;
    int budget = 4 * CR_MAX_VALUES;
    while (id != factor) {
        cr_id next = cr_operand_with_factor(g, id, factor);
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
    struct cr_softmax softmax = {.n = 0};
    struct cr_region region = {.skips_gradients = true};
    const cr_id nodes[] = {b->dq,
                           b->dk,
                           b->dv,
                           b->ddropped,
                           b->scores,
                           b->logits,
                           b->dlogits,
                           cr_in(g, b->dk, 0),
                           cr_in(g, b->dv, 0)};
    if (!b->direct)
        cr_match_softmax(g, &softmax, b->probs);
    for (int i = 0; i < softmax.n; i++)
        visit(context, softmax.parts[i]);
    visit_product(module, b->dropped, b->probs, visit, context);
    visit_product(module, b->dprobs, b->ddropped, visit, context);
    if (b->scores != b->logits)
        cr_find_region(module, users, b->scores, b->logits, &region);
    for (int i = 0; i < region.n; i++)
        visit(context, region.nodes[i]);
    for (int i = 0; i < b->n_behind; i++)
        visit(context, b->behind[i]);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        visit(context, nodes[i]);
    if (b->direct) { /* without softmax, dropout is among the elementwise ops on the scores */
        int budget = 4 * CR_MAX_VALUES;
        visit_mask(module, b->logits, visit, context, &budget);
    } else {
        cr_id difference = users->list[users->first[b->dprobs]]; /* the only user of dP */
        visit(context, difference);
        visit(context, cr_in(g, difference, 1));
    }
    for (int i = 0; i < b->n_arrays; i++)
        for (cr_id id = b->arrays[i].result; id != b->arrays[i].array; id = cr_in(g, id, 0))
            visit(context, id);
    for (int i = 0; b->joined && i < g->nodes[b->output].n_in; i++)
        for (cr_id id = cr_in(g, b->output, i); cr_kind_of(g, id) == CR_KIND_MOVE;
             id = cr_in(g, id, 0))
            visit(context, id);
}
