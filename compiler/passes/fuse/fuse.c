/*
 * fuse.c - what is stored, and so what is one kernel.
 *
 * A kernel stores its root and computes everything between the root and other stored
 * nodes on the way.  Chosen to be stored are
 *   - outputs, and results of concat and write;
 *   - for each contraction, the end of its epilogue: the last node that elementwise work
 *     on the product leads to, so bias, activation and residual cost no trip to memory;
 *   - what several kernels need, if computing it again costs more than a few operations; of a
 *     norm, just the numbers of a row that it takes; a function counts as often as it is repeated.
 * What remains between stored nodes - norms, masks, softmax - is computed on rows as
 * they are read.  Where one kernel cannot do that, as it would need two contractions, or too many
 * values or operands (lower.h), what stands in its way is stored, too.  What was lowered before is
 * lowered again then, until nothing more has to be stored.
 */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/attention/attention.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/tables.h"
#include "compiler/passes/weights/weights.h"
#include "fuse.h"
#include "lower.h"
#include "states.h"

enum {
    CHEAP = 12,   /* the cost up to which a value is computed again rather than stored */
    FUNCTION = 3, /* the cost of exp and its like; + and its like cost 1 */
    DEEPEST = 64, /* ops on a way through one kernel */
    LONG_SUM = 8, /* so many products or reductions can be kept to be added up at once */
};

/* A kernel that a stored node needs. */
struct need {
    struct cr_goal goal;
    int kernel; /* its place among the module's, which are in no order yet, or CR_NONE */
    bool made;
};

struct fusion {
    struct cr_module *m;
    struct cr_graph *g;
    struct cr_users users;
    struct cr_lowering *lowering;
    bool *inside; /* by node: the kernel of an attention's gradients computes it for itself */
    cr_id *owner; /* by node: the root whose kernel computes it, SEVERAL, or CR_NONE */
    int *cost;    /* by node: of computing it from stored nodes */
    bool *index;  /* by node: it depends on indices alone, as masks do */
    int *spread;  /* by node: the same, with what is repeated along rows stored, too */
    bool *by_row; /* by node: several kernels compute it, from such stored numbers of a row */
    int *depth;   /* by node: the longest way to it from stored nodes */
    bool *computed; /* by node: rows of queries or keys, which attention computes as it goes */
    bool *apart;  /* by node: a concat of an attention's gradients that one kernel cannot make */
    cr_id *with;  /* by node: the concat whose kernel stores this output, too, or CR_NONE */
    int *cleared; /* by node: its kernels were made when so many nodes were stored, or more */
    int n_stored; /* from 1 on */
    struct need *needs;
    int n_needs, cap_needs;
    int *first_need; /* by stored node; those of its kernels follow one another */
    cr_id *state;    /* by node: the state that it replaces, or CR_NONE */
};

enum { SEVERAL = -2 };

static bool is_leaf(const struct fusion *f, cr_id id)
{
    return cr_kind_of(f->g, id) == CR_KIND_LEAF || cr_is_joined(f->g, id);
}

/* ---- what is stored ---- */

/* The last of the reshapes that are all that follows a node; the node where a concat does. */
static cr_id last_reshape(const struct fusion *f, cr_id id)
{
    cr_id last = id, user = cr_only_user(&f->users, id);
    for (; user != CR_NONE && f->g->nodes[user].op == CR_OP_reshape;
         user = cr_only_user(&f->users, last))
        last = user;
    return user != CR_NONE && f->g->nodes[user].op == CR_OP_concat ? id : last;
}

/* But those without elements. */
static void store_outputs(struct fusion *f)
{
    for (int i = 0; i < f->g->n_outputs; i++)
        f->m->materialised[f->g->outputs[i].id] = !cr_is_empty(&f->g->nodes[f->g->outputs[i].id]);
}

/* What is scattered, summed up along an axis or reduced down its columns; concats, unless made of
 * weights, which are joined as they are loaded. */
static void store_obvious(struct fusion *f)
{
    bool *weights = cr_find_weights(f->g);
    for (cr_id id = 0; id < f->g->n_nodes; id++)
        if (!f->inside[id] && cr_goes_down(f->g, id))
            f->m->materialised[last_reshape(f, id)] = true;
        else if (((cr_kind_of(f->g, id) == CR_KIND_SCATTER ||
                   cr_kind_of(f->g, id) == CR_KIND_SCAN) &&
                  !f->inside[id]) ||
                 cr_kind_of(f->g, id) == CR_KIND_WRITE ||
                 (f->g->nodes[id].op == CR_OP_concat && !weights[id]))
            f->m->materialised[id] = true;
    free(weights);
}

