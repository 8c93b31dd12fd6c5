/*
 * gradient.c - the functions of gradients.def and of the gradient column of ops.def, and the walk
 * back through a graph.
 *
 * The walk goes from the last node to the first.  When it reaches a node, all users of the node
 * have added their part of its gradient; the rule of the node then passes it on to the operands
 * that depend on a wanted tensor.
 */
#include "gradient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

/* The gradient of one slice of a tensor, kept until the gradients of all slices of that tensor
 * are known. */
struct part {
    cr_id slice, gradient;
    int next; /* index of the next part of the same operand, or CR_NONE */
};

/* The state of a backward walk; the arrays are indexed by node of the original graph. */
struct walk {
    struct cr_graph *g;
    cr_id *gradient; /* the sum of the gradient terms added so far, or CR_NONE */
    bool *wanted;    /* true if the caller wants the node's gradient */
    bool *depends;   /* true if the node depends on a wanted tensor */
    int *first_part; /* index of the part of the node's first slice, or CR_NONE */
    struct part *parts;
    int n_parts, cap_parts;
};

/* ---- nodes ---- */

static struct cr_node node_of(const struct walk *w, cr_id id)
{
    return w->g->nodes[id]; /* a copy: pointers into the node array become invalid when nodes are
                             * added */
}

static cr_id make(struct walk *w, enum cr_op op, cr_id a, const struct cr_attr *attr)
{
    return cr_must(w->g, op, 1, &a, attr);
}

static cr_id make2(struct walk *w, enum cr_op op, cr_id a, cr_id b)
{
    return cr_must(w->g, op, 2, (cr_id[]){a, b}, NULL);
}

/* Adds a reshape or expand of a node to a shape. */
static cr_id as_shape(struct walk *w, enum cr_op op, cr_id a, int rank, const int64_t *shape)
{
    struct cr_attr attr = {.rank = rank};
    memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    return make(w, op, a, &attr);
}

/* Adds a constant in the shape and type of a node. */
static cr_id constant(struct walk *w, cr_id like, double value)
{
    struct cr_node node = node_of(w, like);
    struct cr_attr attr = {.dtype = node.dtype, .rank = node.rank, .value = value};
    memcpy(attr.shape, node.shape, sizeof attr.shape);
    return cr_must(w->g, CR_OP_const, 0, NULL, &attr);
}

/* True if a node is an expand of one matrix along all batch axes. */
static bool is_one_matrix(const struct cr_graph *g, cr_id id)
{
    if (!cr_repeats_matrices(g, id))
        return false;
    const struct cr_node *in = &g->nodes[cr_in(g, id, 0)];
    return cr_elements(in->rank - 2, in->shape) == 1;
}

/* Returns a node with its last two axes swapped; an expand of one matrix is transposed before the
 * expand. */
static cr_id transposed(struct walk *w, cr_id a)
{
    struct cr_attr attr = {0};
    struct cr_node node = node_of(w, a);
    bool repeated = is_one_matrix(w->g, a);
    cr_id in = repeated ? cr_in(w->g, a, 0) : a;
    int rank = w->g->nodes[in].rank;
    for (int i = 0; i < rank; i++)
        attr.index[i] = i;
    attr.index[rank - 2] = rank - 1;
    attr.index[rank - 1] = rank - 2;
    cr_id result = make(w, CR_OP_permute, in, &attr);
    if (!repeated)
        return result;
    struct cr_attr transposed = cr_attr_of(&node);
    transposed.shape[node.rank - 2] = node.shape[node.rank - 1];
    transposed.shape[node.rank - 1] = node.shape[node.rank - 2];
    return make(w, CR_OP_expand, result, &transposed);
}

/* Adds `part` to the gradient of node `to`, if that node depends on a wanted tensor. */
static void add_to_gradient(struct walk *w, cr_id to, cr_id part)
{
    if (!w->depends[to] || part == CR_NONE)
        return;
    cr_id sum = w->gradient[to];
    w->gradient[to] = sum == CR_NONE ? part : make2(w, CR_OP_add, sum, part);
}

/* ---- elementwise ops and reductions: gradients.def ---- */

/* A node in an expression of gradients.def, with the walk that adds it. */
struct term {
    struct walk *w;
    cr_id id;
};

static const struct term NONE = {NULL, CR_NONE};

