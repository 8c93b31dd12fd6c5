/*
 * materialise.c - chooses the nodes that are stored, before any kernel is made.
 *
 * A kernel stores its root and computes all nodes between the root and other stored nodes.  The
 * pass stores
 *   - results of concat and write; outputs are stored already (separate_outputs.c);
 *   - the last node of each contraction's epilogue, which is the longest chain of elementwise ops
 *     on the product: so bias, activation and residual need no access to memory;
 *   - nodes that several kernels need, if recomputing them costs more than a few operations; of a
 *     norm, only its numbers of each row; a function counts once for each copy that is broadcast.
 * Kernels compute the nodes between - norms, masks, softmax - for each row when they read the row.
 * If one kernel cannot do that, fuse.c stores more nodes.
 */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/attention/attention.h"
#include "compiler/passes/weights/weights.h"
#include "fuse.h"

enum {
    CHEAP = 12,   /* the highest cost at which a value is recomputed rather than stored */
    FUNCTION = 3, /* the cost of exp and similar functions; + and similar ops cost 1 */
    DEEPEST = 64, /* the most ops on a path inside one kernel */
    LONG_SUM = 8, /* the most products or reductions of a sum that are stored separately and then
                     added */
};

struct choice {
    struct cr_module *m;
    struct cr_graph *g;
    struct cr_users users;
    cr_id *owner;   /* by node: the root of the only kernel that computes the node, SEVERAL, or
                       CR_NONE */
    int *cost;      /* by node: the cost of computing the node from stored nodes */
    bool *index;    /* by node: true if the node depends only on indices, as masks do */
    int *spread;    /* by node: the node's cost if the per-row values that it broadcasts were
                       stored */
    bool *by_row;   /* by node: true if several kernels compute the node from stored per-row
                       values */
    int *depth;     /* by node: the most ops on a path to the node from stored nodes */
    bool *computed; /* by node: true for rows of queries or keys that an attention's kernel computes
                       itself */
};

enum { SEVERAL = -2 };

static bool is_leaf(const struct choice *c, cr_id id)
{
    return cr_kind_of(c->g, id) == CR_KIND_LEAF || cr_is_laid_out(c->g, id);
}

/* ---- nodes stored in any case ---- */

/* Returns the last reshape of a single-use chain that starts at `id`, or `id` if a concat ends the
 * chain. */
static cr_id last_reshape(const struct choice *c, cr_id id)
{
    cr_id last = id, user = cr_only_user(&c->users, id);
    for (; user != CR_NONE && c->g->nodes[user].op == CR_OP_reshape;
         user = cr_only_user(&c->users, last))
        last = user;
    return user != CR_NONE && c->g->nodes[user].op == CR_OP_concat ? id : last;
}

/* True if a reshape concatenates the parts that an all_gather, or a slice of it, has of all
 * ranks. */
static bool joins_parts(const struct cr_graph *g, cr_id id)
{
    if (g->nodes[id].op != CR_OP_reshape || g->nodes[cr_in(g, id, 0)].op != CR_OP_permute)
        return false;
    for (id = cr_in(g, cr_in(g, id, 0), 0); g->nodes[id].op == CR_OP_slice; id = cr_in(g, id, 0))
        ;
    return g->nodes[id].op == CR_OP_all_gather;
}

/* Stores the operands and results of exchanges; the results of scatters, scans, writes and
 * reductions down columns; and concats, except concats of weights, which are joined when they are
 * loaded. */
static void store_always(struct choice *c)
{
    bool *weights = cr_find_weights(c->g);
    for (cr_id id = 0; id < c->g->n_nodes; id++)
        if (!c->m->inside[id] && cr_goes_down(c->g, id))
            c->m->materialised[last_reshape(c, id)] = true;
        else if (cr_kind_of(c->g, id) == CR_KIND_EXCHANGE)
            c->m->materialised[id] = c->m->materialised[cr_in(c->g, id, 0)] = true;
        else if (c->m->stores_gathered && joins_parts(c->g, id))
            c->m->materialised[id] = true;
        else if (((cr_kind_of(c->g, id) == CR_KIND_SCATTER ||
                   cr_kind_of(c->g, id) == CR_KIND_SCAN) &&
                  !c->m->inside[id]) ||
                 cr_kind_of(c->g, id) == CR_KIND_WRITE ||
                 (c->g->nodes[id].op == CR_OP_concat && !weights[id]))
            c->m->materialised[id] = true;
    free(weights);
}

