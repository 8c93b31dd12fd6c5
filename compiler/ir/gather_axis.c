#include "gather_axis.h"

/* The sizes of `a` before, along and after the gather's axis, and the index reshaped to [outer,
 * n, inner]. */
struct grid {
    const struct cr_graph *g;
    cr_id at; /* the index in that shape */
    int64_t outer, size, inner;
};

static bool is_position(const struct cr_graph *g, cr_id id, int axis)
{
    return cr_is_op(g, id, CR_OP_iota) && g->nodes[id].axis == axis;
}

/* True if a node is `op` with the constant `number` as its second operand. */
static bool is_with(const struct grid *grid, cr_id id, enum cr_op op, double number)
{
    const struct cr_graph *g = grid->g;
    return cr_is_op(g, id, op) && cr_is_number(&g->nodes[cr_in(g, id, 1)], number);
}

/* True if a node is "at >= 0 and at < size", with its two comparisons in either order. */
static bool is_inside(const struct grid *grid, cr_id id)
{
    const struct cr_graph *g = grid->g;
    if (!cr_is_op(g, id, CR_OP_logical_and))
        return false;
    for (int i = 0; i < 2; i++) {
        cr_id from = cr_in(g, id, i), to = cr_in(g, id, 1 - i);
        if (is_with(grid, from, CR_OP_ge, 0) && is_with(grid, to, CR_OP_lt, (double)grid->size) &&
            cr_in(g, from, 0) == grid->at && cr_in(g, to, 0) == grid->at)
            return true;
    }
    return false;
}

/* True if a node computes (o * size + at) * inner + i, where o is the position along `outer` and
 * i along `inner`. */
static bool is_element(const struct grid *grid, cr_id id)
{
    const struct cr_graph *g = grid->g;
    if (grid->inner > 1) {
        if (!cr_is_op(g, id, CR_OP_add) || !is_position(g, cr_in(g, id, 1), 2))
            return false;
        id = cr_in(g, id, 0);
        if (!is_with(grid, id, CR_OP_mul, (double)grid->inner))
            return false;
        id = cr_in(g, id, 0);
    }
    if (grid->outer > 1) {
        if (!cr_is_op(g, id, CR_OP_add) ||
            !is_with(grid, cr_in(g, id, 1), CR_OP_mul, (double)grid->size) ||
            !is_position(g, cr_in(g, cr_in(g, id, 1), 0), 0))
            return false;
        id = cr_in(g, id, 0);
    }
    return id == grid->at;
}

/* True if `numbers`, the element numbers, are computed from the index `at` for the axis of
 * `along`. */
static bool fits(const struct cr_graph *g, const struct cr_gather_axis *along, cr_id at, cr_id numbers)
{
    const struct cr_node *a = &g->nodes[along->a], *index = &g->nodes[along->index];
    int axis = along->axis, behind = a->rank - axis - 1;
    struct grid grid = {g, at, cr_elements(axis, a->shape), a->shape[axis],
                        cr_elements(behind, a->shape + axis + 1)};
    const int64_t shape[] = {grid.outer, index->shape[axis], grid.inner};
    for (int i = 0; i < a->rank; i++)
        if (i != axis && a->shape[i] != index->shape[i])
            return false;
    for (int i = 0; i < 3; i++)
        if (g->nodes[at].rank != 3 || g->nodes[at].shape[i] != shape[i])
            return false;
    return is_inside(&grid, cr_in(g, numbers, 0)) && is_element(&grid, cr_in(g, numbers, 1)) &&
           cr_is_number(&g->nodes[cr_in(g, numbers, 2)], -1);
}

/* Returns the index [outer, n, inner] that the bounds check in `numbers` compares; CR_NONE if
 * `numbers` has no such check. */
static cr_id compared(const struct cr_graph *g, cr_id numbers)
{
    if (!cr_is_op(g, numbers, CR_OP_where) || !cr_is_op(g, cr_in(g, numbers, 0), CR_OP_logical_and))
        return CR_NONE;
    cr_id test = cr_in(g, cr_in(g, numbers, 0), 0);
    return g->nodes[test].n_in == 2 ? cr_in(g, test, 0) : CR_NONE;
}

/* The final reshape is optional: the language omits it if the shape stays the same. */
bool cr_find_gather_axis(const struct cr_graph *g, cr_id id, struct cr_gather_axis *along)
{
    const struct cr_node *node = &g->nodes[id];
    cr_id gather = node->op == CR_OP_reshape ? cr_in(g, id, 0) : id;
    if (!cr_is_op(g, gather, CR_OP_gather))
        return false;
    cr_id table = cr_in(g, gather, 0), numbers = cr_in(g, gather, 1), at = compared(g, numbers);
    if (!cr_is_op(g, table, CR_OP_reshape) || g->nodes[table].rank != 1 || at == CR_NONE)
        return false;
    along->a = cr_in(g, table, 0);
    along->index = at;
    if (!cr_same_shape(&g->nodes[at], node) && cr_is_op(g, at, CR_OP_reshape))
        along->index = cr_in(g, at, 0);
    if (g->nodes[along->a].rank != node->rank || !cr_same_shape(&g->nodes[along->index], node))
        return false;
    for (along->axis = 0; along->axis < node->rank; along->axis++)
        if (fits(g, along, at, numbers))
            return true;
    return false;
}
