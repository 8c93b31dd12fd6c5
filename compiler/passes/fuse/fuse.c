/*
 * fuse.c - chooses the nodes that are stored, and makes a kernel for each.
 *
 * A kernel stores its root and computes all nodes between the root and other stored nodes.  The
 * pass stores
 *   - outputs (separate.c), and results of concat and write;
 *   - for each contraction, the end of its epilogue: the last node that elementwise work
 *     on the product leads to, so bias, activation and residual cost no trip to memory;
 *   - nodes that several kernels need, if recomputing them costs more than a few operations; for a
 *     norm, only its numbers of a row; a function counts once for each copy that is broadcast.
 * Kernels compute the nodes between - norms, masks, softmax - on rows as they read them.  If one
 * kernel cannot do that, because it needs two contractions, or too many values or operands
 * (lower.h), the obstacle is stored, too.  Kernels are then lowered again, until no node is left
 * to store.
 */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/attention/attention.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/gathered_tables.h"
#include "compiler/passes/weights/weights.h"
#include "fuse.h"
#include "lower.h"

enum {
    CHEAP = 12,   /* the highest cost at which a value is recomputed rather than stored */
    FUNCTION = 3, /* the cost of exp and similar functions; + and similar ops cost 1 */
    DEEPEST = 64, /* the longest path of ops in one kernel */
    LONG_SUM = 8, /* the most products or reductions that a sum stores and adds at the end */
};

/* A kernel that is needed to compute a stored node, or a part of one. */
struct need {
    struct cr_goal goal;
    int kernel; /* its index in the module's kernels, not sorted yet, or CR_NONE */
};

struct fusion {
    struct cr_module *m;
    struct cr_graph *g;
    struct cr_users users;
    struct cr_lowering *lowering;
    bool *inside; /* by node: a kernel of attention gradients computes it internally */
    cr_id *owner; /* by node: the root of the only kernel that computes it, SEVERAL, or CR_NONE */
    int *cost;    /* by node: the cost of computing it from stored nodes */
    bool *index;  /* by node: it depends only on indices, as masks do */
    int *spread;  /* by node: its cost if the row values that it broadcasts were stored */
    bool *by_row; /* by node: several kernels compute it from stored row values */
    int *depth;   /* by node: the longest path of ops to it from stored nodes */
    bool *computed; /* by node: rows of queries or keys that attention kernels compute themselves */
    cr_id *with;  /* by node: the first node that its kernel stores, if it is not that node
                     itself; or CR_NONE */
    int *cleared; /* by node: the value of n_stored when its kernels were made */
    int n_stored; /* starts at 1 */
    struct need *needs;
    int n_needs, cap_needs;
    int *first_need; /* by stored node: its first need; the needs of a node are consecutive */
    cr_id *state;    /* by node: the state that it replaces, or CR_NONE */
};

enum { SEVERAL = -2 };

static bool is_leaf(const struct fusion *f, cr_id id)
{
    return cr_kind_of(f->g, id) == CR_KIND_LEAF || cr_is_joined(f->g, id);
}

/* ---- what is stored ---- */

/* Returns the last reshape of a single-use chain that starts at `id`, or `id` if a concat ends the
 * chain. */
static cr_id last_reshape(const struct fusion *f, cr_id id)
{
    cr_id last = id, user = cr_only_user(&f->users, id);
    for (; user != CR_NONE && f->g->nodes[user].op == CR_OP_reshape;
         user = cr_only_user(&f->users, last))
        last = user;
    return user != CR_NONE && f->g->nodes[user].op == CR_OP_concat ? id : last;
}

/* Stores results of exchanges, and what they send; of scatters, scans, writes and reductions down columns; and concats, unless they
 * are concats of weights, which are joined when they are loaded. */
static void store_obvious(struct fusion *f)
{
    bool *weights = cr_find_weights(f->g);
    for (cr_id id = 0; id < f->g->n_nodes; id++)
        if (!f->inside[id] && cr_goes_down(f->g, id))
            f->m->materialised[last_reshape(f, id)] = true;
        else if (cr_kind_of(f->g, id) == CR_KIND_EXCHANGE)
            f->m->materialised[id] = f->m->materialised[cr_in(f->g, id, 0)] = true;
        else if (((cr_kind_of(f->g, id) == CR_KIND_SCATTER ||
                   cr_kind_of(f->g, id) == CR_KIND_SCAN) &&
                  !f->inside[id]) ||
                 cr_kind_of(f->g, id) == CR_KIND_WRITE ||
                 (f->g->nodes[id].op == CR_OP_concat && !weights[id]))
            f->m->materialised[id] = true;
    free(weights);
}