static struct term n_number(struct term like, double value)
{
    return (struct term){like.w, constant(like.w, like.id, value)};
}

static struct term n_op(enum cr_op op, int n, struct term a, struct term b, struct term c)
{
    return (struct term){a.w, cr_must(a.w->g, op, n, (cr_id[]){a.id, b.id, c.id}, NULL)};
}

/* Defines a function n_NAME for each elementwise op; some of them are not used. */
#define TERM_1(name)                                                                               \
    __attribute__((unused)) static struct term n_##name(struct term a)                             \
    {                                                                                              \
        return n_op(CR_OP_##name, 1, a, NONE, NONE);                                               \
    }
#define TERM_2(name)                                                                               \
    __attribute__((unused)) static struct term n_##name(struct term a, struct term b)              \
    {                                                                                              \
        return n_op(CR_OP_##name, 2, a, b, NONE);                                                  \
    }
#define TERM_3(name)                                                                               \
    __attribute__((unused)) static struct term n_##name(struct term a, struct term b,              \
                                                        struct term c)                             \
    {                                                                                              \
        return n_op(CR_OP_##name, 3, a, b, c);                                                     \
    }
#define TERM(name, arity, rule, expression, description) TERM_##arity(name)
CR_ELEMENTWISE(TERM)

/* Returns the term of g for one operand of a maximum or minimum: 0 where the other operand was
 * selected (`lost`), half of g where both are equal, else g. */
static struct term n_unless(struct term lost, struct term a, struct term b, struct term g)
{
    struct term half = n_mul(g, n_number(g, 0.5));
    return n_where(lost, n_number(g, 0), n_where(n_eq(a, b), half, g));
}

/* Expands x, which has size 1 along the reduced axis, to the shape of `like`. */
static struct term n_repeat(struct term x, struct term like)
{
    struct cr_node node = node_of(like.w, like.id);
    return (struct term){x.w, as_shape(x.w, CR_OP_expand, x.id, node.rank, node.shape)};
}

/* Divides g evenly among the elements where `chosen` is true: the elements equal to y, the result
 * of a reduction. */
static struct term n_share(struct term chosen, struct term y, struct term g)
{
    struct cr_attr axis = {.axis = node_of(y.w, y.id).axis};
    struct term count = {y.w, make(y.w, CR_OP_sum, n_float(chosen).id, &axis)};
    struct term share = n_repeat(n_div(g, count), chosen);
    return n_where(chosen, share, n_number(share, 0));
}

/* Counts the arguments of a macro, to check that a row of gradients.def has one expression for
 * each operand of its op. */
#define COUNT(...) COUNT_(__VA_ARGS__, 3, 2, 1, 0)
#define COUNT_(a, b, c, n, ...) n

enum {
#define OP(name, arity, rule, expression, description) ARITY_##name = arity,
    CR_ELEMENTWISE(OP)
#undef OP
#define OP(name, rule, identity, combine, description) ARITY_##name = 1,
        CR_REDUCTIONS(OP)
#undef OP
};

#define GRADIENT(name, ...)                                                                        \
    _Static_assert(COUNT(__VA_ARGS__) == ARITY_##name && sizeof(#__VA_ARGS__) > 1,                 \
                   "gradients.def: " #name " has another number of operands");
#include "gradients.def"
#undef GRADIENT

/* Makes a switch whose case i returns the expression for operand i, so that only this one adds
 * nodes. */
#define PARTS(...) PARTS_(__VA_ARGS__, NONE, NONE, )
#define PARTS_(for_a, for_b, for_c, ...)                                                           \
    case 0:                                                                                        \
        return for_a;                                                                              \
    case 1:                                                                                        \
        return for_b;                                                                              \
    case 2:                                                                                        \
        return for_c;

/* Defines a function for each row of gradients.def: it returns the gradient term of operand `i`. */
#define GRADIENT(name, ...)                                                                        \
    static struct term gradient_of_##name(int i, struct term a, struct term b, struct term c,      \
                                          struct term y, struct term g)                            \
    {                                                                                              \
        (void)a, (void)b, (void)c, (void)y, (void)g;                                               \
        switch (i) {                                                                               \
            PARTS(__VA_ARGS__)                                                                     \
        default:                                                                                   \
            abort();                                                                               \
        }                                                                                          \
    }
#include "gradients.def"
#undef GRADIENT

static struct term (*const gradient_of[CR_OP_COUNT])(int, struct term, struct term, struct term,
                                                     struct term, struct term) = {
#define ROW(name, ...) [CR_OP_##name] = gradient_of_##name,
    CR_ELEMENTWISE(ROW) CR_REDUCTIONS(ROW)
#undef ROW
};

const char *cr_gradient_text(enum cr_op op)
{
    static const char *const texts[CR_OP_COUNT] = {
#define GRADIENT(name, ...) [CR_OP_##name] = #__VA_ARGS__,
#include "gradients.def"
#undef GRADIENT
    };
    return texts[op];
}

/* Adds the gradient of each operand that depends on a wanted tensor, by the op's row in
 * gradients.def. */
static void back_by_row(struct walk *w, cr_id id, cr_id g)
{
    struct cr_node node = node_of(w, id);
    struct term in[3] = {NONE, NONE, NONE};
    for (int i = 0; i < node.n_in; i++)
        in[i] = (struct term){w, cr_in(w->g, id, i)};
    for (int i = 0; i < node.n_in; i++)
        if (w->depends[in[i].id])
            add_to_gradient(w, in[i].id,
                            gradient_of[node.op](i, in[0], in[1], in[2], (struct term){w, id},
                                                 (struct term){w, g})
                                .id);
}

/* ---- the other ops: the column of ops.def ---- */

static void back_none(struct walk *w, cr_id id, cr_id g)
{
    (void)w, (void)id, (void)g;
}

static cr_id repeated_like(struct walk *w, cr_id a, cr_id like)
{
    struct cr_node node = node_of(w, like);
    return as_shape(w, CR_OP_expand, a, node.rank, node.shape);
}

/* Reshapes a batch of matrices into one matrix that has the rows of all of them. */
static cr_id one_matrix(struct walk *w, cr_id a)
{
    struct cr_node node = node_of(w, a);
    int64_t cols = node.shape[node.rank - 1];
    int64_t shape[] = {cr_elements(node.rank, node.shape) / cols, cols};
    return as_shape(w, CR_OP_reshape, a, 2, shape);
}

/* Gradient of c = a b: a gets g b', b gets a' g.  If all batches share one b, it gets one product
 * over the rows of all batches instead of a sum of a product for each batch. */
static void back_multiply(struct walk *w, cr_id id, cr_id g)
{
    cr_id a = cr_in(w->g, id, 0), b = cr_in(w->g, id, 1);
    if (w->depends[a])
        add_to_gradient(w, a, make2(w, CR_OP_matmul, g, transposed(w, b)));
    if (w->depends[b] && is_one_matrix(w->g, b) && !w->wanted[b]) {
        cr_id shared = cr_in(w->g, b, 0);
        struct cr_node node = node_of(w, shared);
        cr_id part = make2(w, CR_OP_matmul, transposed(w, one_matrix(w, a)), one_matrix(w, g));
        add_to_gradient(w, shared, as_shape(w, CR_OP_reshape, part, node.rank, node.shape));
    } else if (w->depends[b]) {
        add_to_gradient(w, b, make2(w, CR_OP_matmul, transposed(w, a), g));
    }
}

static void back_reshape(struct walk *w, cr_id id, cr_id g)
{
    cr_id a = cr_in(w->g, id, 0);
    struct cr_node node = node_of(w, a);
    add_to_gradient(w, a, as_shape(w, CR_OP_reshape, g, node.rank, node.shape));
}

static void back_permute(struct walk *w, cr_id id, cr_id g)
{
    struct cr_node node = node_of(w, id);
    struct cr_attr back = {0};
    for (int i = 0; i < node.rank; i++)
        back.index[node.index[i]] = i;
    add_to_gradient(w, cr_in(w->g, id, 0), make(w, CR_OP_permute, g, &back));
}

/* True if an expand repeats its operand along an axis of the result. */
static bool repeats(const struct cr_node *in, const struct cr_node *out, int axis)
{
    int own = axis - (out->rank - in->rank);
    return own < 0 || in->shape[own] != out->shape[axis];
}

/* Gradient of expand: g is summed over the repeated axes.  Adjacent repeated axes are summed as
 * one; all other axes stay separate, so that a sum over the rows of an array has the shape of
 * that array. */
static void back_expand(struct walk *w, cr_id id, cr_id g)
{
    cr_id a = cr_in(w->g, id, 0);
    struct cr_node out = node_of(w, id), in = node_of(w, a);
    struct cr_attr merged = {0};
    bool sums[CR_MAX_RANK] = {false};
    for (int i = 0; i < out.rank; i++) {
        bool repeated = repeats(&in, &out, i);
        if (i == 0 || !repeated || !sums[merged.rank - 1])
            merged.shape[merged.rank++] = 1;
        merged.shape[merged.rank - 1] *= out.shape[i];
        sums[merged.rank - 1] = repeated;
    }
    g = make(w, CR_OP_reshape, g, &merged);
    for (int i = 0; i < merged.rank; i++)
        if (sums[i])
            g = make(w, CR_OP_sum, g, &(struct cr_attr){.axis = i});
    add_to_gradient(w, a, as_shape(w, CR_OP_reshape, g, in.rank, in.shape));
}

/* Gradient of limit: the operand gets g. */
static void back_limit(struct walk *w, cr_id id, cr_id g)
{
    add_to_gradient(w, cr_in(w->g, id, 0), g);
}

/* Gradient of slice: stores g as a part, since the gradients of several slices of a tensor are
 * joined later. */
static void back_slice(struct walk *w, cr_id id, cr_id g)
{
    cr_id a = cr_in(w->g, id, 0);
    *CR_PUSH(w->parts, w->n_parts, w->cap_parts) = (struct part){id, g, w->first_part[a]};
    w->first_part[a] = w->n_parts - 1;
}

/* Adds zeros in the shape of g, with `size` along an axis. */
static cr_id zeros(struct walk *w, cr_id g, int axis, int64_t size)
{
    struct cr_attr attr = cr_attr_of(&w->g->nodes[g]);
    attr.shape[axis] = size;
    attr.value = 0;
    return cr_must(w->g, CR_OP_const, 0, NULL, &attr);
}

/* Concatenates the gradients of disjoint, ordered slices along an axis, with zeros between them. */
static cr_id joined(struct walk *w, int n, const struct part *parts, int axis, int64_t size)
{
    cr_id *in = cr_calloc((size_t)(2 * n + 1), sizeof *in), g = parts[0].gradient;
    int64_t end = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        struct cr_node slice = node_of(w, parts[i].slice);
        if (slice.index[axis] > end)
            in[count++] = zeros(w, g, axis, slice.index[axis] - end);
        in[count++] = parts[i].gradient;
        end = slice.index[axis] + slice.shape[axis];
    }
    if (size > end)
        in[count++] = zeros(w, g, axis, size - end);
    if (count > 1)
        g = cr_must(w->g, CR_OP_concat, count, in, &(struct cr_attr){.axis = axis});
    free(in);
    return g;
}

/* Pads the gradient of a slice of `a` with zeros to the shape of `a`. */
static cr_id padded(struct walk *w, cr_id a, struct part part)
{
    struct cr_node in = node_of(w, a);
    for (int i = in.rank - 1; i >= 0; i--)
        part.gradient = joined(w, 1, &part, i, in.shape[i]);
    return part.gradient;
}

/* Returns the axis that a slice makes shorter; CR_NONE if there is none or more than one. */
static int cut_axis(const struct cr_graph *g, cr_id slice)
{
    const struct cr_node *out = &g->nodes[slice], *in = &g->nodes[cr_in(g, slice, 0)];
    int cut = CR_NONE;
    for (int i = 0; i < out->rank; i++) {
        if (out->shape[i] == in->shape[i])
            continue;
        if (cut != CR_NONE)
            return CR_NONE;
        cut = i;
    }
    return cut;
}

/* Sorts the parts along the one axis that all of them slice, and returns that axis; CR_NONE if
 * there is no such axis, or if two parts overlap. */
static int order_parts(const struct cr_graph *g, int n, struct part *parts)
{
    int axis = cut_axis(g, parts[0].slice);
    for (int i = 1; i < n && axis != CR_NONE; i++) {
        struct part part = parts[i];
        const struct cr_node *node = &g->nodes[part.slice];
        int at = i;
        if (cut_axis(g, part.slice) != axis)
            return CR_NONE;
        for (; at > 0 && g->nodes[parts[at - 1].slice].index[axis] > node->index[axis]; at--)
            parts[at] = parts[at - 1];
        parts[at] = part;
    }
    for (int i = 1; i < n && axis != CR_NONE; i++) {
        const struct cr_node *left = &g->nodes[parts[i - 1].slice];
        if (left->index[axis] + left->shape[axis] > g->nodes[parts[i].slice].index[axis])
            return CR_NONE;
    }
    return axis;
}

/* Adds the gradients of a node's slices to the node's gradient: as one concat if the slices are
 * disjoint, else each padded with zeros. */
static void join_slice_gradients(struct walk *w, cr_id id)
{
    int n = 0;
    for (int i = w->first_part[id]; i != CR_NONE; i = w->parts[i].next)
        n++;
    if (n == 0)
        return;
    struct part *parts = cr_calloc((size_t)n, sizeof *parts);
    for (int i = w->first_part[id], at = 0; i != CR_NONE; i = w->parts[i].next)
        parts[at++] = w->parts[i];
    w->g->here = w->g->nodes[parts[0].slice].where;
    int axis = order_parts(w->g, n, parts);
    if (axis != CR_NONE) {
        add_to_gradient(w, id, joined(w, n, parts, axis, w->g->nodes[id].shape[axis]));
    } else {
        for (int i = 0; i < n; i++)
            add_to_gradient(w, id, padded(w, id, parts[i]));
    }
    free(parts);
}

/* Gradient of concat: each operand gets its slice of g. */
static void back_cut(struct walk *w, cr_id id, cr_id g)
{
    struct cr_node node = node_of(w, id);
    int64_t start = 0;
    for (int i = 0; i < node.n_in; i++) {
        cr_id part = cr_in(w->g, id, i);
        struct cr_attr attr = cr_attr_of(&w->g->nodes[part]);
        memset(attr.index, 0, sizeof attr.index);
        attr.index[node.axis] = start;
        start += attr.shape[node.axis];
        if (w->depends[part])
            add_to_gradient(w, part, make(w, CR_OP_slice, g, &attr));
    }
}

/* Gradient of gather: each row of the table gets the sum of the gradients of its copies. */
static void back_scatter(struct walk *w, cr_id id, cr_id g)
{
    cr_id table = cr_in(w->g, id, 0), in[] = {g, cr_in(w->g, id, 1)};
    struct cr_attr rows = {.shape = {w->g->nodes[table].shape[0]}};
    add_to_gradient(w, table, cr_must(w->g, CR_OP_scatter_add, 2, in, &rows));
}

/* Returns an i32 tensor of a shape in which each element is its index along an axis. */
static cr_id positions(struct walk *w, int rank, const int64_t *shape, int axis)
{
    struct cr_attr attr = {.dtype = CR_I32, .rank = rank, .axis = axis};
    memcpy(attr.shape, shape, (size_t)rank * sizeof *shape);
    return cr_must(w->g, CR_OP_iota, 0, NULL, &attr);
}

/* Gradient of take: each element gets the sum of the gradients of its copies.  A scatter_add sums
 * them by the element's number in row-major order; the number is -1 where the index was out of
 * bounds. */
static void back_take(struct walk *w, cr_id id, cr_id g)
{
    struct cr_node node = node_of(w, id), from = node_of(w, cr_in(w->g, id, 0));
    int64_t n = cr_elements(node.rank, node.shape), inner = 1;
    cr_id index = cr_in(w->g, id, 1), number = constant(w, index, 0);
    for (int a = from.rank - 1; a >= 0; inner *= from.shape[a--]) {
        cr_id at = a == node.axis ? index : positions(w, node.rank, node.shape, a);
        number =
            make2(w, CR_OP_add, number, make2(w, CR_OP_mul, at, constant(w, index, (double)inner)));
    }
    cr_id end = constant(w, index, (double)from.shape[node.axis]);
    cr_id inside = make2(w, CR_OP_logical_and, make2(w, CR_OP_ge, index, constant(w, index, 0)),
                         make2(w, CR_OP_lt, index, end));
    number = cr_must(w->g, CR_OP_where, 3, (cr_id[]){inside, number, constant(w, index, -1)}, NULL);
    cr_id in[] = {as_shape(w, CR_OP_reshape, g, 1, &n), as_shape(w, CR_OP_reshape, number, 1, &n)};
    cr_id sums = cr_must(w->g, CR_OP_scatter_add, 2, in, &(struct cr_attr){.shape = {inner}});
    add_to_gradient(w, cr_in(w->g, id, 0), as_shape(w, CR_OP_reshape, sums, from.rank, from.shape));
}

/* Gradient of scatter_add: each row gets the gradient of the table row to which it was added;
 * zeros if its index was out of bounds. */
static void back_collect(struct walk *w, cr_id id, cr_id g)
{
    cr_id rows = cr_in(w->g, id, 0), index = cr_in(w->g, id, 1);
    double n = (double)w->g->nodes[id].shape[0];
    cr_id begin = make2(w, CR_OP_ge, index, constant(w, index, 0));
    cr_id end = make2(w, CR_OP_lt, index, constant(w, index, n));
    cr_id inside = make2(w, CR_OP_logical_and, begin, end);
    struct cr_attr narrow = cr_attr_of(&w->g->nodes[index]);
    while (narrow.rank < w->g->nodes[rows].rank)
        narrow.shape[narrow.rank++] = 1;
    inside = make(w, CR_OP_reshape, inside, &narrow);
    cr_id in[] = {repeated_like(w, inside, rows), make2(w, CR_OP_gather, g, index), CR_NONE};
    in[2] = constant(w, in[1], 0);
    add_to_gradient(w, rows, cr_must(w->g, CR_OP_where, 3, in, NULL));
}

/* Returns for each written row i its position at + i along the axis, and sets *inside to true for
 * positions within bounds. */
static cr_id rows_written(struct walk *w, cr_id id, cr_id *inside)
{
    struct cr_node node = node_of(w, id), rows = node_of(w, cr_in(w->g, id, 1));
    struct cr_attr along = {.rank = 1, .shape = {rows.shape[node.axis]}};
    cr_id at = as_shape(w, CR_OP_reshape, cr_in(w->g, id, 2), 1, (const int64_t[]){1});
    at = as_shape(w, CR_OP_expand, at, 1, along.shape);
    cr_id index = make2(w, CR_OP_add, at, cr_must(w->g, CR_OP_iota, 0, NULL, &along));
    double n = (double)node.shape[node.axis];
    *inside = make2(w, CR_OP_logical_and, make2(w, CR_OP_ge, index, constant(w, index, 0)),
                    make2(w, CR_OP_lt, index, constant(w, index, n)));
    return index;
}

/* Gradient of write: the overwritten elements of the first operand get 0; each written row gets
 * the gradient of its elements in the result. */
static void back_put(struct walk *w, cr_id id, cr_id g)
{
    cr_id a = cr_in(w->g, id, 0), rows = cr_in(w->g, id, 1), at = cr_in(w->g, id, 2), inside;
    struct cr_attr attr = {.axis = w->g->nodes[id].axis}, swap = {0};
    struct cr_attr narrow = cr_attr_of(&w->g->nodes[rows]);
    if (w->depends[a])
        add_to_gradient(
            w, a, cr_must(w->g, CR_OP_write, 3, (cr_id[]){g, constant(w, rows, 0), at}, &attr));
    if (!w->depends[rows])
        return;
    cr_id index = rows_written(w, id, &inside);
    for (int i = 0; i < narrow.rank; i++)
        swap.index[i] = i;
    swap.index[0] = attr.axis; /* swaps axis 0 and the axis of the write; the same permutation
                                * swaps them back */
    swap.index[attr.axis] = 0;
    cr_id taken = make2(w, CR_OP_gather, make(w, CR_OP_permute, g, &swap), index);
    taken = make(w, CR_OP_permute, taken, &swap);
    for (int i = 0; i < narrow.rank; i++)
        narrow.shape[i] = i == attr.axis ? narrow.shape[i] : 1;
    inside = repeated_like(w, make(w, CR_OP_reshape, inside, &narrow), rows);
    cr_id in[] = {inside, taken, constant(w, rows, 0)};
    add_to_gradient(w, rows, cr_must(w->g, CR_OP_where, 3, in, NULL));
}

/* Gradient of cumsum: a cumsum in the other direction, since each element is a term of all sums
 * after it. */
static void back_scan(struct walk *w, cr_id id, cr_id g)
{
    struct cr_attr attr = {.axis = w->g->nodes[id].axis, .index = {!w->g->nodes[id].index[0]}};
    add_to_gradient(w, cr_in(w->g, id, 0), make(w, CR_OP_cumsum, g, &attr));
}

/* ---- the walk ---- */

typedef void rule_function(struct walk *w, cr_id id, cr_id g);

static rule_function *const rules[CR_OP_COUNT] = {
#define OP(name, kind, operands, equation, description, gradient) [CR_OP_##name] = back_##gradient,
#include "ops.def"
#undef OP
#define ROW(name, ...) [CR_OP_##name] = back_by_row,
    CR_ELEMENTWISE(ROW) CR_REDUCTIONS(ROW)
#undef ROW
};

/* Marks the nodes that depend on a wanted tensor. */
static void mark_dependents(struct walk *w, int n, const cr_id *wanted)
{
    const struct cr_graph *g = w->g;
    for (int i = 0; i < n; i++)
        w->wanted[wanted[i]] = true;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        bool passes = node->dtype == CR_F32 && rules[node->op] != back_none;
        w->depends[id] = w->wanted[id];
        for (int i = 0; passes && i < node->n_in; i++)
            w->depends[id] |= w->depends[cr_in(g, id, i)];
    }
}

