/* composites.c - the functions of the language that add several ops; see composites.h. */
#include "composites.h"

#include <stdint.h>
#include <string.h>

#include "args.h"
#include "node.h"
#include "script_errors.h"
#include "script_state.h"
#include "tensor.h"

/* ---- helpers to make nodes ---- */

static cr_id constant(lua_State *L, cr_id like, enum cr_dtype dtype, double value)
{
    struct cr_node node = cr_node_copy(L, like);
    struct cr_attr attr = {.dtype = dtype, .rank = node.rank, .value = value};
    memcpy(attr.shape, node.shape, sizeof attr.shape);
    return cr_add(L, CR_OP_const, 0, NULL, &attr);
}

static cr_id two(lua_State *L, enum cr_op op, cr_id a, cr_id b)
{
    return cr_add(L, op, 2, (cr_id[]){a, b}, NULL);
}

static cr_id with_number(lua_State *L, enum cr_op op, cr_id a, double number)
{
    return two(L, op, a, constant(L, a, cr_node_copy(L, a).dtype, number));
}

static cr_id choose(lua_State *L, cr_id condition, cr_id a, cr_id b)
{
    return cr_add(L, CR_OP_where, 3, (cr_id[]){condition, a, b}, NULL);
}

static cr_id shaped(lua_State *L, enum cr_op op, cr_id a, int rank, const int64_t *shape)
{
    struct cr_node node = cr_node_copy(L, a);
    struct cr_attr attr = {.rank = rank};
    memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    bool same = node.rank == rank && memcmp(node.shape, shape, (size_t)rank * sizeof *shape) == 0;
    return same ? a : cr_add(L, op, 1, &a, &attr);
}

/* Returns an i32 tensor in which each element is its index along an axis. */
static cr_id positions(lua_State *L, int rank, const int64_t *shape, int axis)
{
    struct cr_attr attr = {.dtype = CR_I32, .rank = rank, .axis = axis};
    memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    return cr_add(L, CR_OP_iota, 0, NULL, &attr);
}

static cr_id reduced(lua_State *L, enum cr_op op, cr_id a, int axis)
{
    return cr_add(L, op, 1, &a, &(struct cr_attr){.axis = axis});
}

/* ---- elements along an axis ---- */

/* A tensor's sizes before, along and after an axis: [outer, size, inner]. */
struct grid {
    int64_t outer, size, inner;
};

static struct grid grid_of(const struct cr_node *node, int axis)
{
    return (struct grid){cr_elements(axis, node->shape), node->shape[axis],
                         cr_elements(node->rank - axis - 1, node->shape + axis + 1)};
}

/* True if axes first .. last - 1 all have size 1. */
static bool are_ones(const struct cr_node *node, int first, int last)
{
    return cr_elements(last - first, node->shape + first) == 1;
}

/* Raises an error unless each axis of the index except `axis` has the size of the same axis of
 * `a`, or size 1. */
static void check_index(lua_State *L, const char *name, cr_id a, cr_id index, int axis)
{
    struct cr_node from = cr_node_copy(L, a), node = cr_node_copy(L, index);
    char left[200], right[200];
    bool fits = node.rank == from.rank;
    for (int i = 0; fits && i < node.rank; i++)
        fits = i == axis || node.shape[i] == from.shape[i] || node.shape[i] == 1;
    cr_shape_text(left, sizeof left, from.rank, from.shape);
    cr_shape_text(right, sizeof right, node.rank, node.shape);
    if (!fits)
        cr_raise(L, "%s: found shape %s and an index of shape %s, expected sizes of the index "
                 "that are equal or 1 on all axes but %d", name, left, right, axis + 1);
    if (node.dtype != CR_I32)
        cr_raise(L, "%s: index is %s, expected i32", name, cr_dtype_name(node.dtype));
}

/* Broadcasts an index to the shape of `a`, except along the axis. */
static cr_id index_along(lua_State *L, const char *name, cr_id a, cr_id index, int axis)
{
    struct cr_node from = cr_node_copy(L, a), node = cr_node_copy(L, index);
    struct cr_attr wide = cr_attr_of(&from);
    check_index(L, name, a, index, axis);
    wide.shape[axis] = node.shape[axis];
    return shaped(L, CR_OP_expand, index, wide.rank, wide.shape);
}

/* Returns for each element that `index` selects along an axis its row-major number in `a`, or -1
 * if the index is out of range. */