/* Returns the number of products, reductions down columns and scatters that an operand of a sum
 * adds up; 0 if it has another user. */
static int terms_of(const struct fusion *f, const int *terms, cr_id id)
{
    if (cr_only_user(&f->users, id) == CR_NONE)
        return 0;
    while (cr_kind_of(f->g, id) == CR_KIND_MOVE) {
        id = cr_in(f->g, id, 0);
        if (cr_only_user(&f->users, id) == CR_NONE)
            return 0;
    }
    enum cr_kind kind = cr_kind_of(f->g, id);
    return kind == CR_KIND_CONTRACT || kind == CR_KIND_SCATTER || cr_goes_down(f->g, id)
               ? 1
               : terms[id];
}

/*
 * Stores the partial sums of a long sum of products, such as the gradient of a weight that many
 * steps share.  Each product is as large as the weight.  It is added as soon as it is computed, so
 * no product is kept until the end, and the steps are equal kernels.
 */
static void store_long_sums(struct fusion *f)
{
    int *terms = cr_calloc((size_t)f->g->n_nodes, sizeof *terms);
    for (cr_id id = 0; id < f->g->n_nodes; id++)
        for (int i = 0; f->g->nodes[id].op == CR_OP_add && i < 2; i++)
            terms[id] += terms_of(f, terms, cr_in(f->g, id, i));
    for (cr_id id = f->g->n_nodes - 1; id >= 0; id--) {
        cr_id user = cr_only_user(&f->users, id);
        if (terms[id] > 1 && user != CR_NONE && terms[user] > terms[id])
            terms[id] = terms[user];
        if (terms[id] > LONG_SUM && !f->inside[id])
            f->m->materialised[id] = true;
    }
    free(terms);
}

static void mark_inside(void *context, cr_id id)
{
    ((struct fusion *)context)->inside[id] = true;
}

/* Stores the node that an operand is a view of. */
static void store_viewed(struct fusion *f, cr_id id)
{
    while (!f->m->materialised[id] && cr_kind_of(f->g, id) == CR_KIND_MOVE)
        id = cr_in(f->g, id, 0);
    if (!is_leaf(f, id))
        f->m->materialised[id] = true;
}

/* Stores the gradients of attentions and their operands, and no nodes between. */
static void store_gradients(struct fusion *f)
{
    for (int i = 0; i < f->m->n_backwards; i++) {
        const struct cr_attention_backward *b = &f->m->backwards[i];
        cr_each_inside(f->m, &f->users, b, mark_inside, f);
        const cr_id stored[] = {b->delta, cr_in(f->g, b->scores, 0), cr_in(f->g, b->scores, 1),
                                cr_in(f->g, b->ddropped, 0), cr_in(f->g, b->ddropped, 1)};
        for (size_t j = 0; j < sizeof stored / sizeof *stored; j++)
            if (stored[j] != CR_NONE)
                store_viewed(f, stored[j]);
        for (int j = 0; j < cr_n_gradients(b); j++) {
            cr_id id = cr_gradient_at(b, j);
            if (!cr_is_own_node(b, j))
                continue;
            f->m->materialised[id] = true;
            f->with[id] = id == b->output ? CR_NONE : b->output;
        }
    }
}

/* True if the epilogue of another contraction computes the node. */
static bool is_claimed(const struct fusion *f, cr_id id)
{
    return f->owner[id] != CR_NONE;
}

/* True if an epilogue that ends in `from` may extend to `to`; fills in the region between. */
static bool may_extend(const struct fusion *f, cr_id from, cr_id to, struct cr_region *region)
{
    if (to == CR_NONE || !cr_find_region(f->m, &f->users, from, to, region))
        return false;
    for (int i = 0; i < region->n; i++)
        if (is_claimed(f, region->nodes[i]))
            return false;
    return true;
}