/* Returns the number of products, reductions down columns and scatters that an operand of a sum
 * adds up; 0 if the operand has another reader. */
static int terms_of(const struct choice *c, const int *terms, cr_id id)
{
    if (cr_only_user(&c->users, id) == CR_NONE)
        return 0;
    while (cr_kind_of(c->g, id) == CR_KIND_MOVE) {
        id = cr_in(c->g, id, 0);
        if (cr_only_user(&c->users, id) == CR_NONE)
            return 0;
    }
    enum cr_kind kind = cr_kind_of(c->g, id);
    return kind == CR_KIND_CONTRACT || kind == CR_KIND_SCATTER || cr_goes_down(c->g, id)
               ? 1
               : terms[id];
}

/*
 * Stores the partial sums of a long sum of products, such as the gradient of a weight that many
 * time steps share.  Each product is as large as the weight.  It is added as soon as it is
 * computed, so no product stays in memory to the end, and the kernels of all time steps are equal.
 */
static void store_long_sums(struct choice *c)
{
    int *terms = cr_calloc((size_t)c->g->n_nodes, sizeof *terms);
    for (cr_id id = 0; id < c->g->n_nodes; id++)
        for (int i = 0; c->g->nodes[id].op == CR_OP_add && i < 2; i++)
            terms[id] += terms_of(c, terms, cr_in(c->g, id, i));
    for (cr_id id = c->g->n_nodes - 1; id >= 0; id--) {
        cr_id user = cr_only_user(&c->users, id);
        if (terms[id] > 1 && user != CR_NONE && terms[user] > terms[id])
            terms[id] = terms[user];
        if (terms[id] > LONG_SUM && !c->m->inside[id])
            c->m->materialised[id] = true;
    }
    free(terms);
}

static void mark_inside(void *context, cr_id id)
{
    ((struct cr_module *)context)->inside[id] = true;
}

/* Stores the node that an operand is a view of. */
static void store_viewed(struct choice *c, cr_id id)
{
    while (!c->m->materialised[id] && cr_kind_of(c->g, id) == CR_KIND_MOVE)
        id = cr_in(c->g, id, 0);
    if (!is_leaf(c, id))
        c->m->materialised[id] = true;
}

/* Stores the gradients of attentions and their operands; nodes between are computed inside the
 * kernel. */
static void store_gradients(struct choice *c)
{
    for (int i = 0; i < c->m->n_backwards; i++) {
        const struct cr_attention_backward *b = &c->m->backwards[i];
        cr_each_inside(c->m, &c->users, b, mark_inside, c->m);
        const cr_id stored[] = {b->delta, cr_in(c->g, b->scores, 0), cr_in(c->g, b->scores, 1),
                                cr_in(c->g, b->ddropped, 0), cr_in(c->g, b->ddropped, 1)};
        for (size_t j = 0; j < sizeof stored / sizeof *stored; j++)
            if (stored[j] != CR_NONE)
                store_viewed(c, stored[j]);
        for (int j = 0; j < cr_n_gradients(b); j++) {
            cr_id id = cr_gradient_at(b, j);
            if (!cr_is_own_node(b, j))
                continue;
            c->m->materialised[id] = true;
            c->m->stored_with[id] = id == b->output ? CR_NONE : b->output;
        }
    }
}

/* True if node `id` is in the epilogue of another contraction. */
static bool has_owner(const struct choice *c, cr_id id)
{
    return c->owner[id] != CR_NONE;
}

/* True if an epilogue that ends in `from` can be extended to `to`.  Fills in the region between. */
static bool may_extend(const struct choice *c, cr_id from, cr_id to, struct cr_region *region)
{
    if (to == CR_NONE || !cr_find_region(c->m, &c->users, from, to, region))
        return false;
    for (int i = 0; i < region->n; i++)
        if (has_owner(c, region->nodes[i]))
            return false;
    return true;
}

/* Assigns the nodes of the longest epilogue of a contraction to the contraction's kernel.  Returns
 * the last node. */
