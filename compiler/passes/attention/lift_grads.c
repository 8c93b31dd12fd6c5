/*
 * lift_grads.c - rewrites the nodes that depend on the gradient of an attention's logits into the form that one kernel
 * computes: elementwise ops on whole arrays of queries by keys, then sums.
 *
 * The script may multiply scores by a tensor or add it to them.  The gradient of this tensor is a sum over the axes
 * along which it was broadcast, in the script's order: first over the batch, for example, then multiplied by distances,
 * then over queries and keys.  This pass moves all elementwise ops before the sums over keys and queries, so that no
 * smaller array of queries by keys remains between them:
 *
 *     sum over (i, j) of (sum over b of dS[b, i, j]) y[i, j]   becomes
 *     sum over b, i of (sum over j of dS[b, i, j] y[i, j])
 *
 * A product that reads the rows of all heads as one matrix, as where all heads share their keys, becomes the sum of one
 * product a head.
 *
 * Like other rules for gradients, this is exact for finite values, except for the order of the sums.
 */
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/rewrite/rules.h"
#include "compiler/passes/weights/weights.h"

/*
 * A node as a view of the array `of`, whose axes are batch axes, queries and keys.  Elementwise
 * ops, sums over some of the array's axes, and movement ops compute the node from the array.  Axes
 * of size 1 are ignored.
 */
struct view {
    cr_id of;                     /* the array that the node is a view of, or CR_NONE */
    int n;                        /* number of the array's axes that are not summed */
    signed char axis[CR_MAX_RANK]; /* axes of the array that are not summed, in the order of the
                                      node's axes */
    signed char in[CR_MAX_RANK];   /* for each axis in `axis`: the number of the node's axis that
                                      contains it */
    unsigned summed;              /* the array's axes that are summed, as bits */
};

enum lifted {
    AS_IS,
    SUMMED,     /* a sum over queries or keys, or over batch axes if other nodes read it */
    SCATTERED,  /* a scatter by an index with axes for queries and keys */
    ONE_MATRIX,    /* (rows of all heads as one matrix)' times another node */
    ITS_TRANSPOSE, /* the transpose of another node times the rows of all heads as one matrix */
};

struct lift {
    const struct cr_graph *g;
    const struct cr_users *users;
    struct view *views;     /* by node */
    bool *is_probs;         /* by node: true for an array of probabilities */
    bool *depends;          /* by node: true if it depends on an array of gradients */
    bool *ends;             /* by node: true for elementwise ops on a sum that other nodes read;
                               they are not lifted */
    unsigned char *lifted;  /* by node: an enum lifted */
    bool lifts[CR_MAX_ENTRIES]; /* by entry: true if any node of the entry is lifted */
    struct cr_rewrite *rw;
    cr_id *whole; /* by node that is a view: the node of the new graph with the view's value before
                     its sums, over the whole array; or CR_NONE */
};

/* ---- views ---- */

static struct view whole_view(const struct cr_graph *g, cr_id id)
{
    struct view view = {.of = id};
    for (int i = 0; i < g->nodes[id].rank; i++)
        if (g->nodes[id].shape[i] > 1) {
            view.axis[view.n] = view.in[view.n] = (signed char)i;
            view.n++;
        }
    return view;
}

static bool same_view(const struct view *a, const struct view *b)
{
    return a->of == b->of && a->n == b->n && a->summed == b->summed &&
           memcmp(a->axis, b->axis, (size_t)a->n) == 0 && memcmp(a->in, b->in, (size_t)a->n) == 0;
}

/* True if a node has the shape and axes of its whole array, with nothing summed. */
static bool is_whole(const struct lift *l, cr_id id)
{
    const struct view *view = &l->views[id];
    struct view whole = whole_view(l->g, view->of);
    whole.of = view->of;
    return same_view(view, &whole) && cr_same_shape(&l->g->nodes[id], &l->g->nodes[view->of]);
}

/* Updates *view for a reshape, so that it refers to the reshape's axes.  Returns false if the
 * reshape splits an axis of the array. */