/* What a sum is made of, if nothing else reads it: products, or reductions down columns, or rows that
 * are scattered. */
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
 * The gradient of a weight that many steps share is a sum of as many products, each as large as the
 * weight.  Each product is added to what is there as soon as it is made, so that none has to be kept
 * for the end, and the steps are kernels alike.
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

/* Stores what an operand of the kernel is a view of. */
static void store_viewed(struct fusion *f, cr_id id)
{
    while (!f->m->materialised[id] && cr_kind_of(f->g, id) == CR_KIND_MOVE)
        id = cr_in(f->g, id, 0);
    if (!is_leaf(f, id))
        f->m->materialised[id] = true;
}

/* The gradients of attentions: what goes into them is stored, and nothing between. */
static void find_backwards(struct fusion *f)
{
    cr_find_backwards(f->m, &f->users);
    for (int i = 0; i < f->m->n_backwards; i++) {
        const struct cr_attention_backward *b = &f->m->backwards[i];
        cr_each_inside(f->m, &f->users, b, mark_inside, f);
        const cr_id stored[] = {b->delta, cr_in(f->g, b->scores, 0), cr_in(f->g, b->scores, 1),
                                cr_in(f->g, b->ddropped, 0), cr_in(f->g, b->ddropped, 1)};
        for (size_t j = 0; j < sizeof stored / sizeof *stored; j++)
            if (stored[j] != CR_NONE)
                store_viewed(f, stored[j]);
        for (int j = 0; j < b->n_arrays; j++)
            if (b->arrays[j].apart)
                f->with[b->arrays[j].result] = b->output;
    }
}

/* Whether the node is computed by an epilogue that was given away already. */
static bool is_claimed(const struct fusion *f, cr_id id)
{
    return f->owner[id] != CR_NONE;
}

/* Whether a contraction's epilogue may go on from one node to a later one. */
static bool may_extend(const struct fusion *f, cr_id from, cr_id to, struct cr_region *region)
{
    if (to == CR_NONE || !cr_find_region(f->m, &f->users, from, to, region))
        return false;
    for (int i = 0; i < region->n; i++)
        if (is_claimed(f, region->nodes[i]))
            return false;
    return true;
}

/* Claims a contraction's epilogue, as far as it goes, and returns its last node. */
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

/* Whether the value's only use is as a part of a stored concat, where it can go directly. */
static bool goes_to_concat(const struct fusion *f, cr_id id)
{
    cr_id user = cr_only_user(&f->users, id);
    return user != CR_NONE && f->g->nodes[user].op == CR_OP_concat && f->m->materialised[user];
}

/* By node: whether it is the scores of an attention; the caller frees it. */
static bool *find_scores(const struct fusion *f)
{
    bool *scores = cr_calloc((size_t)f->g->n_nodes, sizeof *scores);
    for (int i = 0; i < f->m->n_attentions; i++)
        scores[f->m->attentions[i].scores] = true;
    return scores;
}

/* ---- rows of queries and keys ---- */

/* The nodes that rows are computed by: what leads to them from memory by elementwise work, moves,
 * reductions and concats. */
