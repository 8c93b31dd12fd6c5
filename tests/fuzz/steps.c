/* Random graphs: steps of one op or of a few. */
#include <math.h>
#include <string.h>

#include "maker.h"

/* ---- elementwise steps ---- */

/* Makes an i32 of x's shape: an iota, an input, or arithmetic on them. */
static cr_id integers_like(struct cr_maker *m, cr_id x, int depth)
{
    int64_t way = cr_below(m, depth > 0 ? 10 : 6);
    if (way < 4 && cr_node_of(m, x)->rank > 0)
        return cr_make_iota(m, x, (int)cr_below(m, cr_node_of(m, x)->rank));
    if (way < 6)
        return cr_make_broadcast(m, x, true);
    cr_id in[2] = {integers_like(m, x, depth - 1), CR_NONE};
    if (way < 8)
        return cr_make_with(m, CR_OP_sub, in[0], (double)cr_below(m, 7) - 2);
    enum cr_op op = cr_random_op(m, CR_KIND_ELEMENTWISE, CR_RULE_ARITH);
    if (cr_ops[op].arity == 2)
        in[1] = integers_like(m, x, depth - 1);
    return cr_make(m, op, cr_ops[op].arity, in, NULL);
}

/* Makes a bool of x's shape. */
static cr_id condition_like(struct cr_maker *m, cr_id x, int depth)
{
    enum cr_op op =
        cr_random_op(m, CR_KIND_ELEMENTWISE, depth > 0 ? CR_RULE_LOGIC : CR_RULE_COMPARE);
    bool integers = cr_chance(m, 60);
    cr_id in[2] = {x, CR_NONE};
    for (int i = 0; i < cr_ops[op].arity; i++) {
        if (depth > 0)
            in[i] = condition_like(m, x, depth - 1);
        else if (integers)
            in[i] = integers_like(m, x, 2 - i);
        else if (i == 1)
            in[i] = cr_make_partner(m, x);
    }
    return cr_make(m, op, cr_ops[op].arity, in, NULL);
}

/* Applies an op of the table whose result is f32. */
static cr_id step_elementwise(struct cr_maker *m, cr_id x)
{
    enum cr_rule rule = cr_chance(m, 60) ? CR_RULE_ARITH : CR_RULE_FLOAT;
    enum cr_op op = cr_random_op(m, CR_KIND_ELEMENTWISE, rule);
    cr_id in[3] = {x, x, x};
    for (int i = 1; i < cr_ops[op].arity; i++)
        in[i] = cr_make_partner(m, x);
    cr_id *last = &in[cr_ops[op].arity - 1];
    if (rule == CR_RULE_FLOAT && cr_chance(m, 60)) /* positive, so that logarithms are finite */
        *last = cr_make_with(m, CR_OP_add, cr_make1(m, CR_OP_abs, *last), 0.5);
    else if (cr_ops[op].arity == 2 && cr_chance(m, 50))
        *last = in[0], in[0] = in[1] == x ? cr_make_partner(m, x) : in[0];
    return cr_make(m, op, cr_ops[op].arity, in, NULL);
}

static cr_id step_select(struct cr_maker *m, cr_id x)
{
    cr_id condition = condition_like(m, x, (int)cr_below(m, 3));
    cr_id other = cr_make_partner(m, x);
    return cr_chance(m, 50) ? cr_make_select(m, condition, x, other)
                            : cr_make_select(m, condition, other, x);
}

/* Converts an i32 or a bool to f32, and combines it with x. */
static cr_id step_convert(struct cr_maker *m, cr_id x)
{
    enum cr_op op = cr_random_op(m, CR_KIND_ELEMENTWISE, CR_RULE_CONVERT);
    cr_id from = cr_chance(m, 50) ? integers_like(m, x, 1) : condition_like(m, x, 0);
    cr_id number = cr_make_with(m, CR_OP_mul, cr_make1(m, op, from), 0.125);
    return cr_make2(m, CR_OP_add, x, number);
}

