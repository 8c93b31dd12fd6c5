/* Infers the named sizes of a graph's nodes from the sizes of inputs, states and parameters, by
 * the rules of the ops.  Where an op splits an axis, the parts get their names from a node of the
 * script's graph that has the shape of the result. */
#include <stdlib.h>
#include <string.h>

#include "axes.h"
#include "compiler/ir/mem.h"
#include "named_sizes.h"

/* The node whose named sizes are being inferred, and the sizes inferred for all nodes. */
struct finder {
    const struct cr_graph *g;
    struct cr_named_sizes *sizes;
    const struct cr_node *node;
    const cr_id *in;
    int (*all)[CR_MAX_RANK];
    int *found; /* by axis: the node's sizes; zeros at first */
    int visits; /* nodes that find_part visited; it stops at MAX_VISITS */
    int share[CR_MAX_RANK]; /* the result of known_of_share */
};

enum { MAX_VISITS = 64 };

/* Returns the named size that two operands give to one axis: the known one, or of two different
 * ones the one with a name; 0 if both have names. */
static int meet(const struct finder *f, int a, int b)
{
    if (a == b || !b)
        return a;
    if (!a)
        return b;
    bool named = cr_is_named(f->sizes, a);
    return named == cr_is_named(f->sizes, b) ? 0 : named ? a : b;
}

/* Returns the sizes that all nodes of the script's graph with this node's shape have, or null. */
static const int *known_of_shape(const struct finder *f)
{
    for (int i = 0; i < f->sizes->n_facts; i++) {
        const struct cr_size_fact *fact = &f->sizes->facts[i];
        if (!fact->name && !fact->ambiguous && fact->rank == f->node->rank &&
            memcmp(fact->shape, f->node->shape, sizeof fact->shape) == 0)
            return fact->sizes;
    }
    return NULL;
}

/* Returns the size RANKS, or 0 if the model is not cut for ranks. */
static int size_of_ranks(const struct finder *f)
{
    return f->sizes->ranks_name ? cr_size_of_name(f->sizes, f->sizes->ranks_name) : 0;
}

/* Returns the axis along which the node is one rank's even share of a tensor of the fact's shape,
 * all other axes being equal; CR_NONE if there is no such axis. */
static int shared_axis(const struct finder *f, const struct cr_size_fact *fact, int64_t ranks)
{
    int axis = CR_NONE;
    if (fact->name || fact->ambiguous || fact->rank != f->node->rank)
        return CR_NONE;
    for (int a = 0; a < fact->rank; a++) {
        if (fact->shape[a] == f->node->shape[a])
            continue;
        if (axis != CR_NONE || fact->shape[a] != f->node->shape[a] * ranks)
            return CR_NONE;
        axis = a;
    }
    return axis;
}

/* Returns the sizes of nodes of the script's graph of which this node is one rank's even share
 * along an axis.  Returns null if there are no such nodes, or if their sizes disagree. */
static const int *known_of_share(struct finder *f)
{
    const int ranks = size_of_ranks(f);
    bool found = false;
    for (int i = 0; ranks && i < f->sizes->n_facts; i++) {
        const struct cr_size_fact *fact = &f->sizes->facts[i];
        int axis = shared_axis(f, fact, f->sizes->sizes[ranks - 1].value), sizes[CR_MAX_RANK];
        if (axis == CR_NONE)
            continue;
        memcpy(sizes, fact->sizes, sizeof sizes);
        sizes[axis] = cr_size_quotient(f->sizes, sizes[axis], ranks);
        if (found && memcmp(sizes, f->share, sizeof sizes) != 0)
            return NULL;
        memcpy(f->share, sizes, sizeof sizes);
        found = true;
    }
    return found ? f->share : NULL;
}

/* Infers a node by its shape alone, for ops whose result's shape does not follow from their
 * operands' shapes. */
static void find_by_shape(struct finder *f)
{
    const int *known = known_of_shape(f);
    if (known)
        memcpy(f->found, known, CR_MAX_RANK * sizeof *known);
}