static cr_id numbers_along(lua_State *L, cr_id a, cr_id index, int axis)
{
    struct cr_node from = cr_node_copy(L, a), node = cr_node_copy(L, index);
    struct grid all = grid_of(&from, axis), some = grid_of(&node, axis);
    const int64_t shape[] = {some.outer, some.size, some.inner};
    if (cr_elements(from.rank, from.shape) > INT32_MAX)
        cr_raise(L, "gather: found a tensor of more than 2147483647 elements, expected at most so "
                 "many, as indices are i32");
    cr_id at = shaped(L, CR_OP_reshape, index, 3, shape);
    cr_id inside = two(L, CR_OP_logical_and, with_number(L, CR_OP_ge, at, 0),
                       with_number(L, CR_OP_lt, at, (double)all.size));
    cr_id number = at;
    if (all.outer > 1)
        number = two(L, CR_OP_add, number,
                     with_number(L, CR_OP_mul, positions(L, 3, shape, 0), (double)all.size));
    if (all.inner > 1)
        number = two(L, CR_OP_add, with_number(L, CR_OP_mul, number, (double)all.inner),
                     positions(L, 3, shape, 2));
    return choose(L, inside, number, constant(L, number, CR_I32, -1));
}

/* True if gather along `axis` reads whole rows of a table: all axes of `a` before `axis`, and all
 * axes of the index after it, have size 1. */
static bool reads_rows(lua_State *L, cr_id a, cr_id index, int axis)
{
    struct cr_node from = cr_node_copy(L, a), node = cr_node_copy(L, index);
    return are_ones(&from, 0, axis) && are_ones(&node, axis + 1, node.rank);
}

/* Returns whole rows of `a`, gathered along `axis`.  The axes of `a` from `axis` on may have
 * lengths. */
static cr_id rows_along(lua_State *L, cr_id a, cr_id index, int axis)
{
    const struct cr_node from = cr_node_copy(L, a);
    const int64_t n = cr_node_copy(L, index).shape[axis];
    int64_t shape[CR_MAX_RANK];
    cr_id table = shaped(L, CR_OP_reshape, a, from.rank - axis, from.shape + axis);
    cr_id taken = two(L, CR_OP_gather, table, shaped(L, CR_OP_reshape, index, 1, &n));
    memcpy(shape, from.shape, (size_t)from.rank * sizeof *shape);
    shape[axis] = n;
    return shaped(L, CR_OP_reshape, taken, from.rank, shape);
}

/* True if an axis of a tensor has a length: then its elements have no fixed row-major numbers. */
static bool has_lengths(lua_State *L, cr_id id)
{
    const struct cr_node node = cr_node_copy(L, id);
    for (int i = 0; i < node.rank; i++)
        if (node.lengths[i])
            return true;
    return false;
}

int cr_lua_gather_along(lua_State *L)
{
    cr_id a = cr_arg_tensor(L, 1, "gather"), index = cr_arg_tensor(L, 2, "gather");
    int axis = cr_arg_axis(L, 3, "gather", cr_node_copy(L, a).rank);
    check_index(L, "gather", a, index, axis);
    if (reads_rows(L, a, index, axis)) {
        cr_push_tensor(L, rows_along(L, a, index, axis));
        return 1;
    }
    index = index_along(L, "gather", a, index, axis);
    if (has_lengths(L, a)) {
        cr_push_tensor(
            L, cr_add(L, CR_OP_take, 2, (cr_id[]){a, index}, &(struct cr_attr){.axis = axis}));
        return 1;
    }
    struct cr_node from = cr_node_copy(L, a), to = cr_node_copy(L, index);
    const int64_t flat[] = {cr_elements(from.rank, from.shape)};
    cr_id numbers = numbers_along(L, a, index, axis);
    cr_id taken = two(L, CR_OP_gather, shaped(L, CR_OP_reshape, a, 1, flat), numbers);
    cr_push_tensor(L, shaped(L, CR_OP_reshape, taken, to.rank, to.shape));
    return 1;
}

/*
 * Returns for each element of a tensor [outer, size, inner] the last position along n at which an
 * index [outer, n, inner] refers to it, or -1: the maximum over n of these positions in [outer,
 * size, n, inner].
 */