/* Claims the longest epilogue of a contraction, and returns its last node. */
static cr_id claim_epilogue(struct fusion *f, cr_id id)
{
    struct cr_region region = {.skips_gradients = false};
    cr_id end = id;
    f->owner[id] = id;
    while (!f->m->materialised[end] && may_extend(f, end, f->users.meet[end], &region)) {
        end = f->users.meet[end];
        for (int i = 0; i < region.n; i++)
            f->owner[region.nodes[i]] = id;
    }
    return end;
}

/* True if the only user is a stored concat: the value is then written directly into its part of
 * the concat. */
static bool goes_to_concat(const struct fusion *f, cr_id id)
{
    cr_id user = cr_only_user(&f->users, id);
    return user != CR_NONE && f->g->nodes[user].op == CR_OP_concat && f->m->materialised[user];
}

/* Returns a list by node: true for the scores of an attention.  The caller frees it. */
static bool *find_scores(const struct fusion *f)
{
    bool *scores = cr_calloc((size_t)f->g->n_nodes, sizeof *scores);
    for (int i = 0; i < f->m->n_attentions; i++)
        scores[f->m->attentions[i].scores] = true;
    return scores;
}

/* ---- rows of queries and keys ---- */

/* The nodes that elementwise work, moves, reductions and concats compute for rows, down to stored
 * nodes. */