/* Applies a small elementwise expression: work between views. */
static cr_id some_work(struct cr_maker *m, cr_id x)
{
    switch (cr_below(m, 4)) {
    case 0:
        return cr_make_with(m, CR_OP_mul, x, 0.75);
    case 1:
        return cr_make1(m, CR_OP_tanh, x);
    case 2:
        return cr_make2(m, CR_OP_add, x, cr_make_partner(m, x));
    default:
        return x;
    }
}

/* ---- reductions ---- */

static cr_id step_fold(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    int axis = cr_chance(m, 50) ? rank - 1 : (int)cr_below(m, rank);
    double n = (double)cr_size_of(m, x, axis);
    enum cr_op op = cr_random_op(m, CR_KIND_REDUCE, 0);
    if (op != CR_OP_sum)
        return cr_make_fold(m, op, some_work(m, x), axis);
    return cr_make_with(m, CR_OP_mul, cr_make_fold(m, CR_OP_sum, some_work(m, x), axis), 1 / n);
}

/* Combines x with a reduction of its rows. */
static cr_id step_rows(struct cr_maker *m, cr_id x)
{
    cr_id fold = step_fold(m, x);
    if (fold == CR_NONE)
        return CR_NONE;
    cr_id wide = cr_make_like(m, fold, x);
    return cr_make2(m, cr_chance(m, 50) ? CR_OP_mul : CR_OP_sub, x, wide);
}

/* ---- movement ---- */

static void shuffle(struct cr_maker *m, int n, int64_t *axes)
{
    for (int i = 0; i < n; i++)
        axes[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)cr_below(m, i + 1);
        int64_t axis = axes[i];
        axes[i] = axes[j];
        axes[j] = axis;
    }
}

static cr_id step_permute(struct cr_maker *m, cr_id x)
{
    int64_t axes[CR_MAX_RANK];
    shuffle(m, cr_node_of(m, x)->rank, axes);
    return cr_make_permute(m, x, axes);
}

/* Returns a random factor of n, other than n unless n is prime or 1. */
static int64_t factor(struct cr_maker *m, int64_t n)
{
    int64_t factors[64];
    int count = 0;
    for (int64_t f = 1; f < n && count < 64; f++)
        if (n % f == 0)
            factors[count++] = f;
    return count ? factors[cr_below(m, count)] : 1;
}

/* Reshapes: splits an axis in two, joins two, or inserts an axis of size 1. */
static cr_id step_reshape(struct cr_maker *m, cr_id x)
{
    const struct cr_node *node = cr_node_of(m, x);
    int64_t shape[CR_MAX_RANK + 1];
    int rank = node->rank, axis = rank ? (int)cr_below(m, rank) : 0;
    memcpy(shape, node->shape, CR_MAX_RANK * sizeof *shape);
    if (rank >= 2 && axis + 1 < rank && cr_chance(m, 50)) {
        shape[axis] *= shape[axis + 1];
        memmove(shape + axis + 1, shape + axis + 2, (size_t)(rank - axis - 2) * sizeof *shape);
        return cr_make_reshape(m, x, rank - 1, shape);
    }
    if (rank == CR_MAX_RANK)
        return CR_NONE;
    int64_t low = rank ? factor(m, shape[axis]) : 1;
    memmove(shape + axis + 1, shape + axis, (size_t)(rank - axis) * sizeof *shape);
    shape[axis] = rank ? shape[axis + 1] / low : 1;
    if (rank)
        shape[axis + 1] = low;
    return cr_make_reshape(m, x, rank + 1, shape);
}

/* Reshapes to random factors of the number of elements. */
static cr_id step_refactor(struct cr_maker *m, cr_id x)
{
    int64_t shape[4], n = cr_elements(cr_node_of(m, x)->rank, cr_node_of(m, x)->shape);
    int rank = 1 + (int)cr_below(m, 4);
    for (int i = rank - 1; i > 0; i--)
        n /= shape[i] = factor(m, n);
    shape[0] = n;
    return cr_make_reshape(m, x, rank, shape);
}