static cr_id assign_epilogue(struct choice *c, cr_id id)
{
    struct cr_region region = {.skips_gradients = false};
    cr_id end = id;
    c->owner[id] = id;
    while (!c->m->materialised[end] && may_extend(c, end, c->users.meet[end], &region)) {
        end = c->users.meet[end];
        for (int i = 0; i < region.n; i++)
            c->owner[region.nodes[i]] = id;
    }
    return end;
}

/* True if the only reader of a node is a stored concat: its kernel then writes directly into the
 * concat. */
static bool goes_to_concat(const struct choice *c, cr_id id)
{
    cr_id user = cr_only_user(&c->users, id);
    return user != CR_NONE && c->g->nodes[user].op == CR_OP_concat && c->m->materialised[user];
}

/* Returns a list by node: true for the scores of an attention.  The caller frees it. */
static bool *find_scores(const struct choice *c)
{
    bool *scores = cr_calloc((size_t)c->g->n_nodes, sizeof *scores);
    for (int i = 0; i < c->m->n_attentions; i++)
        scores[c->m->attentions[i].scores] = true;
    return scores;
}

/* ---- rows of queries and keys ---- */

/* The nodes that an attention would recompute to get its rows of queries or keys: elementwise ops,
 * moves, reductions and concats above stored nodes. */
struct rows {
    cr_id nodes[CR_MAX_VALUES];
    bool own[CR_MAX_VALUES]; /* by index in `nodes`: true for concats and reductions, and nodes that
                                depend on them */
    int n;
    bool too_many;
};

static int find_row(const struct rows *rows, cr_id id)
{
    for (int i = 0; i < rows->n; i++)
        if (rows->nodes[i] == id)
            return i;
    return -1;
}

/* Appends a node after its operands.  Returns true if it is a concat or a reduction, or depends on
 * one. */
static bool collect_rows(const struct choice *c, struct rows *rows, cr_id id)
{
    enum cr_kind kind = cr_kind_of(c->g, id);
    bool joins = kind == CR_KIND_CONCAT && !is_leaf(c, id);
    bool reduces = kind == CR_KIND_REDUCE && !cr_goes_down(c->g, id);
    bool made = kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_MOVE || joins || reduces;
    bool own = joins || reduces;
    int known = find_row(rows, id);
    if (known >= 0)
        return rows->own[known];
    if (!made || (c->m->materialised[id] && !joins))
        return false;
    for (int i = 0; i < c->g->nodes[id].n_in; i++)
        own |= collect_rows(c, rows, cr_in(c->g, id, i));
    rows->too_many |= rows->n == CR_MAX_VALUES;
    if (rows->too_many)
        return false;
    rows->nodes[rows->n] = id;
    rows->own[rows->n++] = own;
    return own;
}

/* True if no node outside `rows`, other than `product`, reads the nodes of `rows` marked `own`. */
static bool are_for(const struct choice *c, const struct rows *rows, cr_id product)
{
    for (int i = 0; i < rows->n; i++) {
        cr_id id = rows->nodes[i];
        if (!rows->own[i])
            continue;
        if (c->users.output[id])
            return false;
        for (int u = c->users.first[id]; u < c->users.first[id + 1]; u++)
            if (c->users.list[u] != product && find_row(rows, c->users.list[u]) < 0)
                return false;
    }
    return true;
}

/*
 * Lets an attention compute the rows of its queries or keys itself, instead of loading them, if
 * nothing else reads them.  Examples are a rotation of halves (Su et al. 2021), whose concat is
 * then not stored, and a norm of each head's rows.
 */
static void compute_rows(struct choice *c, cr_id scores, int operand)
{
    struct rows rows = {.n = 0};
    const struct cr_node *node = &c->g->nodes[scores];
    cr_id id = cr_in(c->g, scores, operand);
    if (!cr_computes_keys(node->shape[node->rank - 2], node->shape[node->rank - 1]) ||
        !collect_rows(c, &rows, id) || rows.too_many || !are_for(c, &rows, scores))
        return;
    for (int i = 0; i < rows.n; i++)
        c->m->materialised[rows.nodes[i]] = false;
    c->computed[id] = true;
}

static void compute_heads(struct choice *c)
{
    for (int i = 0; i < c->m->n_attentions; i++)
        for (int operand = 0; operand < 2; operand++)
            compute_rows(c, c->m->attentions[i].scores, operand);
}