struct rows {
    cr_id nodes[CR_MAX_VALUES];
    bool own[CR_MAX_VALUES]; /* it is a concat or a reduction of the rows, or depends on one */
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

/* Appends a node after its operands; returns true if it depends on a concat or a reduction of
 * the rows. */
static bool collect_rows(const struct fusion *f, struct rows *rows, cr_id id)
{
    enum cr_kind kind = cr_kind_of(f->g, id);
    bool joins = kind == CR_KIND_CONCAT && !is_leaf(f, id);
    bool reduces = kind == CR_KIND_REDUCE && !cr_goes_down(f->g, id);
    bool made = kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_MOVE || joins || reduces;
    bool own = joins || reduces;
    int known = find_row(rows, id);
    if (known >= 0)
        return rows->own[known];
    if (!made || (f->m->materialised[id] && !joins))
        return false;
    for (int i = 0; i < f->g->nodes[id].n_in; i++)
        own |= collect_rows(f, rows, cr_in(f->g, id, i));
    rows->too_many |= rows->n == CR_MAX_VALUES;
    if (rows->too_many)
        return false;
    rows->nodes[rows->n] = id;
    rows->own[rows->n++] = own;
    return own;
}

/* True if only the product and the rows themselves read the rows' own nodes. */
static bool are_for(const struct fusion *f, const struct rows *rows, cr_id product)
{
    for (int i = 0; i < rows->n; i++) {
        cr_id id = rows->nodes[i];
        if (!rows->own[i])
            continue;
        if (f->users.output[id])
            return false;
        for (int u = f->users.first[id]; u < f->users.first[id + 1]; u++)
            if (f->users.list[u] != product && find_row(rows, f->users.list[u]) < 0)
                return false;
    }
    return true;
}

/*
 * Lets an attention compute the rows of its queries or keys itself if nothing else reads them: a
 * rotation of halves (Su et al. 2021), whose concat is then not stored, or a norm of each head's
 * rows.
 */
static void compute_rows(struct fusion *f, cr_id scores, int operand)
{
    struct rows rows = {.n = 0};
    const struct cr_node *node = &f->g->nodes[scores];
    cr_id id = cr_in(f->g, scores, operand);
    if (!cr_computes_keys(node->shape[node->rank - 2], node->shape[node->rank - 1]) ||
        !collect_rows(f, &rows, id) || rows.too_many || !are_for(f, &rows, scores))
        return;
    for (int i = 0; i < rows.n; i++)
        f->m->materialised[rows.nodes[i]] = false;
    f->computed[id] = true;
}

static void compute_heads(struct fusion *f)
{
    for (int i = 0; i < f->m->n_attentions; i++)
        for (int operand = 0; operand < 2; operand++)
            compute_rows(f, f->m->attentions[i].scores, operand);
}

static void store_epilogues(struct fusion *f)
{
    bool *scores = find_scores(f);
    for (cr_id id = 0; id < f->g->n_nodes; id++) {
        if (f->g->nodes[id].op != CR_OP_matmul || scores[id] || f->inside[id] || is_claimed(f, id))
            continue;
        cr_id end = claim_epilogue(f, id);
        if (!goes_to_concat(f, end))
            f->m->materialised[end] = true;
    }
    free(scores);
}

/* True if moves exchange the last two axes of a node below. */
static bool is_transposed(const struct fusion *f, cr_id id)
{
    for (; cr_kind_of(f->g, id) == CR_KIND_MOVE; id = cr_in(f->g, id, 0)) {
        const struct cr_node *node = &f->g->nodes[id];
        if (node->op == CR_OP_permute && node->index[node->rank - 1] != node->rank - 1)
            return true;
    }
    return false;
}

/* Stores the node that an operand is a view of, unless an epilogue computes that node. */
static void store_operand(struct fusion *f, cr_id id)
{
    cr_id viewed = id;
    while (cr_kind_of(f->g, viewed) == CR_KIND_MOVE)
        viewed = cr_in(f->g, viewed, 0);
    if (!is_claimed(f, viewed))
        store_viewed(f, id);
}

/* True if a product reads its right operand from the panels of a stack of weights: the kernel's own rows
 * of a table that nothing stores. */
static bool is_chosen(const struct fusion *f, cr_id right)
{
    struct cr_stacked choice;
    return cr_find_choice(f->g, right, &choice) && !f->m->materialised[choice.gather];
}

/* Stores the operands that a matrix product packs at run time, so that other kernels can read them: the
 * right operand, unless it is a weight matrix or one of a stack of them, and a transposed left
 * operand. */
static void store_packed(struct fusion *f)
{
    bool *weights = cr_find_weights(f->g);
    for (cr_id id = 0; id < f->g->n_nodes; id++) {
        if (f->g->nodes[id].op != CR_OP_matmul || f->inside[id])
            continue;
        cr_id left = cr_in(f->g, id, 0), right = cr_in(f->g, id, 1);
        if (!weights[right] && !f->computed[right] && !is_chosen(f, right))
            store_operand(f, right);
        if (!weights[left] && !f->computed[left] && is_transposed(f, left))
            store_operand(f, left);
    }
    free(weights);
}

/* ---- what several kernels need ---- */

/* True if a node depends only on indices, as masks do: storing it never pays.  A view of a
 * stored node is not such a node, although it costs nothing. */
static bool is_index(const struct fusion *f, cr_id id)
{
    enum cr_kind kind = cr_kind_of(f->g, id);
    if (kind == CR_KIND_LEAF)
        return !f->g->nodes[id].name;
    for (int i = 0; i < f->g->nodes[id].n_in; i++)
        if (!f->index[cr_in(f->g, id, i)] || f->m->materialised[cr_in(f->g, id, i)])
            return false;
    return kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_MOVE;
}

/* True if a node gathers by an index that depends on indices alone, as biases by distance do. */
static bool is_lookup(const struct fusion *f, cr_id id)
{
    return f->g->nodes[id].op == CR_OP_gather && f->index[cr_in(f->g, id, 1)] &&
           !f->m->materialised[cr_in(f->g, id, 1)];
}

/* Returns the cost of a node's op relative to an addition.  A reduction or a product costs so much
 * that its result is stored if several kernels need it. */
static int own_cost(const struct fusion *f, cr_id id)
{
    const struct cr_op_info *info = &cr_ops[f->g->nodes[id].op];
    if (cr_is_joined(f->g, id))
        return 1;
    switch (info->kind) {
    case CR_KIND_ELEMENTWISE:
        if (f->g->nodes[id].op == CR_OP_fma)
            return 2;
        return info->rule == CR_RULE_FLOAT && f->g->nodes[id].op != CR_OP_div ? FUNCTION : 1;
    case CR_KIND_LEAF:
        return f->g->nodes[id].name ? 1 : 0;
    case CR_KIND_GATHER:
        return is_lookup(f, id) ? FUNCTION : 2 * CHEAP;
    case CR_KIND_MOVE:
        return 0;
    default:
        return 2 * CHEAP;
    }
}

/* True if a scalar is the sum of two scalars that each depend on a reduction.  The norm of all gradients is
 * a chain of such sums; stored one after another they are equal kernels, as layers are. */
static bool is_total(const struct fusion *f, cr_id id)
{
    const struct cr_node *node = &f->g->nodes[id];
    for (int i = 0; i < node->n_in; i++)
        if (cr_kind_of(f->g, cr_in(f->g, id, i)) == CR_KIND_ELEMENTWISE &&
            f->g->nodes[cr_in(f->g, id, i)].op != CR_OP_add)
            return false; /* such as the denominator of a softmax */
    return node->op == CR_OP_add && cr_elements(node->rank, node->shape) == 1 &&
           f->cost[cr_in(f->g, id, 0)] >= 2 * CHEAP && f->cost[cr_in(f->g, id, 1)] >= 2 * CHEAP;
}

/* True if a node broadcasts results of reductions: means, deviations, maxima. */
static bool repeats_reduction(const struct fusion *f, cr_id id)
{
    return f->g->nodes[id].op == CR_OP_expand && f->cost[cr_in(f->g, id, 0)] >= 2 * CHEAP;
}

/* Returns at most the node's cost, which is 0 for indices. */
static int spread_cost(const struct fusion *f, cr_id id)
{
    if (repeats_reduction(f, id))
        return 1;
    int sum = own_cost(f, id);
    for (int i = 0; i < f->g->nodes[id].n_in; i++)
        if (!f->m->materialised[cr_in(f->g, id, i)])
            sum += f->spread[cr_in(f->g, id, i)];
    return sum < f->cost[id] ? sum : f->cost[id];
}

/* Computes the cost of recomputing each node: its own cost and the costs of operands that are not stored.
 * Costs are bounded, since a subtree that several operands share is counted once for each. */
static void find_costs(struct fusion *f)
{
    for (cr_id id = 0; id < f->g->n_nodes; id++) {
        f->index[id] = is_index(f, id);
        f->cost[id] = f->index[id] ? 0 : own_cost(f, id);
        for (int i = 0; i < f->g->nodes[id].n_in; i++)
            if (!f->m->materialised[cr_in(f->g, id, i)])
                f->cost[id] += f->cost[cr_in(f->g, id, i)];
        if (f->cost[id] > 100 * CHEAP)
            f->cost[id] = 100 * CHEAP; /* shared subtrees count several times */
        f->spread[id] = spread_cost(f, id);
        if (is_total(f, id) && !f->inside[id])
            f->m->materialised[id] = true;
    }
}

/* Stores nodes whose path is too long for one kernel.  Runs last: paths that end at nodes stored
 * for other reasons are equally long in each layer, so that layers stay equal. */
static void store_deep(struct fusion *f)
{
    for (cr_id id = 0; id < f->g->n_nodes; id++) {
        for (int i = 0; i < f->g->nodes[id].n_in; i++) {
            cr_id in = cr_in(f->g, id, i);
            if (!f->m->materialised[in] && f->depth[id] <= f->depth[in])
                f->depth[id] = f->depth[in] + 1;
        }
        if (f->depth[id] >= DEEPEST && !f->inside[id])
            f->m->materialised[id] = true;
    }
}

/* Returns the node whose kernel computes `id` for its user. */
static cr_id needed_by(const struct fusion *f, cr_id id, cr_id user)
{
    if (f->g->nodes[user].op == CR_OP_concat && f->m->materialised[user] &&
        !cr_backward_at(f->m, user))
        return id; /* the kernel of a part of a concat computes only that part */
    if (f->with[user] != CR_NONE)
        return f->with[user];
    return f->m->materialised[user] ? user : f->owner[user];
}

/*
 * Handles a node that several kernels need and that is too expensive to recompute.  If most of the
 * cost is in a few numbers of a row, the mean and deviation of a norm, only those are stored, and
 * each kernel recomputes the row from them; else the node is stored.
 */
static void store_for_several(struct fusion *f, cr_id id)
{
    if (f->spread[id] <= CHEAP)
        f->by_row[id] = true;
    else
        f->m->materialised[id] = true;
}

static void store_row_numbers(struct fusion *f, cr_id id)
{
    for (int i = 0; i < f->g->nodes[id].n_in; i++)
        if (repeats_reduction(f, id))
            store_viewed(f, cr_in(f->g, id, i));
        else
            f->by_row[cr_in(f->g, id, i)] = true;
}

/* True if a node is a function such as exp that its users only broadcast, so often that recomputing
 * it for each copy is not cheap: rotary embeddings broadcast cosines to all heads. */
static bool is_repeated_function(const struct fusion *f, cr_id id)
{
    const struct cr_node *node = &f->g->nodes[id];
    if (cr_kind_of(f->g, id) != CR_KIND_ELEMENTWISE || own_cost(f, id) < FUNCTION)
        return false;
    int64_t elements = cr_elements(node->rank, node->shape), times = 0;
    for (int i = f->users.first[id]; i < f->users.first[id + 1]; i++) {
        const struct cr_node *user = &f->g->nodes[f->users.list[i]];
        if (user->op != CR_OP_expand)
            return false;
        times += cr_elements(user->rank, user->shape) / elements;
    }
    return elements > 1 && times * FUNCTION > CHEAP;
}

/* Finds owners from the outputs backwards: a node belongs to the kernel of its users if they have a
 * common one, else it may be stored.  Weights that are joined for several products lie in panels
 * already. */
static void find_owners(struct fusion *f)
{
    bool *weights = cr_find_weights(f->g);
    for (cr_id id = f->g->n_nodes - 1; id >= 0; id--) {
        cr_id owner = CR_NONE;
        for (int i = f->users.first[id]; i < f->users.first[id + 1]; i++) {
            cr_id need = needed_by(f, id, f->users.list[i]);
            owner = owner == CR_NONE || owner == need ? need : SEVERAL;
        }
        f->owner[id] = owner;
        bool lies = cr_kind_of(f->g, id) == CR_KIND_MOVE || weights[id];
        if (owner == SEVERAL && f->cost[id] > CHEAP && !lies && !is_leaf(f, id) && !f->inside[id])
            store_for_several(f, id);
        else if (owner == SEVERAL && is_repeated_function(f, id) && !f->inside[id])
            f->m->materialised[id] = true;
        if (f->by_row[id] && !f->m->materialised[id])
            store_row_numbers(f, id);
    }
    free(weights);
}

/* ---- kernels ---- */

/* True if another node's kernel also stores this one. */
static bool is_stored_with(const struct fusion *f, cr_id id)
{
    return f->with[id] != CR_NONE && cr_backward_at(f->m, f->with[id]);
}

/* True if one kernel computes a stored node; else each part of a concat or write has its own. */
static bool has_one_kernel(const struct fusion *f, cr_id id)
{
    if (f->g->nodes[id].op == CR_OP_write)
        return f->state[id] == cr_in(f->g, id, 0);
    return f->g->nodes[id].op != CR_OP_concat || cr_backward_at(f->m, id);
}

static int n_needs_of(const struct fusion *f, cr_id id)
{
    if (is_stored_with(f, id))
        return 0;
    if (has_one_kernel(f, id))
        return 1;
    return f->g->nodes[id].op == CR_OP_write ? 2 : f->g->nodes[id].n_in;
}

/* Returns the root of kernel i.  A write needs two kernels: the first copies the old value,
 * unless the write replaces a state in place; the second stores the rows. */
static cr_id need_root(const struct fusion *f, cr_id id, int i)
{
    bool itself = has_one_kernel(f, id) || (f->g->nodes[id].op == CR_OP_write && i == 1);
    return itself ? id : cr_in(f->g, id, i);
}

/* Appends the needs of a stored node. */
static void add_needs(struct fusion *f, cr_id id)
{
    int64_t start = 0;
    f->first_need[id] = f->n_needs;
    for (int i = 0; i < n_needs_of(f, id); i++) {
        cr_id root = need_root(f, id, i);
        *CR_PUSH(f->needs, f->n_needs, f->cap_needs) =
            (struct need){.goal = {.root = root, .buffer = id, .start = start}, .kernel = CR_NONE};
        if (f->g->nodes[id].op == CR_OP_concat)
            start += f->g->nodes[root].shape[f->g->nodes[id].axis];
    }
}

/* True if storing a node helps a kernel.  A kernel of an attention's gradients never loads the
 * nodes that it computes inside. */
static bool may_store(const struct fusion *f, const struct cr_goal *goal, cr_id obstacle)
{
    bool gradients = cr_backward_at(f->m, goal->root) && goal->root == goal->buffer;
    bool number = f->g->nodes[obstacle].op == CR_OP_const && !f->m->materialised[obstacle];
    bool leaf = is_leaf(f, obstacle) && !number;
    return obstacle != goal->buffer && !(gradients && (f->inside[obstacle] || leaf));
}

static void clear_node(struct fusion *f, cr_id id);

/* Returns a gather that a kernel computes element by element from a table whose format is not
 * f32; or CR_NONE. Once the gather is stored, a kernel reads whole rows.  So the graph alone,
 * not the choice of kernels, determines which parameters can have a format. */
static cr_id cut_table(const struct fusion *f, const struct cr_kernel *k)
{
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        for (int i = 0; i < tiles->n; i++) {
            const struct cr_value *v = &tiles->values[i];
            const struct cr_node *table = v->source == CR_GATHER ? &f->g->nodes[k->refs[v->ref]] : NULL;
            if (table && table->op == CR_OP_param && table->format != cr_format_of(CR_F32) &&
                !f->m->materialised[v->node] && !cr_gathers_rows(f->g, k, v->ref))
                return v->node;
        }
    return CR_NONE;
}

/* Makes a kernel, which replaces the one made when fewer nodes were stored.  Returns the
 * obstacle (see cr_lower); the kernel is then all zeros. */
static cr_id make_kernel(struct fusion *f, struct need *need)
{
    struct cr_module *m = f->m;
    if (need->kernel == CR_NONE) {
        *CR_PUSH(m->kernels, m->n_kernels, m->cap_kernels) = (struct cr_kernel){0};
        need->kernel = m->n_kernels - 1;
    }
    struct cr_kernel *kernel = &m->kernels[need->kernel];
    cr_kernel_free(kernel);
    cr_id obstacle = cr_lower(f->lowering, &need->goal, kernel);
    if (obstacle != CR_NONE)
        return obstacle;
    obstacle = cut_table(f, kernel);
    if (obstacle != CR_NONE) {
        cr_kernel_free(kernel);
        *kernel = (struct cr_kernel){0};
    }
    kernel->entry = f->g->nodes[need->goal.buffer].where.entry;
    return obstacle;
}

/* Returns the node to store for an obstacle: the obstacle itself, or the sum if the obstacle is
 * a product that is only used in a sum with a vector (a bias).  The product starts its
 * accumulators with the bias, so the sum has the same bits in any kernel. */
static cr_id with_bias(const struct fusion *f, const struct cr_goal *goal, cr_id obstacle)
{
    const struct cr_graph *g = f->g;
    cr_id user = cr_only_user(&f->users, obstacle);
    if (g->nodes[obstacle].op != CR_OP_matmul || user == CR_NONE || user == goal->buffer ||
        g->nodes[user].op != CR_OP_add)
        return obstacle;
    cr_id row = cr_in(g, user, cr_in(g, user, 0) == obstacle);
    while (g->nodes[row].op == CR_OP_expand || g->nodes[row].op == CR_OP_reshape)
        row = cr_in(g, row, 0);
    return g->nodes[row].rank == 1 && !f->m->materialised[user] ? user : obstacle;
}

/* Makes a kernel, and stores its obstacles until it succeeds; false if an obstacle cannot be
 * stored. */
static bool clear_need(struct fusion *f, int need)
{
    cr_id obstacle = make_kernel(f, &f->needs[need]);
    while (obstacle != CR_NONE) {
        obstacle = with_bias(f, &f->needs[need].goal, obstacle);
        if (!may_store(f, &f->needs[need].goal, obstacle))
            break;
        f->m->materialised[obstacle] = true;
        f->n_stored++;
        add_needs(f, obstacle);
        clear_node(f, obstacle);
        obstacle = make_kernel(f, &f->needs[need]);
    }
    return obstacle == CR_NONE;
}

/* Makes a kernel for each gradient of an attention, listed by its first node. */
static void divide_gradients(struct fusion *f, cr_id first)
{
    struct cr_attention_backward *b = f->m->backwards;
    while (b->output != first)
        b++;
    b->divided = true;
    for (cr_id id = 0; id < f->g->n_nodes; id++)
        if (id == first || f->with[id] == first) {
            add_needs(f, id);
            f->cleared[id] = 0;
        }
}

/* Makes all kernels of a stored node anew; none is older than the first.  If one kernel cannot
 * compute an attention's gradients, each gets its own. */
static void clear_node(struct fusion *f, cr_id id)
{
    if (is_stored_with(f, id)) {
        f->cleared[id] = f->n_stored;
        return;
    }
    bool made = has_one_kernel(f, id) && clear_need(f, f->first_need[id]);
    if (!made && cr_backward_at(f->m, id))
        divide_gradients(f, id);
    f->cleared[id] = f->n_stored;
    for (int i = 0; i < n_needs_of(f, id) && !made; i++) {
        clear_need(f, f->first_need[id] + i);
        if (i == 0)
            f->cleared[id] = f->n_stored;
    }
}

/* Reserves memory for the kernels of nodes stored so far, which are most. */
static void reserve_kernels(struct cr_module *m, int n)
{
    m->kernels = cr_calloc((size_t)n, sizeof *m->kernels);
    m->cap_kernels = n;
}

/* Stores nodes until no kernel has an obstacle.  Kernels that computed a node before it was stored
 * are made again, to read it. */
static void store_obstacles(struct fusion *f)
{
    for (cr_id id = 0; id < f->g->n_nodes; id++)
        if (f->m->materialised[id])
            add_needs(f, id);
    reserve_kernels(f->m, f->n_needs);
    for (bool all = false; !all;) {
        all = true;
        for (cr_id id = 0; id < f->g->n_nodes; id++) {
            if (!f->m->materialised[id] || f->cleared[id] == f->n_stored)
                continue;
            clear_node(f, id);
            all = false;
        }
    }
}

/* Removes the kernels that could not be made, and sorts the others by node.  Operands precede
 * their users, so this is an execution order.  The verifier checks that every stored node has
 * its kernels. */
static void order_kernels(struct cr_module *m)
{
    int n = 0;
    for (int i = 0; i < m->n_kernels; i++)
        if (m->kernels[i].n_stored)
            m->kernels[n++] = m->kernels[i];
    m->n_kernels = n;
    cr_sort_kernels(m);
}

/* Stores first the nodes that must be stored, then the nodes that are too expensive to recompute, and
 * then, while kernels are made, the nodes that a kernel cannot compute inside. */
void cr_pass_fuse(struct cr_module *module)
{
    size_t n = (size_t)module->graph->n_nodes;
    struct fusion f = {.m = module, .g = module->graph, .n_stored = 1};
    f.inside = cr_calloc(n, sizeof *f.inside);
    f.owner = cr_calloc(n, sizeof *f.owner);
    f.cost = cr_calloc(n, sizeof *f.cost);
    f.index = cr_calloc(n, sizeof *f.index);
    f.spread = cr_calloc(n, sizeof *f.spread);
    f.by_row = cr_calloc(n, sizeof *f.by_row);
    f.depth = cr_calloc(n, sizeof *f.depth);
    f.computed = cr_calloc(n, sizeof *f.computed);
    f.cleared = cr_calloc(n, sizeof *f.cleared);
    f.with = cr_calloc(n, sizeof *f.with);
    f.first_need = cr_calloc(n, sizeof *f.first_need);
    f.state = cr_calloc(n, sizeof *f.state);
    for (size_t i = 0; i < n; i++)
        f.owner[i] = f.state[i] = f.with[i] = CR_NONE;
    for (int i = 0; i < f.g->n_outputs; i++)
        f.state[f.g->outputs[i].id] = f.g->outputs[i].state;
    cr_users_find(&f.users, f.g);
    store_gradients(&f);
    store_obvious(&f);
    store_long_sums(&f);
    cr_find_attentions(module, &f.users);
    compute_heads(&f);
    store_epilogues(&f);
    store_packed(&f);
    find_costs(&f);
    find_owners(&f);
    store_deep(&f);
    f.lowering = cr_lowering_new(module);
    store_obstacles(&f);
    order_kernels(module);
    cr_lowering_free(f.lowering);
    cr_users_free(&f.users);
    free(f.inside);
    free(f.owner);
    free(f.cost);
    free(f.index);
    free(f.spread);
    free(f.by_row);
    free(f.depth);
    free(f.computed);
    free(f.cleared);
    free(f.with);
    free(f.needs);
    free(f.first_need);
    free(f.state);
}