static cr_id step_slice(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    int axis = (int)cr_below(m, rank);
    int64_t all = cr_size_of(m, x, axis), size = 1 + cr_below(m, all);
    return cr_make_slice(m, x, axis, cr_below(m, all - size + 1), size);
}

static cr_id step_expand(struct cr_maker *m, cr_id x)
{
    const struct cr_node *node = cr_node_of(m, x);
    struct cr_attr attr = {.rank = node->rank};
    int64_t extra = node->rank < 6 ? cr_below(m, 2) : 0;
    int64_t room = 20000 / cr_elements(node->rank, node->shape);
    attr.rank += (int)extra;
    if (extra)
        attr.shape[0] = 1 + cr_below(m, room > 5 ? 5 : 1);
    for (int i = 0; i < node->rank; i++) {
        bool repeat = node->shape[i] == 1 && room > 20 && cr_chance(m, 50);
        attr.shape[i + extra] = repeat ? 1 + cr_below(m, 4) : node->shape[i];
    }
    return cr_make(m, CR_OP_expand, 1, &x, &attr);
}

/* Transposes, applies elementwise ops, and transposes back. */
static cr_id step_round_trip(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    int64_t axes[CR_MAX_RANK], back[CR_MAX_RANK], shape[CR_MAX_RANK];
    memcpy(shape, cr_node_of(m, x)->shape, sizeof shape);
    if (cr_chance(m, 40))
        return cr_make_reshape(m, some_work(m, step_refactor(m, x)), rank, shape);
    shuffle(m, rank, axes);
    for (int i = 0; i < rank; i++)
        back[axes[i]] = i;
    return cr_make_permute(m, some_work(m, cr_make_permute(m, x, axes)), back);
}

/* Concatenates slices of x in another order. */
static cr_id step_parts(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    int axis = rank ? (int)cr_below(m, rank) : 0;
    if (rank == 0 || cr_size_of(m, x, axis) < 2)
        return CR_NONE;
    int64_t all = cr_size_of(m, x, axis), cut = 1 + cr_below(m, all - 1);
    cr_id high = some_work(m, cr_make_slice(m, x, axis, cut, all - cut));
    cr_id low = some_work(m, cr_make_slice(m, x, axis, 0, cut));
    return cr_make_concat(m, 2, (cr_id[]){high, low}, axis);
}

/* Concatenates x with other tensors. */
static cr_id step_concat(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank, n = 1 + (int)cr_below(m, 4);
    if (rank == 0)
        return CR_NONE;
    int axis = cr_chance(m, 50) ? rank - 1 : (int)cr_below(m, rank);
    cr_id parts[4];
    for (int i = 0; i < n; i++)
        parts[i] = cr_chance(m, 50) ? cr_make_partner(m, x) : step_elementwise(m, x);
    parts[cr_below(m, n)] = x;
    return cr_make_concat(m, n, parts, axis);
}

/* Combines two slices of x of equal size, which may overlap. */
static cr_id step_gate(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    int axis = cr_chance(m, 60) ? rank - 1 : (int)cr_below(m, rank);
    int64_t all = cr_size_of(m, x, axis), size = 1 + cr_below(m, all),
            from = cr_below(m, all - size + 1);
    cr_id gate = cr_make1(m, CR_OP_tanh, cr_make_slice(m, x, axis, from, size));
    from = cr_chance(m, 60) ? all - size : cr_below(m, all - size + 1);
    return cr_make2(m, CR_OP_mul, gate, cr_make_slice(m, x, axis, from, size));
}

