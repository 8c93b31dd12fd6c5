#include "mask.h"

#include <math.h>

struct finder {
    struct cr_evaluate *ev;
    struct cr_choice *visible;
    int n_visible;
    int budget; /* nodes to visit: a shared subtree is visited once for each path to it */
};

/* Walks down through movement ops; false where an atom would have to be cut. */
static bool skip_moves(struct finder *f, cr_id *id, struct cr_map *map)
{
    const struct cr_graph *g = f->ev->g;
    struct cr_map below;
    struct cr_split split;
    while (cr_kind_of(g, *id) == CR_KIND_MOVE) {
        if (cr_map_operand(g, *id, &f->ev->kernel->atoms, map, &below, &split) != CR_MAP_OK)
            return false;
        *map = below;
        *id = cr_in(g, *id, 0);
    }
    return true;
}

/* True if an index stays, for all values of the atoms, in the range where its type is exact and
 * does not wrap. */
static bool is_exact(const struct finder *f, const struct cr_affine *index, enum cr_dtype dtype)
{
    const struct cr_atoms *atoms = &f->ev->kernel->atoms;
    double most = fabs((double)index->base);
    for (int a = 0; a < atoms->n; a++)
        most += fabs((double)index->coef[a]) * (double)(atoms->extent[a] - 1);
    return most <= (dtype == CR_I32 ? INT32_MAX : 1 << 24);
}

/* The node as an affine function of the atoms, if it is sums of indices and constants. */
static bool index_of(struct finder *f, cr_id id, struct cr_map map, struct cr_affine *index)
{
    const struct cr_graph *g = f->ev->g;
    if (--f->budget < 0 || !skip_moves(f, &id, &map))
        return false;
    const struct cr_node *node = &g->nodes[id];
    struct cr_affine a, b;
    switch (node->op) {
    case CR_OP_iota:
        *index = map.axis[node->axis];
        return true;
    case CR_OP_const:
        *index = (struct cr_affine){.base = (int64_t)node->value};
        return node->value == floor(node->value) && fabs(node->value) < 1e9;
    case CR_OP_float:
        return index_of(f, cr_in(g, id, 0), map, index) && is_exact(f, index, node->dtype);
    case CR_OP_add:
    case CR_OP_sub:
        if (!index_of(f, cr_in(g, id, 0), map, &a) || !index_of(f, cr_in(g, id, 1), map, &b))
            return false;
        *index = a;
        cr_affine_add(index, &b, node->op == CR_OP_add ? 1 : -1);
        return is_exact(f, index, node->dtype);
    default:
        return false;
    }
}

/* Removes an atom from an index and returns its coefficient; 0 for a single query or key, which
 * has no atom. */
static int64_t take_coefficient(struct cr_affine *index, int atom)
{
    int64_t factor = atom < 0 ? 0 : index->coef[atom];
    if (atom >= 0)
        index->coef[atom] = 0;
    return factor;
}

/* The bound that difference >= 0 puts on the keys, if it compares key and row alone.  A single
 * query (or key) has the index 0 with any coefficient.  Its mask is a bound like that of several
 * queries, so that its bits are the same. */
static bool add_bound(struct finder *f, const struct cr_affine *difference)
{
    struct cr_kernel *k = f->ev->kernel;
    struct cr_affine rest = *difference;
    int64_t key = take_coefficient(&rest, k->key), row = take_coefficient(&rest, k->row);
    if (k->row < 0)
        row = key ? -key : 1;
    if (k->key < 0)
        key = -row;
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        if (rest.coef[a])
            return false;
    if (key * row != -1 || k->attention.n_bounds == CR_MAX_BOUNDS)
        return false;
    bool upper = key < 0;
    k->attention.bounds[k->attention.n_bounds++] =
        (struct cr_bound){upper, upper ? rest.base : -rest.base};
    return true;
}

/* Adds the bound of a comparison that holds, or of its opposite. */
static bool bound_comparison(struct finder *f, cr_id id, const struct cr_map *map, bool holds)
{
    const struct cr_graph *g = f->ev->g;
    struct cr_affine a, b;
    enum cr_op op = g->nodes[id].op;
    bool less = op == CR_OP_lt || op == CR_OP_le, strict = op == CR_OP_lt || op == CR_OP_gt;
    if (!less && op != CR_OP_gt && op != CR_OP_ge)
        return false;
    /* a >= b, or a > b, is the relation that holds */
    bool second = less == holds;
    if (!index_of(f, cr_in(g, id, second), *map, &a) ||
        !index_of(f, cr_in(g, id, !second), *map, &b))
        return false;
    cr_affine_add(&a, &b, -1);
    a.base -= strict == holds;
    return add_bound(f, &a);
}

/* Adds the bounds that a condition sets if it holds (or does not); true if they express all of
 * it. */
static bool bound_condition(struct finder *f, cr_id id, struct cr_map map, bool holds)
{
    const struct cr_graph *g = f->ev->g;
    if (--f->budget < 0 || !skip_moves(f, &id, &map))
        return false;
    enum cr_op op = g->nodes[id].op;
    if (op == CR_OP_logical_not)
        return bound_condition(f, cr_in(g, id, 0), map, !holds);
    if (op != (holds ? CR_OP_logical_and : CR_OP_logical_or))
        return bound_comparison(f, id, &map, holds);
    bool first = bound_condition(f, cr_in(g, id, 0), map, holds);
    return bound_condition(f, cr_in(g, id, 1), map, holds) && first;
}

static bool is_minus_infinity(const struct cr_node *node)
{
    return node->op == CR_OP_const && node->value == -INFINITY;
}

/* Follows the nodes that are -inf wherever an operand is, and reads their masks. */
static void find(struct finder *f, cr_id id, struct cr_map map)
{
    const struct cr_graph *g = f->ev->g;
    if (--f->budget < 0 || cr_is_stored(f->ev, id) || !skip_moves(f, &id, &map))
        return;
    const struct cr_node *node = &g->nodes[id];
    if (node->op == CR_OP_add) {
        find(f, cr_in(g, id, 0), map);
        find(f, cr_in(g, id, 1), map);
    }
    if (node->op == CR_OP_fma)
        find(f, cr_in(g, id, 2), map);
    if (node->op != CR_OP_where)
        return;
    int hidden = is_minus_infinity(&g->nodes[cr_in(g, id, 2)]) ? 2 : 1, seen = 3 - hidden;
    if (!is_minus_infinity(&g->nodes[cr_in(g, id, hidden)]))
        return;
    if (bound_condition(f, cr_in(g, id, 0), map, seen == 1) && f->n_visible < CR_MAX_BOUNDS)
        f->visible[f->n_visible++] = (struct cr_choice){id, seen};
    find(f, cr_in(g, id, seen), map);
}

int cr_find_bounds(struct cr_evaluate *ev, cr_id logits, const struct cr_map *map,
                   struct cr_choice visible[CR_MAX_BOUNDS])
{
    struct finder f = {ev, visible, 0, 16 * CR_MAX_VALUES};
    ev->kernel->attention.n_bounds = 0;
    find(&f, logits, *map);
    return f.n_visible;
}