static void walk_back(struct walk *w, cr_id last)
{
    int most = w->g->most_nodes;
    for (cr_id id = last; id >= 0 && (most == 0 || w->g->n_nodes <= most); id--) {
        join_slice_gradients(w, id);
        if (!w->depends[id] || w->gradient[id] == CR_NONE)
            continue;
        w->g->here = w->g->nodes[id].where;
        rules[w->g->nodes[id].op](w, id, w->gradient[id]);
    }
}

/* True if an earlier backward pass has named its gradients. */
static bool has_names(const struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].tap && strncmp(g->nodes[id].tap, CR_GRADIENT, sizeof CR_GRADIENT - 1) == 0)
            return true;
    return false;
}

static void name_gradient(struct walk *w, cr_id id, const char *of)
{
    char name[512];
    cr_id gradient = w->gradient[id];
    if (!of || !w->depends[id] || gradient == CR_NONE || w->g->nodes[gradient].tap)
        return;
    snprintf(name, sizeof name, "%s%s", CR_GRADIENT, of);
    w->g->nodes[gradient].tap = cr_intern(w->g, name);
}

/* Gives each gradient a name by which a caller can get it.  Parameters and inputs come first,
 * since one node may be the gradient of several tensors.  Literals get no name. */
static void name_gradients(struct walk *w, cr_id last)
{
    if (has_names(w->g))
        return;
    for (cr_id id = 0; id <= last; id++)
        name_gradient(w, id, cr_is_interface(&w->g->nodes[id]) ? w->g->nodes[id].name : NULL);
    for (cr_id id = last; id >= 0; id--)
        name_gradient(w, id, w->g->nodes[id].tap);
}

