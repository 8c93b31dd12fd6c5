/*
 * share_states.c - cuts the update of a training step for several ranks.  Each rank computes its rows of the next
 * parameters and states, and of shared states it has only these rows.
 *
 * The update of SGD or AdamW is elementwise: row i of the next value depends on row i of the parameter, of the gradient
 * and of the states, and on scalars such as the norm of all gradients.  A state is shared if its next value and all its
 * readers are elementwise, and a sum of gradients if all its readers are.  Other states and sums are whole on all
 * ranks.
 *
 *   find_needs   from the outputs: finds the nodes that are needed whole, and those of which a rank needs
 *                its rows
 *   build        builds the new graph
 *
 * The pass runs after all passes that choose arithmetic by the readers of a value.  So the bits are those of a single
 * process.
 */
#include "share_states.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/rewrite/rewrite.h"
#include "compiler/passes/rewrite/users.h"
#include "runtime/ranks.h"
#include "shard.h"

enum { LEAST_ELEMENTS = 1024 }; /* smaller tensors are not worth an exchange between ranks */

/* How a node is needed, as bits: whole, or only this rank's rows. */
enum { WHOLE = 1, SHARE = 2 };

struct sharing {
    struct cr_rewrite rw;
    const struct cr_graph *g;
    struct cr_users users;
    int rank, ranks;
    cr_id *target;       /* by output: the parameter or input whose rows it replaces on this rank,
                            or CR_NONE */
    bool *is_shared;     /* by input: true if a rank has only its rows */
    bool *is_replaced;   /* by parameter and input: true if an output of the update is its next
                            value */
    unsigned char *need; /* by node: WHOLE and SHARE */
    cr_id *share;        /* by node: the node with this rank's rows in the new graph, or CR_NONE */
};

/* Returns the axis whose indices ranks share out as rows, the first of more than one element;
 * CR_NONE if there is none. */
static int shared_axis(int rank, const int64_t *shape)
{
    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] > 1)
            return axis;
    return CR_NONE;
}

static int64_t rows_of(int rank, const int64_t *shape)
{
    int axis = shared_axis(rank, shape);
    return axis == CR_NONE ? 1 : shape[axis];
}

/* Returns the number of rows in a rank's share. */
static int64_t share_rows(int rank, const int64_t *shape, int ranks)
{
    return (rows_of(rank, shape) + ranks - 1) / ranks;
}

int64_t cr_share_elements(int rank, const int64_t *shape, int ranks)
{
    return share_rows(rank, shape, ranks) * (cr_elements(rank, shape) / rows_of(rank, shape));
}

int64_t cr_share_begin(int rank, const int64_t *shape, int of_rank, int ranks)
{
    int64_t begin = of_rank * cr_share_elements(rank, shape, ranks);
    int64_t last = cr_elements(rank, shape) - cr_share_elements(rank, shape, ranks);
    return begin < last ? begin : last;
}

int64_t cr_owned_begin(int rank, const int64_t *shape, int of_rank, int ranks)
{
    int64_t begin = of_rank * cr_share_elements(rank, shape, ranks), end = cr_elements(rank, shape);
    return begin < end ? begin : end;
}

bool cr_is_worth_sharing(int rank, const int64_t *shape, int ranks)
{
    return rows_of(rank, shape) >= ranks && cr_elements(rank, shape) >= LEAST_ELEMENTS;
}

/* Returns the first row of this rank's share. */
static int64_t first_row(const struct sharing *s, const struct cr_node *node)
{
    return cr_share_begin(node->rank, node->shape, s->rank, s->ranks) /
           (cr_elements(node->rank, node->shape) / rows_of(node->rank, node->shape));
}

static int64_t own_rows(const struct sharing *s, const struct cr_node *node)
{
    return share_rows(node->rank, node->shape, s->ranks);
}

/* ---- shared tensors ---- */

/* True for a tensor without lengths that is worth sharing (cr_is_worth_sharing). */
static bool is_worth_sharing(const struct sharing *s, const struct cr_node *node)
{
    static const signed char no_lengths[CR_MAX_RANK];
    return cr_is_worth_sharing(node->rank, node->shape, s->ranks) &&
           memcmp(node->lengths, no_lengths, sizeof no_lengths) == 0;
}

static bool is_leaf(const struct cr_node *node)
{
    return node->op == CR_OP_param || node->op == CR_OP_input;
}

/* The parameters and inputs of a graph, and their names. */
struct leaves {
    struct cr_names names;
    cr_id *id;
};

static struct leaves list_leaves(const struct cr_graph *g)
{
    struct leaves leaves = {.id = cr_calloc((size_t)g->n_nodes, sizeof *leaves.id)};
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (!is_leaf(&g->nodes[id]))
            continue;
        cr_names_add(&leaves.names, g->nodes[id].name);
        leaves.id[n++] = id;
    }
    return leaves;
}