struct rows {
    cr_id nodes[CR_MAX_VALUES];
    bool own[CR_MAX_VALUES]; /* a concat or a reduction, or made of one: computed for the rows alone */
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

/* Enters a node behind those it is made of; true if it is the rows' own. */
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

static bool is_output(const struct fusion *f, cr_id id)
{
    for (int i = 0; i < f->g->n_outputs; i++)
        if (f->g->outputs[i].id == id)
            return true;
    return false;
}

/* True if nothing but the product reads what is the rows' own. */
static bool are_for(const struct fusion *f, const struct rows *rows, cr_id product)
{
    for (int i = 0; i < rows->n; i++) {
        cr_id id = rows->nodes[i];
        if (!rows->own[i])
            continue;
        if (is_output(f, id))
            return false;
        for (int u = f->users.first[id]; u < f->users.first[id + 1]; u++)
            if (f->users.list[u] != product && find_row(rows, f->users.list[u]) < 0)
                return false;
    }
    return true;
}

/*
 * An attention computes the rows of its queries and keys as it needs them, if nothing else reads them:
 * a rotation of halves (Su et al. 2021), whose concat is then not stored, or a norm of each head's
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

/* Whether the last two axes of what a node is a view of change places on the way. */
static bool is_transposed(const struct fusion *f, cr_id id)
{
    for (; cr_kind_of(f->g, id) == CR_KIND_MOVE; id = cr_in(f->g, id, 0)) {
        const struct cr_node *node = &f->g->nodes[id];
        if (node->op == CR_OP_permute && node->index[node->rank - 1] != node->rank - 1)
            return true;
    }
    return false;
}

/* Stores what an operand is a view of, unless a contraction's epilogue ends beyond it. */
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

/* What a product packs as it runs is stored for that: the right operand, unless it is made of
 * weights or is one of a stack of them, and a left one that lies transposed.  So others that need it can read it. */
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

/* Whether a node depends on indices alone, as masks do: those are never worth storing.  A view of
 * what is stored is no such node, although it costs nothing. */
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

/* Whether a node is looked up in a table by indices alone, as biases are by distance. */
static bool is_lookup(const struct fusion *f, cr_id id)
{
    return f->g->nodes[id].op == CR_OP_gather && f->index[cr_in(f->g, id, 1)] &&
           !f->m->materialised[cr_in(f->g, id, 1)];
}

/* Relative to an addition.  A reduction or a product costs so much that its result is stored where
 * several kernels need it. */
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

/* Whether a number is the sum of two that each take a reduction.  The norm of all gradients is a
 * chain of such sums: one after another they are kernels alike, as the layers are. */
static bool is_total(const struct fusion *f, cr_id id)
{
    const struct cr_node *node = &f->g->nodes[id];
    for (int i = 0; i < node->n_in; i++)
        if (cr_kind_of(f->g, cr_in(f->g, id, i)) == CR_KIND_ELEMENTWISE &&
            f->g->nodes[cr_in(f->g, id, i)].op != CR_OP_add)
            return false; /* a denominator, say, of one row */
    return node->op == CR_OP_add && cr_elements(node->rank, node->shape) == 1 &&
           f->cost[cr_in(f->g, id, 0)] >= 2 * CHEAP && f->cost[cr_in(f->g, id, 1)] >= 2 * CHEAP;
}

/* Whether a node repeats numbers that took reductions: means, deviations, maxima. */
static bool repeats_reduction(const struct fusion *f, cr_id id)
{
    return f->g->nodes[id].op == CR_OP_expand && f->cost[cr_in(f->g, id, 0)] >= 2 * CHEAP;
}

/* Never more than the cost, of which indices have none. */
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

/* Costs are sums over the operands that are not stored, so operands come first; they are bounded, since
 * a subtree that several operands share counts for each. */
static void find_costs(struct fusion *f)
{
    for (cr_id id = 0; id < f->g->n_nodes; id++) {
        f->index[id] = is_index(f, id);
        f->cost[id] = f->index[id] ? 0 : own_cost(f, id);
        for (int i = 0; i < f->g->nodes[id].n_in; i++)
            if (!f->m->materialised[cr_in(f->g, id, i)])
                f->cost[id] += f->cost[cr_in(f->g, id, i)];
        if (f->cost[id] > 100 * CHEAP)
            f->cost[id] = 100 * CHEAP; /* shared subtrees count again and again */
        f->spread[id] = spread_cost(f, id);
        if (is_total(f, id) && !f->inside[id])
            f->m->materialised[id] = true;
    }
}

/* Stores what lies too deep for one kernel.  Last of all: ways that end at what is stored for
 * other reasons are as long in each layer of a stack, so that layers stay alike. */
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

/* The kernel in which a user needs the node's value. */
static cr_id needed_by(const struct fusion *f, cr_id id, cr_id user)
{
    if (f->g->nodes[user].op == CR_OP_concat && f->m->materialised[user] &&
        !cr_backward_at(f->m, user))
        return id; /* a part of a concat is a kernel of its own */
    return f->m->materialised[user] ? user : f->owner[user];
}

/*
 * Several kernels need a node that is too much work to be done again.  Where most of that is
 * for the few numbers of a row, the mean and deviation of a norm, those are stored, and the row is
 * made of them again; else the node is.
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

/* Whether a node is a function, exp or its like, that its users only repeat, and so often that it would
 * not be cheap to compute it for each: as rotary embeddings do with cosines for all heads. */
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

/* From the outputs backwards: a node belongs to the kernel of its users, if there is one.  Weights
 * that are joined for several products, as of layers that share them, lie in panels already. */
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

/* True if another node's kernel stores this one. */
static bool is_stored_with(const struct fusion *f, cr_id id)
{
    return f->with[id] != CR_NONE && !f->apart[f->with[id]];
}

/* True if one kernel makes a stored node; else each part of a concat or a write has its own. */
static bool has_one_kernel(const struct fusion *f, cr_id id)
{
    if (f->g->nodes[id].op == CR_OP_write)
        return f->state[id] == cr_in(f->g, id, 0);
    return f->g->nodes[id].op != CR_OP_concat || (cr_backward_at(f->m, id) && !f->apart[id]);
}

static int n_needs_of(const struct fusion *f, cr_id id)
{
    if (is_stored_with(f, id))
        return 0;
    if (has_one_kernel(f, id))
        return 1;
    return f->g->nodes[id].op == CR_OP_write ? 2 : f->g->nodes[id].n_in;
}

/* Of a write: first what rows are written over, unless it is a state that the write replaces and
 * that holds it already; then the rows. */
static cr_id need_root(const struct fusion *f, cr_id id, int i)
{
    bool itself = has_one_kernel(f, id) || (f->g->nodes[id].op == CR_OP_write && i == 1);
    return itself ? id : cr_in(f->g, id, i);
}

/* The kernels of a stored node. */
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

/* Whether storing a node makes room for a kernel.  One that makes all of an attention's gradients
 * computes for itself what is inside. */
static bool may_store(const struct fusion *f, const struct cr_goal *goal, cr_id obstacle)
{
    bool gradients = cr_backward_at(f->m, goal->root) && goal->root == goal->buffer;
    bool number = f->g->nodes[obstacle].op == CR_OP_const && !f->m->materialised[obstacle];
    bool leaf = is_leaf(f, obstacle) && !number;
    return obstacle != goal->buffer && !(gradients && (f->inside[obstacle] || leaf));
}

static void clear_node(struct fusion *f, cr_id id);

/* A gather that a kernel computes from a table that is to be kept in another format than f32, but not
 * by whole rows, or CR_NONE.  Stored, it reads whole rows: which parameters are kept in a format is for
 * the graph to say, not for its kernels. */
static cr_id cut_table(const struct fusion *f, const struct cr_kernel *k)
{
    for (int p = 0; p < CR_PROGRAMS; p++)
        for (int i = 0; cr_parts_of(k)->programs[p].loops && i < k->programs[p].n; i++) {
            const struct cr_value *v = &k->programs[p].values[i];
            const struct cr_node *table = v->source == CR_GATHER ? &f->g->nodes[k->refs[v->ref]] : NULL;
            if (table && table->op == CR_OP_param && table->format != cr_format_of(CR_F32) &&
                !f->m->materialised[v->node] && !cr_gathers_rows(f->g, k, v->ref))
                return v->node;
        }
    return CR_NONE;
}

/* Makes a kernel, in the place of the one that was made for it when less was stored; see
 * cr_lower. */
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
    if (obstacle == CR_NONE)
        obstacle = cut_table(f, kernel);
    kernel->entry = f->g->nodes[need->goal.buffer].where.entry;
    need->made = obstacle == CR_NONE;
    return obstacle;
}