/* Stores the last node of the epilogue of each matmul.  Excluded are scores of attentions, and
 * epilogues that are written directly into a concat. */
static void store_epilogues(struct choice *c)
{
    bool *scores = find_scores(c);
    for (cr_id id = 0; id < c->g->n_nodes; id++) {
        if (c->g->nodes[id].op != CR_OP_matmul || scores[id] || c->m->inside[id] ||
            has_owner(c, id))
            continue;
        cr_id end = assign_epilogue(c, id);
        if (!goes_to_concat(c, end))
            c->m->materialised[end] = true;
    }
    free(scores);
}

/* True if the moves at and below a node swap its last two axes. */
static bool is_transposed(const struct choice *c, cr_id id)
{
    for (; cr_kind_of(c->g, id) == CR_KIND_MOVE; id = cr_in(c->g, id, 0)) {
        const struct cr_node *node = &c->g->nodes[id];
        if (node->op == CR_OP_permute && node->index[node->rank - 1] != node->rank - 1)
            return true;
    }
    return false;
}

/* Stores the node that an operand is a view of, unless an epilogue computes that node. */
static void store_operand(struct choice *c, cr_id id)
{
    cr_id viewed = id;
    while (cr_kind_of(c->g, viewed) == CR_KIND_MOVE)
        viewed = cr_in(c->g, viewed, 0);
    if (!has_owner(c, viewed))
        store_viewed(c, id);
}

/* True if a product selects one matrix of a stack of weights by an i32 index and reads it from the
 * packed stack: the gather that selects it is then not stored. */
static bool is_chosen(const struct choice *c, cr_id right)
{
    struct cr_stacked choice;
    return cr_find_choice(c->g, right, &choice) && !c->m->materialised[choice.gather];
}

/* Stores the operands that a matrix product packs at run time, so that other kernels can read them:
 * a transposed left operand, and the right operand unless it is a weight matrix or one of a
 * stack. */
static void store_packed(struct choice *c)
{
    bool *weights = cr_find_weights(c->g);
    for (cr_id id = 0; id < c->g->n_nodes; id++) {
        if (c->g->nodes[id].op != CR_OP_matmul || c->m->inside[id])
            continue;
        cr_id left = cr_in(c->g, id, 0), right = cr_in(c->g, id, 1);
        if (!weights[right] && !c->computed[right] && !is_chosen(c, right))
            store_operand(c, right);
        if (!weights[left] && !c->computed[left] && is_transposed(c, left))
            store_operand(c, left);
    }
    free(weights);
}

/* ---- nodes that several kernels need ---- */

/* True if a node depends only on indices, as masks do: it is never worth storing.  False for a view
 * of a stored node, although the view costs nothing. */
static bool is_index(const struct choice *c, cr_id id)
{
    enum cr_kind kind = cr_kind_of(c->g, id);
    if (kind == CR_KIND_LEAF)
        return !c->g->nodes[id].name;
    for (int i = 0; i < c->g->nodes[id].n_in; i++)
        if (!c->index[cr_in(c->g, id, i)] || c->m->materialised[cr_in(c->g, id, i)])
            return false;
    return kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_MOVE;
}

/* True if a node gathers by an index that depends on other indices only, as biases by distance
 * do. */
static bool is_lookup(const struct choice *c, cr_id id)
{
    return (c->g->nodes[id].op == CR_OP_gather || c->g->nodes[id].op == CR_OP_take) &&
           c->index[cr_in(c->g, id, 1)] && !c->m->materialised[cr_in(c->g, id, 1)];
}

/* Returns the cost of a node's op relative to an addition.  A reduction or a product costs more
 * than CHEAP, so that its result is stored if several kernels need it. */
static int own_cost(const struct choice *c, cr_id id)
{
    const struct cr_op_info *info = &cr_ops[c->g->nodes[id].op];
    if (cr_is_laid_out(c->g, id))
        return 1;
    switch (info->kind) {
    case CR_KIND_ELEMENTWISE:
        if (c->g->nodes[id].op == CR_OP_fma)
            return 2;
        return info->rule == CR_RULE_FLOAT && c->g->nodes[id].op != CR_OP_div ? FUNCTION : 1;
    case CR_KIND_LEAF:
        return c->g->nodes[id].name ? 1 : 0;
    case CR_KIND_GATHER:
    case CR_KIND_TAKE:
        return is_lookup(c, id) ? FUNCTION : 2 * CHEAP;
    case CR_KIND_MOVE:
        return 0;
    default:
        return 2 * CHEAP;
    }
}