/* Combines x with its transpose, if that has the same shape. */
static cr_id step_symmetry(struct cr_maker *m, cr_id x)
{
    if (cr_node_of(m, x)->rank < 2 || cr_size_of(m, x, -1) != cr_size_of(m, x, -2))
        return CR_NONE;
    return cr_make2(m, CR_OP_add, x, cr_make_swap(m, x));
}

/* ---- steps with a matrix or a table ---- */

static cr_id step_linear(struct cr_maker *m, cr_id x)
{
    x = cr_make_matrix(m, x);
    int64_t rows = cr_size_of(m, x, -2);
    if (rows > 1 && rows <= 70 && cr_chance(m, 20)) /* the product is read as it is and transposed */
        return step_symmetry(m, cr_make_linear(m, x, rows));
    return cr_make_linear(m, x, cr_random_size(m, 140));
}

/* Multiplies x by its own transpose, or by a leaf that has the batch axes, too. */
static cr_id step_product(struct cr_maker *m, cr_id x)
{
    x = cr_make_matrix(m, x);
    struct cr_attr other = cr_attr_of(cr_node_of(m, x));
    int r = other.rank;
    double scale = 1 / sqrt((double)other.shape[r - 1]);
    if (other.shape[r - 2] <= 200 && cr_chance(m, 40))
        return cr_make_with(m, CR_OP_mul, cr_make2(m, CR_OP_matmul, x, cr_make_swap(m, x)), scale);
    other.shape[r - 2] = other.shape[r - 1];
    other.shape[r - 1] = cr_random_size(m, 70);
    if (cr_elements(r, other.shape) > 20000)
        return CR_NONE;
    cr_id b = cr_make_leaf(m, CR_OP_input, r, other.shape, scale);
    return cr_make2(m, CR_OP_matmul, x, cr_chance(m, 50) ? b : some_work(m, b));
}

/* Gathers rows of x, or of a table, by indices that are an input or computed. */
static cr_id step_gather(struct cr_maker *m, cr_id x)
{
    int64_t shape[CR_MAX_RANK] = {1 + cr_below(m, 9)};
    shape[1] = 1 + cr_below(m, 4);
    int64_t width = cr_random_size(m, 300), rows = 1 + cr_below(m, 30);
    bool own = cr_node_of(m, x)->rank > 0 && cr_node_of(m, x)->rank < 6 && cr_chance(m, 50);
    cr_id table = own ? x : cr_make_leaf(m, CR_OP_param, 2, (int64_t[]){rows, width}, 1);
    int64_t n = cr_size_of(m, table, 0);
    if (cr_elements(cr_node_of(m, table)->rank - 1, cr_node_of(m, table)->shape + 1) > 600)
        return CR_NONE;
    cr_id index = cr_make_integers(m, 1 + (int)cr_below(m, 2), shape, 0, (int)n - 1);
    if (cr_chance(m, 30)) { /* from the end */
        cr_id end = cr_make_const(m, index, (double)(n - 1));
        index = cr_make2(m, CR_OP_sub, end, index);
    }
    return cr_make2(m, CR_OP_gather, table, index);
}

/* Gathers elements of x along an axis, by indices that are an input, computed, or distances to a position. */
static cr_id step_take(struct cr_maker *m, cr_id x)
{
    int r = cr_node_of(m, x)->rank;
    struct cr_attr attr = cr_attr_of(cr_node_of(m, x));
    if (r == 0)
        return CR_NONE;
    int axis = (int)cr_below(m, r);
    int64_t n = attr.shape[axis];
    if (cr_chance(m, 50))
        attr.shape[axis] = 1 + cr_below(m, 9);
    if (cr_elements(r, attr.shape) > 20000)
        return CR_NONE;
    cr_id index = cr_chance(m, 50) ? cr_make_integers(m, r, attr.shape, 0, (int)n - 1) : CR_NONE;
    if (index == CR_NONE) {
        attr.dtype = CR_I32;
        attr.axis = (int)cr_below(m, r);
        index = cr_make(m, CR_OP_iota, 0, NULL, &attr);
        index = cr_make1(m, CR_OP_abs, cr_make_with(m, CR_OP_sub, index, (double)cr_below(m, 4)));
        index = cr_make_with(m, CR_OP_minimum, index, (double)(n - 1));
    }
    return cr_make(m, CR_OP_take, 2, (cr_id[]){x, index}, &(struct cr_attr){.axis = axis});
}