/* What is stored in place of an obstacle: of a product whose only use is that a vector is added to its
 * rows, the sum.  A kernel's product begins with that vector, so the sum has the same bits whatever
 * kernel makes it. */
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

/* Stores what stands in the way of a kernel, and makes it; false if something does that cannot be
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

/* The same for all kernels of a stored node: none is older than the first.  The gradients of an
 * attention that one kernel cannot make get a kernel each. */
static void clear_node(struct fusion *f, cr_id id)
{
    if (is_stored_with(f, id)) {
        f->cleared[id] = f->n_stored;
        return;
    }
    if (has_one_kernel(f, id) && !clear_need(f, f->first_need[id])) {
        f->apart[id] = true;
        add_needs(f, id);
        for (cr_id other = 0; other < f->g->n_nodes; other++)
            if (f->with[other] == id) {
                add_needs(f, other);
                f->cleared[other] = 0;
            }
    }
    f->cleared[id] = f->n_stored;
    for (int i = 0; i < n_needs_of(f, id) && !has_one_kernel(f, id); i++) {
        clear_need(f, f->first_need[id] + i);
        if (i == 0)
            f->cleared[id] = f->n_stored;
    }
}

/* Room for the kernels of what is stored already, which are most. */
static void reserve_kernels(struct cr_module *m, int n)
{
    m->kernels = cr_calloc((size_t)n, sizeof *m->kernels);
    m->cap_kernels = n;
}