/* True if a scalar adds two scalars that each depend on a reduction.  The norm of all gradients is
 * a chain of such sums.  If each sum is stored, their kernels are equal, like those of layers. */
static bool is_total(const struct choice *c, cr_id id)
{
    const struct cr_node *node = &c->g->nodes[id];
    for (int i = 0; i < node->n_in; i++)
        if (cr_kind_of(c->g, cr_in(c->g, id, i)) == CR_KIND_ELEMENTWISE &&
            c->g->nodes[cr_in(c->g, id, i)].op != CR_OP_add)
            return false; /* for example in the denominator of a softmax */
    return node->op == CR_OP_add && cr_elements(node->rank, node->shape) == 1 &&
           c->cost[cr_in(c->g, id, 0)] >= 2 * CHEAP && c->cost[cr_in(c->g, id, 1)] >= 2 * CHEAP;
}

/* True if a node broadcasts results of reductions: means, deviations, maxima. */
static bool repeats_reduction(const struct choice *c, cr_id id)
{
    return c->g->nodes[id].op == CR_OP_expand && c->cost[cr_in(c->g, id, 0)] >= 2 * CHEAP;
}

/* Returns the cost of a node if the per-row values that it broadcasts were stored; at most the
 * node's cost, and 0 if the node depends only on indices. */
static int spread_cost(const struct choice *c, cr_id id)
{
    if (repeats_reduction(c, id))
        return 1;
    int sum = own_cost(c, id);
    for (int i = 0; i < c->g->nodes[id].n_in; i++)
        if (!c->m->materialised[cr_in(c->g, id, i)])
            sum += c->spread[cr_in(c->g, id, i)];
    return sum < c->cost[id] ? sum : c->cost[id];
}

/* Computes the cost of recomputing each node: its own cost plus the costs of operands that are not
 * stored.  Costs are capped, since a shared subtree counts once for each reader. */
static void find_costs(struct choice *c)
{
    for (cr_id id = 0; id < c->g->n_nodes; id++) {
        c->index[id] = is_index(c, id);
        c->cost[id] = c->index[id] ? 0 : own_cost(c, id);
        for (int i = 0; i < c->g->nodes[id].n_in; i++)
            if (!c->m->materialised[cr_in(c->g, id, i)])
                c->cost[id] += c->cost[cr_in(c->g, id, i)];
        if (c->cost[id] > 100 * CHEAP)
            c->cost[id] = 100 * CHEAP; /* the cap: shared subtrees count several times */
        c->spread[id] = spread_cost(c, id);
        if (is_total(c, id) && !c->m->inside[id])
            c->m->materialised[id] = true;
    }
}

/* Stores nodes at the end of paths too long for one kernel.  Runs last: then most paths start at
 * nodes stored for other reasons and have the same length in each layer, so that layers stay
 * equal. */
static void store_deep(struct choice *c)
{
    for (cr_id id = 0; id < c->g->n_nodes; id++) {
        for (int i = 0; i < c->g->nodes[id].n_in; i++) {
            cr_id in = cr_in(c->g, id, i);
            if (!c->m->materialised[in] && c->depth[id] <= c->depth[in])
                c->depth[id] = c->depth[in] + 1;
        }
        if (c->depth[id] >= DEEPEST && !c->m->inside[id])
            c->m->materialised[id] = true;
    }
}

/* Returns the root of the kernel that computes `id` for its reader `user`. */
static cr_id needed_by(const struct choice *c, cr_id id, cr_id user)
{
    if (c->g->nodes[user].op == CR_OP_concat && c->m->materialised[user] &&
        !cr_backward_at(c->m, user))
        return id; /* the kernel of a part of a concat computes only this part */
    if (c->m->stored_with[user] != CR_NONE)
        return c->m->stored_with[user];
    return c->m->materialised[user] ? user : c->owner[user];
}

/*
 * Handles a node that several kernels need and that is too expensive to recompute.  If most of the
 * cost is in a few numbers a row, such as the mean and deviation of a norm, only these are stored,
 * and each kernel recomputes the row from them.  Otherwise the node is stored.
 */