static cr_id last_positions(lua_State *L, const struct grid *a, cr_id index, int64_t n)
{
    const int64_t some[] = {a->outer, 1, n, a->inner}, all[] = {a->outer, a->size, n, a->inner};
    cr_id named = shaped(L, CR_OP_expand, shaped(L, CR_OP_reshape, index, 4, some), 4, all);
    cr_id at = positions(L, 4, all, 2);
    cr_id hit = two(L, CR_OP_eq, named, positions(L, 4, all, 1));
    cr_id last = reduced(L, CR_OP_max, choose(L, hit, at, constant(L, at, CR_I32, -1)), 2);
    return shaped(L, CR_OP_reshape, last, 3, (int64_t[]){a->outer, a->size, a->inner});
}

/* Returns for each element of `a`, in the shape of `a`, the last position at which an index
 * refers to it along an axis, or -1.  If the index does not vary along other axes, the positions
 * are computed once and expanded. */
static cr_id last_along(lua_State *L, cr_id a, cr_id index, int axis)
{
    struct cr_node node = cr_node_copy(L, a), named = cr_node_copy(L, index), found = node;
    struct cr_attr narrow = cr_attr_of(&node), wide = narrow;
    bool outer = are_ones(&named, 0, axis), inner = are_ones(&named, axis + 1, named.rank);
    if (!outer && !inner) {
        index = index_along(L, "scatter", a, index, axis);
    } else {
        wide.shape[axis] = named.shape[axis];
        for (int i = 0; i < node.rank; i++)
            if ((outer && i < axis) || (inner && i > axis))
                narrow.shape[i] = wide.shape[i] = 1;
        index = shaped(L, CR_OP_expand, index, wide.rank, wide.shape);
    }
    found.shape = narrow.shape;
    struct grid grid = grid_of(&found, axis);
    cr_id last = last_positions(L, &grid, index, named.shape[axis]);
    last = shaped(L, CR_OP_reshape, last, node.rank, narrow.shape);
    return shaped(L, CR_OP_expand, last, node.rank, node.shape);
}

/* Gives the index of a scatter the length that the values have along the axis, so that a run uses
 * only that many elements of the index. */
static cr_id up_to_values(lua_State *L, cr_id index, cr_id values, int axis)
{
    struct cr_node node = cr_node_copy(L, index);
    if (!cr_run_of(L)->graph->n_lengths)
        return index;
    for (int i = 0; i < node.rank; i++)
        if (i != axis && node.shape[i] == 1 && cr_node_copy(L, values).shape[i] > 1)
            values = reduced(L, CR_OP_max, values, i);
    if (cr_node_copy(L, values).dtype != CR_I32)
        values = cr_add(L, CR_OP_int, 1, &values, NULL);
    return choose(L, constant(L, index, CR_BOOL, 1), index, values);
}

int cr_lua_scatter(lua_State *L)
{
    cr_arg_count(L, "scatter", 4, 4);
    cr_id a = cr_arg_tensor(L, 1, "scatter"), values = cr_arg_tensor(L, 2, "scatter");
    cr_id index = cr_arg_tensor(L, 3, "scatter");
    struct cr_node node = cr_node_copy(L, a), given = cr_node_copy(L, values);
    int axis = cr_arg_axis(L, 4, "scatter", node.rank);
    struct cr_node places = cr_node_copy(L, index_along(L, "scatter", a, index, axis));
    char left[200], right[200];
    cr_shape_text(left, sizeof left, given.rank, given.shape);
    cr_shape_text(right, sizeof right, places.rank, places.shape);
    if (!cr_same_shape(&given, &places) || given.dtype != node.dtype)
        cr_raise(L, "scatter: values are %s %s, expected %s %s as the index",
                 cr_dtype_name(given.dtype), left, cr_dtype_name(node.dtype), right);
    cr_id last = last_along(L, a, up_to_values(L, index, values, axis), axis);
    const int64_t flat[] = {cr_elements(given.rank, given.shape)};
    cr_id numbers = numbers_along(L, values, last, axis);
    cr_id taken = two(L, CR_OP_gather, shaped(L, CR_OP_reshape, values, 1, flat), numbers);
    taken = shaped(L, CR_OP_reshape, taken, node.rank, node.shape);
    cr_push_tensor(L, choose(L, with_number(L, CR_OP_ge, last, 0), taken, a));
    return 1;
}

/* ---- argmax ---- */