/* Infers an input, a state or a parameter by its name, any other leaf by its shape. */
static void find_leaf(struct finder *f)
{
    if (!cr_is_interface(f->node))
        find_by_shape(f);
    for (int i = 0; cr_is_interface(f->node) && i < f->sizes->n_facts; i++) {
        const struct cr_size_fact *fact = &f->sizes->facts[i];
        if (fact->name && strcmp(fact->name, f->node->name) == 0 && fact->rank == f->node->rank &&
            memcmp(fact->shape, f->node->shape, sizeof fact->shape) == 0)
            memcpy(f->found, fact->sizes, sizeof fact->sizes);
    }
}

/* True if operand i has a named size along this axis. */
static bool names_axis(const struct finder *f, int i, int axis)
{
    return cr_is_named(f->sizes, f->all[f->in[i]][axis]);
}

/* True if an axis of size 1 has a name in one operand, while another operand has a name on a
 * different axis of size 1.  Views may move such an axis, so neither name is proven. */
static bool is_moved(const struct finder *f, int axis)
{
    const int64_t *shape = f->node->shape;
    for (int other = 0; other < f->node->rank; other++)
        for (int i = 0; shape[axis] == 1 && shape[other] == 1 && i < f->node->n_in; i++)
            for (int j = 0; names_axis(f, i, axis) && !names_axis(f, i, other) && j < f->node->n_in; j++)
                if (names_axis(f, j, other) && !names_axis(f, j, axis))
                    return true;
    return false;
}

/* Infers each axis of the result from the axes of operands that correspond to it. */
static void find_meeting(struct finder *f)
{
    for (int i = 0; i < f->node->n_in; i++)
        for (int a = 0; a < f->node->rank; a++) {
            int from = cr_axis_in_operand(f->node, i, &f->g->nodes[f->in[i]], a);
            if (from != CR_NONE)
                f->found[a] = meet(f, f->found[a], f->all[f->in[i]][from]);
        }
}

/* Infers an elementwise op or a concat: axis a of the result is axis a of each operand. */
static void find_aligned(struct finder *f)
{
    find_meeting(f);
    for (int a = 0; a < f->node->rank; a++)
        if (f->node->shape[a] == 1 && is_moved(f, a))
            f->found[a] = 0;
}

/* Infers a concat.  Along its axis, the size is n times the operands' size if n operands have one
 * size, else the sum of their sizes. */
static void find_concat(struct finder *f)
{
    int axis = f->node->axis, n = f->node->n_in, *parts = cr_calloc((size_t)n, sizeof *parts);
    bool same = true;
    find_aligned(f);
    for (int i = 0; i < n; i++) {
        parts[i] = f->all[f->in[i]][axis];
        same &= parts[i] == parts[0];
    }
    f->found[axis] = same ? cr_size_product(f->sizes, parts[0], cr_plain_size(f->sizes, n))
                          : cr_size_sum(f->sizes, parts, n, 0);
    free(parts);
}

/* Returns the product of the sizes of axes begin .. end - 1. */
static int product(const struct finder *f, const int *sizes, int begin, int end)
{
    int all = cr_plain_size(f->sizes, 1);
    for (int a = begin; a < end; a++)
        all = cr_size_product(f->sizes, all, sizes[a]);
    return all;
}

/* Infers axes a .. a_end - 1 of a reshape's result, which have the same elements as axes b ..
 * b_end - 1 of its operand. */
static void find_group(struct finder *f, int a, int a_end, int b, int b_end)
{
    const int *from = f->all[f->in[0]], *known = known_of_shape(f);
    int size = product(f, from, b, b_end);
    if (!known || product(f, known, a, a_end) != size)
        known = known_of_share(f);
    if (a_end - a == 1)
        f->found[a] = size;
    else if (known && size && product(f, known, a, a_end) == size)
        memcpy(f->found + a, known + a, (size_t)(a_end - a) * sizeof *known);
}

/* Infers a reshape: splits the axes of result and operand into the smallest groups that have
 * equally many elements. */
static void find_reshape(struct finder *f)
{
    const struct cr_node *in = &f->g->nodes[f->in[0]], *node = f->node;
    if (cr_elements(node->rank, node->shape) == 0)
        return;
    for (int a = 0, b = 0; a < node->rank || b < in->rank;) {
        int a_end = a, b_end = b;
        int64_t size = 1, from = 1;
        do {
            if (a_end < node->rank && (size <= from || b_end == in->rank))
                size *= node->shape[a_end++];
            else
                from *= in->shape[b_end++];
        } while (size != from);
        if (a_end > a && b_end == b && b < in->rank && in->shape[b] == node->shape[a])
            b_end++; /* an axis of size 1 is a group of its own */
        find_group(f, a, a_end, b, b_end);
        a = a_end;
        b = b_end;
    }
}