static bool view_of_reshape(const struct lift *l, cr_id id, struct view *view)
{
    const struct cr_node *node = &l->g->nodes[id], *of = &l->g->nodes[view->of];
    int at = 0;
    for (int i = 0; i < node->rank; i++) {
        int64_t size = 1;
        while (size < node->shape[i] && at < view->n) {
            size *= of->shape[view->axis[at]];
            view->in[at++] = (signed char)i;
        }
        if (size != node->shape[i])
            return false;
    }
    return at == view->n;
}

static void view_of_permute(const struct lift *l, cr_id id, struct view *view)
{
    const struct cr_node *node = &l->g->nodes[id];
    struct view from = *view;
    view->n = 0;
    for (int i = 0; i < node->rank; i++)
        for (int j = 0; j < from.n; j++)
            if (from.in[j] == node->index[i]) {
                view->axis[view->n] = from.axis[j];
                view->in[view->n++] = (signed char)i;
            }
}

static void view_of_sum(const struct lift *l, cr_id id, struct view *view)
{
    const struct view from = *view;
    view->n = 0;
    for (int j = 0; j < from.n; j++)
        if (from.in[j] == l->g->nodes[id].axis) {
            view->summed |= 1u << from.axis[j];
        } else {
            view->axis[view->n] = from.axis[j];
            view->in[view->n++] = from.in[j];
        }
}

/* Returns the axes of queries and keys, as bits. */
static unsigned inner_axes(const struct lift *l, cr_id of)
{
    return 3u << (l->g->nodes[of].rank - 2);
}

static bool is_zero(const struct cr_graph *g, cr_id id)
{
    return g->nodes[id].op == CR_OP_const && g->nodes[id].value == 0;
}

/* True if elementwise op `id` on sums equals the sum of the op on their terms.  `viewed` has a bit
 * for each operand that is a sum. */
static bool is_linear(const struct cr_graph *g, cr_id id, unsigned viewed)
{
    switch (g->nodes[id].op) {
    case CR_OP_neg:
        return true;
    case CR_OP_add:
    case CR_OP_sub:
        return viewed == 3;
    case CR_OP_mul:
        return viewed != 3;
    case CR_OP_div:
        return viewed == 1;
    case CR_OP_where:
        return (viewed == 2 && is_zero(g, cr_in(g, id, 2))) ||
               (viewed == 4 && is_zero(g, cr_in(g, id, 1)));
    default:
        return false;
    }
}

/* Sets *view to the view of an array that an elementwise node computes: the common view of its
 * operands.  Returns false unless each operand has that view or depends on no array of
 * gradients. */
static bool view_of_map(const struct lift *l, cr_id id, struct view *view)
{
    unsigned viewed = 0;
    if (l->ends[id])
        return false;
    for (int i = 0; i < l->g->nodes[id].n_in; i++) {
        const struct view *in = &l->views[cr_in(l->g, id, i)];
        if (in->of == CR_NONE && l->depends[cr_in(l->g, id, i)])
            return false;
        if (in->of == CR_NONE || l->is_probs[in->of])
            continue;
        if (viewed && !same_view(in, view))
            return false;
        *view = *in;
        viewed |= 1u << i;
    }
    return viewed && (!view->summed || is_linear(l->g, id, viewed));
}

/* Returns a node's view of an array, computed from the views of its operands; `of` is CR_NONE if
 * the node is no view. */
static struct view find_view(const struct lift *l, cr_id id)
{
    const struct view none = {.of = CR_NONE};
    const struct cr_node *node = &l->g->nodes[id];
    struct view view = none;
    if (cr_kind_of(l->g, id) == CR_KIND_ELEMENTWISE)
        return view_of_map(l, id, &view) ? view : none;
    if (node->n_in == 0 || l->views[cr_in(l->g, id, 0)].of == CR_NONE)
        return none;
    view = l->views[cr_in(l->g, id, 0)];
    switch (node->op) {
    case CR_OP_reshape:
        return view_of_reshape(l, id, &view) ? view : none;
    case CR_OP_permute:
        view_of_permute(l, id, &view);
        return view;
    case CR_OP_sum:
        view_of_sum(l, id, &view);
        return l->is_probs[view.of] || (view.summed & inner_axes(l, view.of)) ? none : view;
    default:
        return none;
    }
}