/* Multiplies x by a matrix that an index, an input or computed, selects from a stack of weights; the columns of
 * some stacks do not fill whole panels. */
static cr_id step_chosen(struct cr_maker *m, cr_id x)
{
    x = cr_make_matrix(m, x);
    int r = cr_node_of(m, x)->rank;
    int64_t K = cr_size_of(m, x, -1), N = cr_chance(m, 80) ? 32 * (1 + cr_below(m, 4)) : 20;
    int64_t n = 2 + cr_below(m, 4), one = 1, matrix[CR_MAX_RANK] = {K, N};
    if (r != 2 || n * K * N > 100000)
        return CR_NONE;
    cr_id stack = cr_make_leaf(m, CR_OP_param, 3, (int64_t[]){n, K, N}, 1 / sqrt((double)K));
    cr_id index = cr_make_integers(m, 1, &one, 0, (int)n - 1);
    cr_id chosen = cr_make_reshape(m, cr_make2(m, CR_OP_gather, stack, index), 2, matrix);
    return cr_make2(m, CR_OP_matmul, x, chosen);
}

/* Gathers as many rows as x has, by indices that are an input or an iota. */
static cr_id step_pick_rows(struct cr_maker *m, cr_id x)
{
    if (cr_node_of(m, x)->rank == 0)
        return CR_NONE;
    int64_t n = cr_size_of(m, x, 0);
    cr_id index = cr_chance(m, 80) ? cr_make_integers(m, 1, &n, 0, (int)n - 1) : CR_NONE;
    if (index == CR_NONE)
        index = cr_make(m, CR_OP_iota, 0, NULL, &(struct cr_attr){.rank = 1, .shape = {n}});
    return cr_make2(m, CR_OP_gather, x, index);
}

/* Adds rows of x to rows of a table (scatter_add) by indices that are an input or computed; some
 * are out of range. */
static cr_id step_scatter(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0 || rank > 6)
        return CR_NONE;
    int64_t n = 1 + cr_below(m, 40);
    int axes = rank > 1 ? 1 + (int)cr_below(m, 2) : 1;
    cr_id index = cr_make_integers(m, axes, cr_node_of(m, x)->shape, -1, (int)n);
    if (cr_chance(m, 30))
        index = cr_make2(m, CR_OP_sub, cr_make_const(m, index, (double)(n - 1)), index);
    struct cr_attr attr = {.shape = {n}};
    return cr_make(m, CR_OP_scatter_add, 2, (cr_id[]){some_work(m, x), index}, &attr);
}

/* Overwrites rows of x from a row that is an input or computed; some rows are out of range. */
static cr_id step_write(struct cr_maker *m, cr_id x)
{
    int rank = cr_node_of(m, x)->rank;
    if (rank == 0)
        return CR_NONE;
    int axis = cr_chance(m, 50) ? 0 : (int)cr_below(m, rank);
    int64_t all = cr_size_of(m, x, axis), n = 1 + cr_below(m, cr_chance(m, 50) ? 1 : all);
    cr_id from = cr_chance(m, 50) ? x : cr_make_partner(m, x);
    cr_id rows = some_work(m, cr_make_slice(m, from, axis, cr_below(m, all - n + 1), n));
    cr_id at = cr_make_integers(m, 0, NULL, -1, (int)(all - n) + 1);
    if (cr_chance(m, 15))
        at = cr_make_const(m, at, (double)cr_below(m, all));
    else if (cr_chance(m, 30))
        at = cr_make2(m, CR_OP_sub, cr_make_const(m, at, (double)(all - n)), at);
    return cr_make(m, CR_OP_write, 3, (cr_id[]){x, rows, at}, &(struct cr_attr){.axis = axis});
}