/* Returns `replaced`, the parameter or input that output i of the update replaces, if the ranks can
 * share them; otherwise CR_NONE. */
static cr_id find_target(const struct sharing *s, cr_id replaced, int i)
{
    const struct cr_output *o = &s->g->outputs[i];
    const struct cr_node *value = &s->g->nodes[o->id], *node = &s->g->nodes[replaced];
    if (o->state != CR_NONE || cr_kind_of(s->g, o->id) != CR_KIND_ELEMENTWISE || !is_worth_sharing(s, value))
        return CR_NONE;
    return cr_same_sizes(node, value) && node->dtype == value->dtype ? replaced : CR_NONE;
}

/* Sets is_replaced, and `target` of outputs that ranks can share. */
static void find_targets(struct sharing *s, const char *update)
{
    int entry = cr_find_entry(s->g, update);
    struct leaves leaves = list_leaves(s->g);
    for (int i = 0; i < s->g->n_outputs; i++) {
        int leaf = s->g->outputs[i].entry == entry ? cr_names_find(&leaves.names, s->g->outputs[i].name) : CR_NONE;
        if (leaf != CR_NONE)
            s->is_replaced[leaves.id[leaf]] = true;
        s->target[i] = leaf == CR_NONE ? CR_NONE : find_target(s, leaves.id[leaf], i);
    }
    cr_names_free(&leaves.names);
    free(leaves.id);
}

/* ---- needs of nodes ---- */

/* True if an expand keeps the shared axis of its operand, so that a share of the result needs only
 * a share of the operand. */
static bool keeps_axis(const struct cr_graph *g, cr_id expand)
{
    const struct cr_node *node = &g->nodes[expand], *in = &g->nodes[cr_in(g, expand, 0)];
    int axis = shared_axis(node->rank, node->shape), below = axis - (node->rank - in->rank);
    return below >= 0 && in->shape[below] == node->shape[axis];
}

/* True if a rank's rows of a node can be computed from the same rows of its operands, or from
 * operands of one row. */
static bool is_row_by_row(const struct cr_graph *g, cr_id id)
{
    enum cr_op op = g->nodes[id].op;
    return cr_kind_of(g, id) == CR_KIND_ELEMENTWISE || op == CR_OP_expand || op == CR_OP_const ||
           is_leaf(&g->nodes[id]);
}

/* Adds the need of a node to its operands.  A node for which is_row_by_row is false is needed
 * whole. */
static void ask_operands(struct sharing *s, cr_id id)
{
    if (s->need[id] & SHARE && !is_row_by_row(s->g, id))
        s->need[id] |= WHOLE;
    bool shares = s->g->nodes[id].op != CR_OP_expand || keeps_axis(s->g, id);
    for (int i = 0; i < s->g->nodes[id].n_in; i++) {
        unsigned char *need = &s->need[cr_in(s->g, id, i)];
        if (s->need[id] & WHOLE)
            *need |= WHOLE;
        if (s->need[id] & SHARE && is_row_by_row(s->g, id))
            *need |= shares ? SHARE : WHOLE;
    }
}

/* Stops sharing outputs that are needed whole anyway, or whose state is read whole.  Returns true
 * if there was one. */
static bool unshare_whole(struct sharing *s)
{
    bool dropped = false;
    for (int i = 0; i < s->g->n_outputs; i++) {
        cr_id target = s->target[i];
        if (target == CR_NONE)
            continue;
        bool reads_whole = s->g->nodes[target].op == CR_OP_input && s->need[target] & WHOLE;
        if (!reads_whole && !(s->need[s->g->outputs[i].id] & WHOLE))
            continue;
        s->target[i] = CR_NONE;
        dropped = true;
    }
    return dropped;
}

/* True for an input of the update of which a rank needs only its rows, and that is not replaced: a
 * sum of gradients. */
static bool is_shared_sum(const struct sharing *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    return node->op == CR_OP_input && !s->is_replaced[id] && s->need[id] == SHARE && is_worth_sharing(s, node);
}

/* Finds how each node is needed, repeatedly, until no shared node is needed whole. */
static void find_needs(struct sharing *s)
{
    do {
        memset(s->need, 0, (size_t)s->g->n_nodes);
        for (int i = 0; i < s->g->n_outputs; i++)
            s->need[s->g->outputs[i].id] |= s->target[i] == CR_NONE ? WHOLE : SHARE;
        for (cr_id id = s->g->n_nodes - 1; id >= 0; id--)
            ask_operands(s, id);
    } while (unshare_whole(s));
    for (int i = 0; i < s->g->n_outputs; i++)
        if (s->target[i] != CR_NONE && s->g->nodes[s->target[i]].op == CR_OP_input)
            s->is_shared[s->target[i]] = true;
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        s->is_shared[id] |= is_shared_sum(s, id);
}

/* ---- the new graph ---- */