/* ---- the nodes to lift ---- */

/* True if a node is a sum, over queries or keys, of a view of an array of gradients. */
static bool sums_inner(const struct lift *l, cr_id id)
{
    const struct cr_node *node = &l->g->nodes[id];
    if (node->op != CR_OP_sum || l->views[cr_in(l->g, id, 0)].of == CR_NONE)
        return false;
    struct view view = l->views[cr_in(l->g, id, 0)];
    view_of_sum(l, id, &view);
    return !l->is_probs[view.of] && (view.summed & inner_axes(l, view.of));
}

/* True if a node scatters a view by an index with an axis of queries and one of keys. */
static bool scatters_inner(const struct lift *l, cr_id id)
{
    const struct cr_node *node = &l->g->nodes[id];
    if (node->op != CR_OP_scatter_add)
        return false;
    const struct view *view = &l->views[cr_in(l->g, id, 0)];
    if (view->of == CR_NONE || l->is_probs[view->of] || view->n < 2 ||
        l->g->nodes[cr_in(l->g, id, 1)].rank != 2)
        return false;
    unsigned two = 1u << view->axis[0] | 1u << view->axis[1];
    bool alone = view->in[0] == 0 && view->in[1] == 1 && (view->n == 2 || view->in[2] > 1);
    return two == inner_axes(l, view->of) && alone;
}

/* True if a node is an array reshaped to one matrix: a row for each batch index and query, a column
 * for each key.  With `keys_first`, true for the transpose of that matrix. */
static bool is_one_matrix(const struct lift *l, cr_id id, bool keys_first)
{
    const struct view *view = &l->views[id];
    if (view->of == CR_NONE || view->summed || l->g->nodes[id].rank != 2)
        return false;
    struct view whole = whole_view(l->g, view->of);
    signed char key = (signed char)(l->g->nodes[view->of].rank - 1);
    int begin = keys_first, rows = whole.n - 1;
    if (whole.n < 2 || whole.axis[rows] != key || view->n != whole.n)
        return false;
    for (int i = 0; i < rows; i++)
        if (view->axis[begin + i] != whole.axis[i] || view->in[begin + i] != keys_first)
            return false;
    int at = keys_first ? 0 : rows;
    return view->axis[at] == key && view->in[at] == !keys_first;
}

static enum lifted lifted_product(const struct lift *l, cr_id id)
{
    cr_id a = cr_in(l->g, id, 0), b = cr_in(l->g, id, 1);
    if (is_one_matrix(l, a, true))
        return ONE_MATRIX;
    return is_one_matrix(l, b, false) ? ITS_TRANSPOSE : AS_IS;
}

/* True if a node is an output, or is read by a node that is neither a view nor lifted. */
static bool is_read(const struct lift *l, cr_id id)
{
    bool read = l->users->output[id];
    for (int i = l->users->first[id]; i < l->users->first[id + 1]; i++)
        read |= l->views[l->users->list[i]].of == CR_NONE && !l->lifted[l->users->list[i]];
    return read;
}

/* Sets the view of each node, and whether and how it is lifted. */
static void find_views(struct lift *l)
{
    for (cr_id id = 0; id < l->g->n_nodes; id++) {
        if (l->views[id].of != id)
            l->views[id] = find_view(l, id);
        l->depends[id] = l->views[id].of != CR_NONE && !l->is_probs[l->views[id].of];
        for (int i = 0; i < l->g->nodes[id].n_in; i++)
            l->depends[id] |= l->depends[cr_in(l->g, id, i)];
        l->lifted[id] = AS_IS;
        if (l->g->nodes[id].op == CR_OP_matmul)
            l->lifted[id] = (unsigned char)lifted_product(l, id);
        else if (sums_inner(l, id))
            l->lifted[id] = SUMMED;
        else if (scatters_inner(l, id))
            l->lifted[id] = SCATTERED;
    }
}

/* Sets `ends` for elementwise ops on a sum that other nodes read: they are not lifted, but computed
 * from the sum.  Returns true if it set one that was not set. */