/* Combines x with a new state, whose next value is computed from x, or into which rows of x are
 * written. */
static cr_id step_state(struct cr_maker *m, cr_id x)
{
    const struct cr_node *node = cr_node_of(m, x);
    int rank = node->rank, axis = rank ? (int)cr_below(m, rank) : 0;
    int64_t shape[CR_MAX_RANK];
    memcpy(shape, node->shape, sizeof shape);
    if (!m->states || m->n_kept == CR_MAX_KEPT)
        return CR_NONE;
    cr_id state = cr_make_leaf_of(m, CR_OP_state, CR_F32, rank, shape, "s2"), next;
    if (rank > 0 && cr_chance(m, 60)) {
        int64_t all = shape[axis], n = 1 + cr_below(m, cr_chance(m, 50) ? 1 : all);
        cr_id rows = some_work(m, cr_make_slice(m, x, axis, cr_below(m, all - n + 1), n));
        cr_id at = cr_make_integers(m, 0, NULL, -1, (int)(all - n) + 1);
        next =
            cr_make(m, CR_OP_write, 3, (cr_id[]){state, rows, at}, &(struct cr_attr){.axis = axis});
    } else {
        next = cr_make2(m, CR_OP_add, some_work(m, x), cr_make_with(m, CR_OP_mul, state, 0.5));
    }
    m->kept[m->n_kept].state = state;
    m->kept[m->n_kept++].value = next;
    return cr_make2(m, CR_OP_add, x, cr_chance(m, 70) ? next : state);
}

static cr_id step_detach(struct cr_maker *m, cr_id x)
{
    return cr_make2(m, CR_OP_mul, x, cr_make1(m, CR_OP_detach, some_work(m, x)));
}

static cr_id step_leaf(struct cr_maker *m, cr_id x)
{
    (void)x;
    return cr_random_leaf(m);
}

/* ---- the choice of a step ---- */

/* The steps whose result has the shape of x. */
static cr_recipe *const even_recipes[] = {
    step_elementwise,    step_elementwise,
    step_select,         step_rows,
    step_round_trip,     step_parts,
    step_pick_rows,      cr_recipe_activation,
    cr_recipe_norm,      cr_recipe_feed_forward,
    cr_recipe_attention, cr_recipe_norm,
    step_convert,        cr_recipe_softmax,
    step_symmetry,       cr_recipe_dropout,
    cr_recipe_typed,     step_write,
    step_state,
};

static cr_recipe *const moving_recipes[] = {
    step_permute, step_reshape, step_refactor,   step_slice, step_slice,
    step_expand,  step_concat,  step_round_trip, step_parts, step_gate,
};

static cr_recipe *const other_recipes[] = {
    step_fold,    step_linear, step_product,    step_gather, step_gate, step_leaf,
    step_scatter, step_detach, cr_recipe_typed, step_chosen, step_take,
};

static cr_recipe *const heavy_recipes[] = {
    cr_recipe_attention,
    cr_recipe_feed_forward,
};

#define ONE_OF(m, recipes) ((recipes)[cr_below(m, sizeof(recipes) / sizeof *(recipes))])

cr_recipe *cr_even_recipe(struct cr_maker *m)
{
    return ONE_OF(m, even_recipes);
}

cr_recipe *cr_moving_recipe(struct cr_maker *m)
{
    return ONE_OF(m, moving_recipes);
}

cr_recipe *cr_other_recipe(struct cr_maker *m)
{
    return ONE_OF(m, other_recipes);
}

cr_recipe *cr_heavy_recipe(struct cr_maker *m)
{
    return ONE_OF(m, heavy_recipes);
}