/* Returns the named size of elements first .. first + n - 1 of a node's axis if they are the even
 * share of one rank; else 0. */
static int part_of_rank(const struct finder *f, cr_id id, int axis, int64_t first, int64_t n)
{
    const int ranks = size_of_ranks(f);
    if (!ranks || n < 1 || first % n || f->g->nodes[id].shape[axis] != n * f->sizes->sizes[ranks - 1].value)
        return 0;
    return cr_size_quotient(f->sizes, f->all[id][axis], ranks);
}

/* Returns the named size of elements first .. first + n - 1 of a node's axis.  Searches the
 * operands for a concat along that axis that has these elements as one operand, or as one rank's
 * share of an operand; returns 0 if there is no such concat. */
static int find_part(struct finder *f, cr_id id, int axis, int64_t first, int64_t n)
{
    const struct cr_node *node = &f->g->nodes[id];
    enum cr_kind kind = cr_kind_of(f->g, id);
    if (f->visits++ >= MAX_VISITS)
        return 0;
    if (kind == CR_KIND_CONTRACT)
        return find_part(f, cr_in(f->g, id, axis == node->rank - 1), axis, first, n);
    if (node->op == CR_OP_expand) {
        cr_id in = cr_in(f->g, id, 0);
        int at = axis - (node->rank - f->g->nodes[in].rank);
        return at >= 0 && f->g->nodes[in].shape[at] > 1 ? find_part(f, in, at, first, n) : 0;
    }
    int size = 0;
    for (int i = 0; i < node->n_in && kind == CR_KIND_ELEMENTWISE && !size && f->visits < MAX_VISITS;
         i++)
        size = find_part(f, cr_in(f->g, id, i), axis, first, n);
    for (int i = 0; i < node->n_in && kind == CR_KIND_CONCAT && node->axis == axis; i++) {
        int64_t part = f->g->nodes[cr_in(f->g, id, i)].shape[axis];
        if (first == 0 && part == n)
            return f->all[cr_in(f->g, id, i)][axis];
        if (first >= 0 && first < part)
            return part_of_rank(f, cr_in(f->g, id, i), axis, first, n);
        first -= part;
    }
    return size;
}

/* True if a node is an input, a state or a parameter, possibly permuted. */
static bool is_of_caller(const struct cr_graph *g, cr_id id)
{
    while (g->nodes[id].op == CR_OP_permute)
        id = cr_in(g, id, 0);
    return cr_is_interface(&g->nodes[id]);
}

/* Returns the named size of n elements of the operand's axis if they are one rank's share of an
 * even part of it: of queries, keys and values of N_EMBD columns each, a rank's share of the
 * queries has N_EMBD / RANKS.  Returns 0 if they are not. */
static int find_share(const struct finder *f, int axis, int64_t n)
{
    const int ranks = size_of_ranks(f);
    const struct cr_node *whole = &f->g->nodes[f->in[0]];
    int64_t parts = n ? whole->shape[axis] / n : 0;
    if (!ranks || parts * n != whole->shape[axis])
        return 0;
    int64_t count = f->sizes->sizes[ranks - 1].value;
    int part = parts % count ? 0
                             : cr_size_quotient(f->sizes, f->all[f->in[0]][axis],
                                                cr_plain_size(f->sizes, parts / count));
    return cr_size_quotient(f->sizes, part, ranks);
}

/* Infers the axes that a slice cuts: from the part of a concat that it selects, or from the
 * script's nodes of its shape, if all of them agree. */