void cr_add_gradients(struct cr_graph *g, int n_seeds, const struct cr_seed *seeds, int n,
                      const cr_id *wanted, cr_id *gradients)
{
    size_t nodes = (size_t)g->n_nodes;
    struct cr_where here = g->here;
    struct walk w = {g,
                     cr_calloc(nodes, sizeof *w.gradient),
                     cr_calloc(nodes, sizeof *w.wanted),
                     cr_calloc(nodes, sizeof *w.depends),
                     cr_calloc(nodes, sizeof *w.first_part),
                     NULL,
                     0,
                     0};
    for (size_t i = 0; i < nodes; i++)
        w.gradient[i] = w.first_part[i] = CR_NONE;
    mark_dependents(&w, n, wanted);
    for (int i = 0; i < n_seeds; i++)
        add_to_gradient(&w, seeds[i].id, seeds[i].cotangent);
    walk_back(&w, (cr_id)nodes - 1);
    name_gradients(&w, (cr_id)nodes - 1);
    for (int i = 0; i < n; i++) {
        g->here = g->nodes[wanted[i]].where;
        cr_id gradient = w.gradient[wanted[i]];
        gradients[i] = gradient == CR_NONE ? constant(&w, wanted[i], 0) : gradient;
    }
    g->here = here;
    for (cr_id id = (cr_id)nodes; id < g->n_nodes; id++)
        g->nodes[id].where.backward = true;
    free(w.gradient);
    free(w.wanted);
    free(w.depends);
    free(w.first_part);
    free(w.parts);
}