static void store_for_several(struct choice *c, cr_id id)
{
    if (c->spread[id] <= CHEAP)
        c->by_row[id] = true;
    else
        c->m->materialised[id] = true;
}

static void store_row_numbers(struct choice *c, cr_id id)
{
    for (int i = 0; i < c->g->nodes[id].n_in; i++)
        if (repeats_reduction(c, id))
            store_viewed(c, cr_in(c->g, id, i));
        else
            c->by_row[cr_in(c->g, id, i)] = true;
}

/* True if a node is a function such as exp whose readers only broadcast it, and recomputing it for
 * every copy and every reader would be expensive.  Rotary embeddings, for example, broadcast
 * cosines to all heads, for both halves of queries and of keys. */
static bool is_repeated_function(const struct choice *c, cr_id id)
{
    const struct cr_node *node = &c->g->nodes[id];
    if (cr_kind_of(c->g, id) != CR_KIND_ELEMENTWISE || own_cost(c, id) < FUNCTION)
        return false;
    int64_t elements = cr_elements(node->rank, node->shape), times = 0;
    for (int i = c->users.first[id]; i < c->users.first[id + 1]; i++) {
        const cr_id copies = c->users.list[i];
        const struct cr_node *user = &c->g->nodes[copies];
        if (user->op != CR_OP_expand)
            return false;
        times += cr_elements(user->rank, user->shape) / elements *
                 (c->users.first[copies + 1] - c->users.first[copies]);
    }
    return elements > 1 && times * FUNCTION > CHEAP;
}

/* Finds owners from the outputs backwards: a node belongs to the kernel of its readers if they
 * share one; otherwise it may be stored.  Weights joined for several products are packed when they
 * are loaded, and have no owner. */
static void find_owners(struct choice *c)
{
    bool *weights = cr_find_weights(c->g);
    for (cr_id id = c->g->n_nodes - 1; id >= 0; id--) {
        cr_id owner = CR_NONE;
        for (int i = c->users.first[id]; i < c->users.first[id + 1]; i++) {
            cr_id need = needed_by(c, id, c->users.list[i]);
            owner = owner == CR_NONE || owner == need ? need : SEVERAL;
        }
        c->owner[id] = owner;
        bool lies = cr_kind_of(c->g, id) == CR_KIND_MOVE || weights[id];
        if (owner == SEVERAL && c->cost[id] > CHEAP && !lies && !is_leaf(c, id) &&
            !c->m->inside[id])
            store_for_several(c, id);
        else if (owner == SEVERAL && is_repeated_function(c, id) && !c->m->inside[id])
            c->m->materialised[id] = true;
        if (c->by_row[id] && !c->m->materialised[id])
            store_row_numbers(c, id);
    }
    free(weights);
}

/* Stores the nodes that must be stored, then the nodes that are too expensive to recompute. */
void cr_pass_materialise(struct cr_module *module)
{
    size_t n = (size_t)module->graph->n_nodes;
    struct choice c = {.m = module, .g = module->graph};
    module->inside = cr_calloc(n, sizeof *module->inside);
    module->stored_with = cr_calloc(n, sizeof *module->stored_with);
    c.owner = cr_calloc(n, sizeof *c.owner);
    c.cost = cr_calloc(n, sizeof *c.cost);
    c.index = cr_calloc(n, sizeof *c.index);
    c.spread = cr_calloc(n, sizeof *c.spread);
    c.by_row = cr_calloc(n, sizeof *c.by_row);
    c.depth = cr_calloc(n, sizeof *c.depth);
    c.computed = cr_calloc(n, sizeof *c.computed);
    for (size_t i = 0; i < n; i++)
        c.owner[i] = module->stored_with[i] = CR_NONE;
    cr_users_find(&c.users, c.g);
    store_gradients(&c);
    store_always(&c);
    store_long_sums(&c);
    cr_find_attentions(module, &c.users);
    compute_heads(&c);
    store_epilogues(&c);
    store_packed(&c);
    find_costs(&c);
    find_owners(&c);
    store_deep(&c);
    cr_users_free(&c.users);
    free(c.owner);
    free(c.cost);
    free(c.index);
    free(c.spread);
    free(c.by_row);
    free(c.depth);
    free(c.computed);
}