/* Stores nodes until no kernel has an obstacle.  What is stored is read where it was computed
 * before, so that other kernels have to be made again. */
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

/* The places of the kernels that were made, by entry, then by stored node; returns how many there
 * are.  The places of others follow. */
static int list_kernels(const struct fusion *f, int *order)
{
    int n = 0;
    for (int entry = 0; entry < f->g->n_entries; entry++)
        for (cr_id id = 0; id < f->g->n_nodes; id++) {
            const struct need *needs = f->needs + f->first_need[id];
            bool stored = f->m->materialised[id] && f->g->nodes[id].where.entry == entry;
            for (int i = 0; stored && i < n_needs_of(f, id); i++)
                if (needs[i].made)
                    order[n++] = needs[i].kernel;
        }
    int rest = n;
    for (int i = 0; i < f->n_needs; i++)
        if (f->needs[i].kernel != CR_NONE && !f->needs[i].made)
            order[rest++] = f->needs[i].kernel;
    return n;
}

/* Puts the kernels in their order, in place: each cycle of the permutation is turned once. */
static void sort_kernels(struct fusion *f)
{
    struct cr_module *m = f->m;
    int *order = cr_calloc((size_t)m->n_kernels, sizeof *order), n = list_kernels(f, order);
    for (int i = 0; i < m->n_kernels; i++) {
        if (order[i] == i)
            continue;
        struct cr_kernel first = m->kernels[i];
        int at = i;
        while (order[at] != i) {
            int from = order[at];
            m->kernels[at] = m->kernels[from];
            order[at] = at;
            at = from;
        }
        m->kernels[at] = first;
        order[at] = at;
    }
    m->n_kernels = n;
    free(order);
}

/* Operands come before their users, so the order of nodes is an order of execution; but what
 * replaces a state may have to wait.  That every stored node has its kernels is verified after the
 * pass. */
static void order_kernels(struct fusion *f)
{
    struct cr_module *m = f->m;
    sort_kernels(f);
    if (f->g->n_replaced)
        cr_settle_states(m);
    for (int i = 0; i < m->n_kernels; i++)
        f->g->nodes[m->kernels[i].buffer].kernel = i;
}

/* First what is stored for sure, then what costs too much to be computed again, then what stands in
 * the way of one kernel for each, as kernels are made. */
void cr_pass_fuse(struct cr_module *module)
{
    size_t n = (size_t)module->graph->n_nodes;
    struct fusion f = {.m = module, .g = module->graph, .n_stored = 1};
    module->materialised = cr_calloc(n, sizeof *module->materialised);
    f.inside = cr_calloc(n, sizeof *f.inside);
    f.owner = cr_calloc(n, sizeof *f.owner);
    f.cost = cr_calloc(n, sizeof *f.cost);
    f.index = cr_calloc(n, sizeof *f.index);
    f.spread = cr_calloc(n, sizeof *f.spread);
    f.by_row = cr_calloc(n, sizeof *f.by_row);
    f.depth = cr_calloc(n, sizeof *f.depth);
    f.computed = cr_calloc(n, sizeof *f.computed);
    f.apart = cr_calloc(n, sizeof *f.apart);
    f.cleared = cr_calloc(n, sizeof *f.cleared);
    f.with = cr_calloc(n, sizeof *f.with);
    f.first_need = cr_calloc(n, sizeof *f.first_need);
    f.state = cr_calloc(n, sizeof *f.state);
    for (size_t i = 0; i < n; i++)
        f.owner[i] = f.state[i] = f.with[i] = CR_NONE;
    for (int i = 0; i < f.g->n_outputs; i++)
        f.state[f.g->outputs[i].id] = f.g->outputs[i].state;
    cr_users_find(&f.users, f.g);
    store_outputs(&f);
    find_backwards(&f);
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
    order_kernels(&f);
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
    free(f.apart);
    free(f.cleared);
    free(f.with);
    free(f.needs);
    free(f.first_need);
    free(f.state);
}