static bool end_at_reads(struct lift *l)
{
    bool found = false;
    for (cr_id id = 0; id < l->g->n_nodes; id++)
        if (l->views[id].of != CR_NONE && l->views[id].summed && !l->ends[id] &&
            cr_kind_of(l->g, id) == CR_KIND_ELEMENTWISE && is_read(l, id))
            found = l->ends[id] = true;
    return found;
}

static void find_lifted(struct lift *l)
{
    do
        find_views(l);
    while (end_at_reads(l));
    for (cr_id id = 0; id < l->g->n_nodes; id++) {
        if (l->views[id].of != CR_NONE && l->views[id].summed && is_read(l, id))
            l->lifted[id] = SUMMED;
        l->lifts[l->g->nodes[id].where.entry] |= l->lifted[id] != AS_IS;
    }
}

/* ---- nodes of the new graph ---- */

static cr_id make(struct lift *l, enum cr_op op, cr_id a, int rank, const int64_t *numbers)
{
    struct cr_attr attr = {.rank = rank};
    memcpy(op == CR_OP_permute ? attr.index : attr.shape, numbers,
           (size_t)rank * sizeof *numbers);
    return cr_rewrite_add(l->rw, op, 1, &a, &attr);
}

static cr_id sum_over(struct lift *l, cr_id a, int axis)
{
    return cr_rewrite_add(l->rw, CR_OP_sum, 1, &a, &(struct cr_attr){.axis = axis});
}