/* Returns the index of the first largest element along an axis; NaN counts as largest.  A maximum
 * over the negated positions of largest elements selects the first. */
static cr_id first_largest(lua_State *L, cr_id a, int axis)
{
    struct cr_node node = cr_node_copy(L, a);
    cr_id largest = shaped(L, CR_OP_expand, reduced(L, CR_OP_max, a, axis), node.rank, node.shape);
    cr_id hit = two(L, CR_OP_eq, a, largest);
    if (node.dtype == CR_F32)
        hit = two(L, CR_OP_logical_or, hit, two(L, CR_OP_ne, a, a));
    cr_id at = positions(L, node.rank, node.shape, axis);
    at = cr_add(L, CR_OP_neg, 1, &at, NULL);
    at = reduced(L, CR_OP_max, choose(L, hit, at, constant(L, at, CR_I32, INT32_MIN)), axis);
    return cr_add(L, CR_OP_neg, 1, &at, NULL);
}

int cr_lua_argmax(lua_State *L)
{
    cr_arg_count(L, "argmax", 1, 3);
    cr_id a = cr_arg_tensor(L, 1, "argmax");
    struct cr_node node = cr_node_copy(L, a);
    int64_t shape[CR_MAX_RANK];
    int axis = 0, rank = 0;
    bool all = lua_isnoneornil(L, 2), keep = !all;
    if (!lua_isnoneornil(L, 3) && !lua_isboolean(L, 3))
        cr_raise(L, "argmax: keep: found %s, expected true or false", cr_type_name(L, 3));
    if (lua_isboolean(L, 3))
        keep = lua_toboolean(L, 3);
    if (all)
        a = shaped(L, CR_OP_reshape, a, 1, (int64_t[]){cr_elements(node.rank, node.shape)});
    else
        axis = cr_arg_axis(L, 2, "argmax", node.rank);
    cr_id result = first_largest(L, a, axis);
    for (int i = 0; i < node.rank; i++)
        if (keep || (!all && i != axis))
            shape[rank++] = all || i == axis ? 1 : node.shape[i];
    cr_push_tensor(L, shaped(L, CR_OP_reshape, result, rank, shape));
    return 1;
}

/* ---- parts ---- */

int cr_lua_narrow(lua_State *L)
{
    cr_arg_count(L, "narrow", 3, 4);
    cr_id a = cr_arg_tensor(L, 1, "narrow");
    struct cr_node node = cr_node_copy(L, a);
    int axis = cr_arg_axis(L, 2, "narrow", node.rank);
    int64_t size = node.shape[axis], start = cr_arg_integer(L, 3, "narrow", "start");
    struct cr_attr attr = cr_attr_of(&node);
    memset(attr.index, 0, sizeof attr.index);
    attr.index[axis] = start < 0 ? start + size : start;
    attr.shape[axis] = lua_isnoneornil(L, 4) ? size - attr.index[axis]
                                             : cr_arg_integer(L, 4, "narrow", "size");
    return cr_return(L, CR_OP_slice, 1, &a, &attr);
}

/* ---- lengths ---- */

/* Returns the input that holds the value of a length. */
static cr_id input_of(lua_State *L, const struct cr_length *length)
{
    const struct cr_graph *g = cr_run_of(L)->graph;
    cr_id id = 0;
    while (g->nodes[id].op != CR_OP_input || strcmp(g->nodes[id].name, length->name) != 0)
        id++;
    return id;
}

int cr_lua_count(lua_State *L)
{
    cr_arg_count(L, "count", 2, 2);
    struct cr_node node = cr_node_copy(L, cr_arg_tensor(L, 1, "count"));
    int axis = cr_arg_axis(L, 2, "count", node.rank);
    if (!node.lengths[axis]) {
        lua_pushinteger(L, (lua_Integer)node.shape[axis]);
        return 1;
    }
    struct cr_length length = cr_run_of(L)->graph->lengths[node.lengths[axis] - 1];
    int64_t shape[CR_MAX_RANK];
    for (int a = 0; a < node.rank; a++)
        shape[a] = node.lengths[a] == length.batch ? node.shape[a] : 1;
    cr_id input = input_of(L, &length);
    cr_id count = cr_add(L, CR_OP_float, 1, &input, NULL);
    cr_push_tensor(L, length.batch ? shaped(L, CR_OP_reshape, count, node.rank, shape) : count);
    return 1;
}