/* True if this rank's rows of a parameter get a layout of their own in the weights: all other
 * readers of the parameter are products, which read it from panels. */
static bool has_own_layout(const struct sharing *s, cr_id param)
{
    bool panels = s->g->nodes[param].rank == 2 && !s->users.output[param];
    for (int i = s->users.first[param]; i < s->users.first[param + 1] && panels; i++) {
        cr_id user = s->users.list[i];
        enum cr_kind kind = cr_kind_of(s->g, user);
        panels = s->need[user] == SHARE || kind == CR_KIND_CONTRACT || kind == CR_KIND_MOVE;
    }
    return panels;
}

/* Adds the slice of a whole node that has this rank's rows. */
static cr_id add_slice(struct sharing *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    int axis = shared_axis(node->rank, node->shape);
    struct cr_attr attr = {.rank = node->rank};
    memcpy(attr.shape, node->shape, (size_t)node->rank * sizeof *attr.shape);
    attr.part = node->op == CR_OP_param && has_own_layout(s, id);
    attr.index[axis] = first_row(s, node);
    attr.shape[axis] = own_rows(s, node);
    return cr_rewrite_add(&s->rw, CR_OP_slice, 1, &s->rw.map[id], &attr);
}

/* Returns the node with this rank's rows of node `id`; adds a slice if there is none.  A slice of a
 * parameter or an input is added for its first reader, and belongs to the reader's entry; but a
 * slice with a layout of its own belongs to no entry. */
static cr_id share_of(struct sharing *s, cr_id id)
{
    if (s->share[id] == CR_NONE)
        s->share[id] = add_slice(s, id);
    return s->share[id];
}

/* Adds a node that computes this rank's rows of node `id`. */
static cr_id add_share(struct sharing *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct cr_attr attr = cr_attr_of(node);
    cr_id *in = cr_calloc((size_t)node->n_in + 1, sizeof *in);
    bool shares = node->op != CR_OP_expand || keeps_axis(s->g, id);
    attr.shape[shared_axis(node->rank, node->shape)] = own_rows(s, node);
    for (int i = 0; i < node->n_in; i++)
        in[i] = shares ? share_of(s, cr_in(s->g, id, i)) : s->rw.map[cr_in(s->g, id, i)];
    cr_id share = cr_rewrite_add(&s->rw, node->op, node->n_in, in, &attr);
    free(in);
    return share;
}

/* Adds node `id` as it is needed: whole, as this rank's rows, or both.  A shared input becomes an
 * input that has only this rank's rows. */
static void build_node(struct sharing *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    cr_rewrite_at(&s->rw, id);
    if (s->is_shared[id]) {
        struct cr_attr attr = cr_attr_of(node);
        attr.shape[shared_axis(node->rank, node->shape)] = own_rows(s, node);
        s->share[id] = cr_rewrite_replace(&s->rw, id, CR_OP_input, 0, NULL, &attr);
        return;
    }
    if (s->need[id] & WHOLE || cr_is_interface(node))
        cr_rewrite_copy(&s->rw, id);
    if (s->need[id] & SHARE && is_row_by_row(s->g, id) && !is_leaf(node))
        s->share[id] = add_share(s, id);
}

static void build(struct sharing *s, struct cr_module *module)
{
    static const struct cr_rewrite_rules no_rules = {0}; /* rules might choose other arithmetic */
    cr_rewrite_begin(&s->rw, module->graph, &no_rules);
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        if (s->rw.live[id])
            build_node(s, id);
    for (int i = 0; i < s->g->n_outputs; i++)
        if (s->target[i] != CR_NONE)
            s->rw.map[s->g->outputs[i].id] = s->share[s->g->outputs[i].id];
    module->graph = cr_rewrite_end(&s->rw);
}

/* ---- the pass ---- */

/* Decides what ranks share of the update, and builds the graph of one rank. */
void cr_pass_share_states(struct cr_module *module)
{
    struct sharing s = {
        .g = module->graph, .rank = module->settings.rank, .ranks = module->settings.ranks};
    if (!module->settings.update || s.ranks < 2)
        return;
    size_t nodes = (size_t)s.g->n_nodes;
    s.target = cr_calloc((size_t)s.g->n_outputs, sizeof *s.target);
    s.is_shared = cr_calloc(nodes, sizeof *s.is_shared);
    s.is_replaced = cr_calloc(nodes, sizeof *s.is_replaced);
    s.need = cr_calloc(nodes, sizeof *s.need);
    s.share = cr_calloc(nodes, sizeof *s.share);
    for (size_t i = 0; i < nodes; i++)
        s.share[i] = CR_NONE;
    cr_users_list(&s.users, s.g);
    find_targets(&s, module->settings.update);
    find_needs(&s);
    build(&s, module);
    cr_users_free(&s.users);
    free(s.target);
    free(s.is_shared);
    free(s.is_replaced);
    free(s.need);
    free(s.share);
}