static cr_id transpose(struct lift *l, cr_id id)
{
    int64_t index[CR_MAX_RANK];
    int rank = l->rw->to->nodes[id].rank;
    for (int i = 0; i < rank; i++)
        index[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return make(l, CR_OP_permute, id, rank, index);
}

/* Writes the sizes of a view's axes to `size`, in the view's order, and the position of each axis
 * in the array's order to `place`. */
static void list_axes(const struct lift *l, const struct view *view, int64_t *size, int64_t *place)
{
    for (int i = 0; i < view->n; i++) {
        size[i] = l->g->nodes[view->of].shape[view->axis[i]];
        place[i] = 0;
        for (int j = 0; j < view->n; j++)
            place[i] += view->axis[j] < view->axis[i];
    }
}

/* Permutes a node with a view's axes to the order of the array's axes, and expands it along the
 * array's other axes. */
static cr_id spread(struct lift *l, cr_id id, const struct view *view)
{
    int64_t size[CR_MAX_RANK], place[CR_MAX_RANK], index[CR_MAX_RANK], shape[CR_MAX_RANK];
    const struct cr_node *of = &l->g->nodes[view->of];
    list_axes(l, view, size, place);
    for (int i = 0; i < view->n; i++)
        index[place[i]] = i;
    for (int i = 0; i < of->rank; i++)
        shape[i] = 1;
    for (int i = 0; i < view->n; i++)
        shape[view->axis[i]] = size[i];
    id = make(l, CR_OP_reshape, id, view->n, size);
    id = make(l, CR_OP_permute, id, view->n, index);
    id = make(l, CR_OP_reshape, id, of->rank, shape);
    return make(l, CR_OP_expand, id, of->rank, of->shape);
}

/* The inverse of spread: permutes and reshapes `id`, whose axes are in the array's order, to the
 * shape of `node`.  If `first` is not null, an axis of size *first precedes the view's axes. */
static cr_id gather_up(struct lift *l, cr_id id, const struct view *view, cr_id node,
                       const int64_t *first)
{
    int64_t size[CR_MAX_RANK], place[CR_MAX_RANK], index[CR_MAX_RANK], sorted[CR_MAX_RANK];
    int more = first != NULL, n = view->n + more;
    list_axes(l, view, size, place);
    if (more)
        sorted[0] = *first, index[0] = 0;
    for (int i = 0; i < view->n; i++) {
        sorted[place[i] + more] = size[i];
        index[i + more] = place[i] + more;
    }
    id = make(l, CR_OP_reshape, id, n, sorted);
    id = make(l, CR_OP_permute, id, n, index);
    return make(l, CR_OP_reshape, id, l->g->nodes[node].rank, l->g->nodes[node].shape);
}

/* Returns the node of the new graph with the elements of view `id` before its sums, over the whole
 * array.  Adds it if it does not exist yet. */
static cr_id whole_of(struct lift *l, cr_id id)
{
    const struct cr_node *node = &l->g->nodes[id];
    cr_id in[3];
    if (l->whole[id] != CR_NONE)
        return l->whole[id];
    if (l->views[id].of == id || is_whole(l, id)) {
        l->whole[id] = l->rw->map[id];
    } else if (cr_kind_of(l->g, id) != CR_KIND_ELEMENTWISE) {
        l->whole[id] = whole_of(l, cr_in(l->g, id, 0));
    } else {
        for (int i = 0; i < node->n_in; i++) {
            cr_id operand = cr_in(l->g, id, i);
            bool viewed = l->views[operand].of == l->views[id].of;
            in[i] = viewed ? whole_of(l, operand)
                           : spread(l, l->rw->map[operand], &l->views[id]);
        }
        l->whole[id] = cr_rewrite_add(l->rw, node->op, node->n_in, in, NULL);
    }
    return l->whole[id];
}

/* ---- lifting ---- */

/* Adds the sums of a view over its summed axes: keys first, then queries, then the others. */
static cr_id lift_sum(struct lift *l, cr_id id)
{
    cr_id from = l->views[id].of == CR_NONE ? cr_in(l->g, id, 0) : id;
    struct view view = l->views[from];
    if (from != id)
        view_of_sum(l, id, &view);
    cr_id sum = whole_of(l, from);
    for (int i = l->g->nodes[view.of].rank - 1; i >= 0; i--)
        if (view.summed >> i & 1)
            sum = sum_over(l, sum, i);
    return gather_up(l, sum, &view, id, NULL);
}

/* Scatters into one table for each batch index, then sums the tables over the batch axes that the
 * view sums. */
static cr_id lift_scatter(struct lift *l, cr_id id)
{
    cr_id rows = cr_in(l->g, id, 0);
    struct view view = l->views[rows];
    int rank = l->g->nodes[view.of].rank;
    int64_t n = l->g->nodes[id].shape[0], index[CR_MAX_RANK] = {view.axis[0], view.axis[1]};
    for (int i = 2; i < rank; i++)
        index[i] = i - 2;
    cr_id in[] = {make(l, CR_OP_permute, whole_of(l, rows), rank, index),
                  l->rw->map[cr_in(l->g, id, 1)]};
    cr_id table =
        cr_rewrite_add(l->rw, CR_OP_scatter_add, 2, in, &(struct cr_attr){.shape = {n}});
    for (int i = rank - 3; i >= 0; i--)
        if (view.summed >> i & 1)
            table = sum_over(l, table, i + 1);
    view.n -= 2;
    memmove(view.axis, view.axis + 2, (size_t)view.n);
    memmove(view.in, view.in + 2, (size_t)view.n);
    return gather_up(l, table, &view, id, &n);
}

/* Adds one product for each head, and the sum of these products. */
static cr_id lift_product(struct lift *l, cr_id id)
{
    bool turned = l->lifted[id] == ITS_TRANSPOSE;
    cr_id viewed = cr_in(l->g, id, turned), of = l->views[viewed].of;
    cr_id other = l->rw->map[cr_in(l->g, id, !turned)], array = whole_of(l, viewed);
    const struct cr_node *node = &l->g->nodes[of];
    int64_t shape[CR_MAX_RANK];
    if (turned)
        other = transpose(l, other);
    memcpy(shape, node->shape, sizeof shape);
    shape[node->rank - 1] = l->rw->to->nodes[other].shape[1];
    other = make(l, CR_OP_reshape, other, node->rank, shape);
    cr_id in[] = {transpose(l, turned ? other : array), turned ? array : other};
    cr_id product = cr_rewrite_add(l->rw, CR_OP_matmul, 2, in, NULL);
    for (int i = node->rank - 3; i >= 0; i--)
        product = sum_over(l, product, i);
    return make(l, CR_OP_reshape, product, l->g->nodes[id].rank, l->g->nodes[id].shape);
}

static void lift_node(struct lift *l, cr_id id)
{
    cr_rewrite_at(l->rw, id);
    cr_id made = l->lifted[id] == SUMMED      ? lift_sum(l, id)
                 : l->lifted[id] == SCATTERED ? lift_scatter(l, id)
                                              : lift_product(l, id);
    struct cr_node *node = &l->rw->to->nodes[made];
    if (!node->tap)
        node->tap = l->g->nodes[id].tap;
    l->rw->map[id] = made;
}

/* True if a node sums a view over an axis of size 1, so that it equals its operand.  Returns false
 * in an entry without lifted nodes, so that lifting in one entry does not change another. */
static bool sums_one_element(const struct lift *l, cr_id id)
{
    const struct cr_node *node = &l->g->nodes[id];
    return l->lifts[node->where.entry] && l->views[id].of != CR_NONE && node->op == CR_OP_sum &&
           l->g->nodes[cr_in(l->g, id, 0)].shape[node->axis] == 1;
}

/* Copies the graph, with lifted nodes in their new form. */
static void rewrite(struct lift *l, struct cr_module *module)
{
    struct cr_rewrite rw;
    l->rw = &rw;
    l->whole = cr_calloc((size_t)l->g->n_nodes, sizeof *l->whole);
    cr_rewrite_begin(&rw, module->graph, &cr_rules);
    for (cr_id id = 0; id < l->g->n_nodes; id++) {
        l->whole[id] = CR_NONE;
        if (rw.live[id] && l->lifted[id])
            lift_node(l, id);
        else if (rw.live[id] && sums_one_element(l, id))
            rw.map[id] = rw.map[cr_in(l->g, id, 0)];
        else if (rw.live[id])
            cr_rewrite_copy(&rw, id);
    }
    module->graph = cr_rewrite_end(&rw);
    free(l->whole);
}

/* ---- the arrays of queries by keys ---- */

/* Finds the arrays (gradients of logits, and probabilities), and makes each a view of itself.
 * Returns false if there are none. */
static bool find_arrays(struct lift *l, const struct cr_module *module)
{
    struct cr_attention_backward b;
    bool any = false, *weights = cr_find_weights(l->g);
    const struct cr_search s = {module, l->g, l->users, weights};
    for (cr_id id = 0; id < l->g->n_nodes; id++)
        l->views[id].of = CR_NONE;
    for (cr_id id = 0; id < l->g->n_nodes; id++) {
        if (!cr_match_dlogits(&s, id, &b))
            continue;
        l->views[id] = whole_view(l->g, id);
        l->views[b.dropped] = whole_view(l->g, b.dropped);
        l->is_probs[b.dropped] = true;
        any = true;
    }
    free(weights);
    return any;
}

static bool lifts_any(const struct lift *l)
{
    for (int entry = 0; entry < l->g->n_entries; entry++)
        if (l->lifts[entry])
            return true;
    return false;
}

/* Does nothing for a model with lengths: its gradients, if any, are plain ops of the script. */
void cr_pass_lift_grads(struct cr_module *module)
{
    if (module->graph->n_lengths)
        return;
    struct cr_users users;
    cr_users_list(&users, module->graph);
    size_t n = (size_t)module->graph->n_nodes;
    struct lift l = {.g = module->graph,
                     .users = &users,
                     .views = cr_calloc(n, sizeof *l.views),
                     .is_probs = cr_calloc(n, sizeof *l.is_probs),
                     .depends = cr_calloc(n, sizeof *l.depends),
                     .ends = cr_calloc(n, sizeof *l.ends),
                     .lifted = cr_calloc(n, sizeof *l.lifted)};
    module->no_gradients = !find_arrays(&l, module);
    if (!module->no_gradients)
        find_lifted(&l);
    if (lifts_any(&l))
        rewrite(&l, module);
    cr_users_free(&users);
    free(l.views);
    free(l.is_probs);
    free(l.depends);
    free(l.ends);
    free(l.lifted);
}