static void find_slice(struct finder *f)
{
    const int *known = known_of_shape(f), *from = f->all[f->in[0]];
    const int64_t *whole = f->g->nodes[f->in[0]].shape;
    bool agrees = known != NULL;
    for (int a = 0; a < f->node->rank; a++) {
        f->found[a] = whole[a] == f->node->shape[a]
                          ? from[a]
                          : find_part(f, f->in[0], a, f->node->index[a], f->node->shape[a]);
        int share = f->found[a] ? 0 : find_share(f, a, f->node->shape[a]);
        if (is_of_caller(f->g, f->in[0]))
            f->found[a] = f->found[a] ? f->found[a] : share;
        else if (share && known && share != known[a])
            agrees = false; /* the slice is a rank's share, or only happens to have the shape of
                             * another node */
        agrees = agrees && (!f->found[a] || f->found[a] == known[a]);
    }
    for (int a = 0; agrees && a < f->node->rank; a++)
        f->found[a] = known[a];
}

/* Infers a view: each axis that corresponds to an axis of the operand has the same size. */
static void find_move(struct finder *f)
{
    const int *known = f->node->op == CR_OP_expand ? known_of_shape(f) : NULL, *share = known_of_share(f);
    if (known && share && memcmp(known, share, sizeof f->share) != 0)
        known = NULL;
    if (f->node->op == CR_OP_reshape) {
        find_reshape(f);
        return;
    }
    if (f->node->op == CR_OP_slice) {
        find_slice(f);
        return;
    }
    find_meeting(f);
    for (int a = 0; known && a < f->node->rank; a++)
        if (cr_axis_in_operand(f->node, 0, &f->g->nodes[f->in[0]], a) == CR_NONE)
            f->found[a] = known[a];
}

/* Infers an op whose result has the shape of its first operand, except that a reduction's axis
 * has size 1. */
static void find_same(struct finder *f)
{
    const struct cr_node *in = &f->g->nodes[f->in[0]];
    for (int a = 0; in->rank == f->node->rank && a < f->node->rank; a++)
        if (in->shape[a] == f->node->shape[a])
            f->found[a] = f->all[f->in[0]][a];
        else if (f->node->shape[a] == 1)
            f->found[a] = cr_plain_size(f->sizes, 1);
}

/* Infers an exchange: axis 0 is the number of ranks, the other axes are those of the operand. */
static void find_exchange(struct finder *f)
{
    f->found[0] = size_of_ranks(f);
    memcpy(f->found + 1, f->all[f->in[0]], (size_t)(f->node->rank - 1) * sizeof *f->found);
}

static void (*const find[])(struct finder *) = {
    [CR_KIND_LEAF] = find_leaf,         [CR_KIND_ELEMENTWISE] = find_aligned,
    [CR_KIND_REDUCE] = find_same,       [CR_KIND_CONTRACT] = find_meeting,
    [CR_KIND_MOVE] = find_move,         [CR_KIND_CONCAT] = find_concat,
    [CR_KIND_GATHER] = find_meeting,    [CR_KIND_SCATTER] = find_by_shape,
    [CR_KIND_TAKE] = find_meeting,      [CR_KIND_WRITE] = find_same,
    [CR_KIND_RANDOM] = find_by_shape,   [CR_KIND_SCAN] = find_same,
    [CR_KIND_EXCHANGE] = find_exchange,
};

/* Gives each axis that is a length the named size of its bound.  In a model without options, an
 * axis whose size is unknown is a plain number. */
static void find_bounds(struct finder *f)
{
    for (int a = 0; a < f->node->rank; a++) {
        int name = f->node->lengths[a] ? f->sizes->bound_names[f->node->lengths[a] - 1] : 0;
        if (name && !cr_is_named(f->sizes, f->found[a]) && f->sizes->names[name].value == f->node->shape[a])
            f->found[a] = cr_size_of_name(f->sizes, name);
        if (!f->found[a] && f->sizes->no_options)
            f->found[a] = cr_plain_size(f->sizes, f->node->shape[a]);
    }
}

int (*cr_infer_named_sizes(const struct cr_graph *g))[CR_MAX_RANK]
{
    int(*all)[CR_MAX_RANK] = cr_calloc((size_t)g->n_nodes, sizeof *all);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        struct finder f = {.g = g, .sizes = cr_named_sizes_of(g), .node = &g->nodes[id],
                           .in = cr_inputs(g, &g->nodes[id]), .all = all, .found = all[id]};
        find[cr_ops[f.node->op].kind](&f);
        find_bounds(&f);
    }
    return all;
}
