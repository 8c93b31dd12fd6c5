/* Builds nodes: each kind of op infers its shape and type from its operands. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "lengths.h"
#include "mem.h"
#include "shape_rules.h"
#include "unwind.h"

/* The input and output of an inference rule.  The node's axes point to an operand's axes, or to
 * `shape` and `index` until they are interned. */
struct build {
    struct cr_graph *g;
    const struct cr_op_info *info;
    int n;
    const struct cr_node *in[3]; /* the first operands */
    const cr_id *ids;
    const struct cr_attr *attr;
    struct cr_node *node;
    int64_t shape[CR_MAX_RANK], index[CR_MAX_RANK];
};

static bool misfit(struct build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the graph's error to the op's name and the reason why its operands or attributes are
 * invalid; returns false. */
static bool misfit(struct build *b, const char *format, ...)
{
    size_t size = sizeof b->g->error;
    int at = snprintf(b->g->error, size, "%s: ", b->info->name);
    va_list args;
    va_start(args, format);
    vsnprintf(b->g->error + at, size - (size_t)at, format, args);
    va_end(args);
    return false;
}

/* Returns a node's shape as text in one of a few static buffers: for messages only. */
static const char *shape_of(const struct cr_node *node)
{
    static _Thread_local char buf[4][200];
    static _Thread_local int next;
    next = (next + 1) % 4;
    return cr_shape_text(buf[next], sizeof buf[next], node->rank, node->shape);
}

/* Sets the node's shape.  Returns false with an error if a size is below `least` or if the tensor
 * would be too large. */
static bool take_sizes(struct build *b, int rank, const int64_t *shape, int64_t least)
{
    if (rank < 0 || rank > CR_MAX_RANK)
        return misfit(b, "found rank %d, expected at most %d", rank, CR_MAX_RANK);
    int64_t elements = 1;
    char text[200];
    for (int i = 0; i < rank; i++) {
        if (shape[i] < least)
            return misfit(b, "found size %lld of axis %d, expected at least %lld",
                          (long long)shape[i], i + 1, (long long)least);
        if (shape[i] > CR_MAX_ELEMENTS / elements)
            return misfit(b, "found a tensor %s of more than 2^40 elements (4 TiB), expected "
                          "smaller sizes", cr_shape_text(text, sizeof text, rank, shape));
        elements *= shape[i] ? shape[i] : 1;
    }
    b->node->rank = rank;
    b->node->shape = b->shape;
    for (int i = 0; i < CR_MAX_RANK; i++)
        b->shape[i] = i < rank ? shape[i] : 0;
    return true;
}

static bool take_shape(struct build *b, int rank, const int64_t *shape)
{
    return take_sizes(b, rank, shape, 1);
}

static void copy_shape(struct build *b, const struct cr_node *from)
{
    b->node->rank = from->rank;
    b->node->shape = from->shape;
}

/* Points the node's attribute `index` to zeroed memory of `b`, which the caller fills.  Returns
 * that memory. */
static int64_t *begin_index(struct build *b)
{
    memset(b->index, 0, sizeof b->index);
    b->node->index = b->index;
    return b->index;
}

static bool take_axis(struct build *b, int rank)
{
    if (b->attr->axis < 0 || b->attr->axis >= rank)
        return misfit(b, "found axis %d of a tensor of rank %d, expected one that it has",
                      b->attr->axis + 1, rank);
    b->node->axis = b->attr->axis;
    return true;
}

/* True for whole numbers from -2^31 to 2^31 - 1. */
bool cr_is_i32(double value)
{
    return value >= INT32_MIN && value <= INT32_MAX && value == floor(value);
}

/* Checks the value of a leaf: elements of an iota must fit in i32, and an i32 constant must have
 * an i32 value. */
static bool check_value(struct build *b)
{
    struct cr_node *node = b->node;
    if (node->op == CR_OP_iota && node->shape[node->axis] - 1 > INT32_MAX)
        return misfit(b, "found %lld elements along the axis, expected at most 2147483648, as "
                      "indices are i32", (long long)node->shape[node->axis]);
    if (node->dtype != CR_I32 || node->op == CR_OP_iota)
        return true;
    if (!cr_is_i32(node->value))
        return misfit(b, "found the value %.14g of an i32, expected a whole number from "
                      "-2147483648 to 2147483647", isnan(node->value) ? (double)NAN : node->value);
    node->value += 0; /* turns -0 into 0 */
    return true;
}

/* Infers a literal: its type is the type of its elements, whose number must match the shape. */
static bool take_literal(struct build *b)
{
    double number = b->attr->value;
    if (!(number >= 0 && number < cr_n_literals(b->g) && number == floor(number)))
        return misfit(b, "found no such literal, expected one of the graph");
    const struct cr_literal *literal = cr_literal_of(b->g, b->node);
    int64_t n = cr_elements(b->node->rank, b->node->shape);
    if (literal->n != n)
        return misfit(b, "found %lld values for %lld elements of %s, expected one for each",
                      (long long)literal->n, (long long)n, shape_of(b->node));
    if (literal->dtype != b->node->dtype)
        return misfit(b, "found type %s, expected %s as its values are",
                      cr_dtype_name(b->node->dtype), cr_dtype_name(literal->dtype));
    b->node->name = cr_intern(b->g, "literal");
    return true;
}

/* Infers a leaf: it has the given shape; only a constant may have no elements; an iota is i32 and
 * has no value; a parameter is f32. */
static bool infer_leaf(struct build *b)
{
    enum cr_op op = b->node->op;
    if (!take_sizes(b, b->attr->rank, b->attr->shape, op == CR_OP_const ? 0 : 1))
        return false;
    b->node->dtype = op == CR_OP_iota ? CR_I32 : b->attr->dtype;
    b->node->value = op == CR_OP_iota ? 0 : b->attr->value;
    if (op == CR_OP_iota)
        return take_axis(b, b->node->rank) && check_value(b);
    if (op == CR_OP_const)
        return check_value(b);
    if (op == CR_OP_literal)
        return take_literal(b);
    if (op == CR_OP_param && b->attr->dtype != CR_F32)
        return misfit(b, "parameter %s is %s, expected f32", b->attr->name,
                      cr_dtype_name(b->attr->dtype));
    b->node->init = b->attr->init;
    b->node->format = op == CR_OP_param ? b->attr->format : CR_FORMAT_f32;
    b->node->arithmetic = op == CR_OP_param ? b->attr->arithmetic : CR_ARITHMETIC_f32;
    b->node->name = cr_intern(b->g, b->attr->name);
    return true;
}

/* Infers the type of an elementwise op by its rule.  All operands except the condition of a select
 * have one type. */
static bool infer_type(struct build *b)
{
    const struct cr_node *a = b->in[0], *last = b->in[b->n - 1];
    const char *name = cr_dtype_name(a->dtype);
    bool select = b->info->rule == CR_RULE_SELECT;
    if (b->n > 1 && b->in[select ? 1 : 0]->dtype != last->dtype)
        return misfit(b, "found types %s and %s, expected equal ones",
                      cr_dtype_name(b->in[select ? 1 : 0]->dtype), cr_dtype_name(last->dtype));
    b->node->dtype = last->dtype;
    switch (b->info->rule) {
    case CR_RULE_ARITH:
        return a->dtype != CR_BOOL || misfit(b, "operand is bool, expected f32 or i32");
    case CR_RULE_FLOAT:
        return a->dtype == CR_F32 || misfit(b, "operand is %s, expected f32", name);
    case CR_RULE_COMPARE:
        b->node->dtype = CR_BOOL;
        return a->dtype != CR_BOOL || misfit(b, "operand is bool, expected f32 or i32");
    case CR_RULE_CONVERT:
        b->node->dtype = CR_F32;
        return a->dtype != CR_F32 || misfit(b, "operand is f32, expected i32 or bool");
    case CR_RULE_TRUNCATE:
        b->node->dtype = CR_I32;
        return a->dtype != CR_I32 || misfit(b, "operand is i32, expected f32 or bool");
    default:
        return a->dtype == CR_BOOL || misfit(b, "operand is %s, expected bool", name);
    }
}

static bool infer_elementwise(struct build *b)
{
    for (int i = 1; i < b->n; i++)
        if (!cr_same_shape(b->in[0], b->in[i]))
            return misfit(b, "found shapes %s and %s, expected equal ones", shape_of(b->in[0]),
                          shape_of(b->in[i]));
    copy_shape(b, b->in[0]);
    return infer_type(b);
}

static bool infer_reduce(struct build *b)
{
    const struct cr_node *a = b->in[0];
    int64_t shape[CR_MAX_RANK];
    if (!infer_type(b) || !take_axis(b, a->rank))
        return false;
    return take_shape(b, cr_reduce_shape(shape, a->rank, a->shape, 1u << b->node->axis, true), shape);
}

/* Infers a matmul: [.., m, k] and [.., k, n] give [.., m, n]; leading axes must be equal, since no
 * op broadcasts. */
static bool infer_contract(struct build *b)
{
    const struct cr_node *x = b->in[0], *y = b->in[1];
    if (x->dtype != CR_F32 || y->dtype != CR_F32)
        return misfit(b, "operands are %s and %s, expected f32", cr_dtype_name(x->dtype),
                      cr_dtype_name(y->dtype));
    int r = x->rank, rank;
    int64_t shape[CR_MAX_RANK];
    if (r < 2 || y->rank < 2)
        return misfit(b, "found shapes %s and %s, expected rank 2 or more for both", shape_of(x),
                      shape_of(y));
    if (r != y->rank || memcmp(x->shape, y->shape, (size_t)(r - 2) * sizeof *x->shape) != 0)
        return misfit(b, "shapes %s and %s: batch dimensions differ, expected equal ones",
                      shape_of(x), shape_of(y));
    if (cr_product_shape(&rank, shape, r, x->shape, r, y->shape) != CR_PRODUCT_FITS)
        return misfit(b, "shapes %s and %s: inner dimensions %lld and %lld differ, expected equal "
                      "ones", shape_of(x), shape_of(y), (long long)x->shape[r - 1],
                      (long long)y->shape[r - 2]);
    b->node->dtype = CR_F32;
    return take_shape(b, rank, shape);
}

/* Infers a reshape.  The operand may have no elements: the pass `separate_outputs` adds a reshape
 * to such outputs so that each is a separate node. */
static bool infer_reshape(struct build *b)
{
    if (!take_sizes(b, b->attr->rank, b->attr->shape, cr_is_empty(b->in[0]) ? 0 : 1))
        return false;
    if (cr_elements(b->node->rank, b->node->shape) != cr_elements(b->in[0]->rank, b->in[0]->shape))
        return misfit(b, "shapes %s and %s have different numbers of elements, expected equal ones",
                      shape_of(b->in[0]), shape_of(b->node));
    return true;
}

/* Infers a permute: axis i of the result is axis index[i] of the operand. */
static bool infer_permute(struct build *b)
{
    const struct cr_node *a = b->in[0];
    int64_t shape[CR_MAX_RANK];
    int fit = cr_permute_shape(shape, a->rank, a->shape, b->attr->index);
    if (fit < a->rank)
        return misfit(b, "found axis %lld twice or out of range, expected each of the %d axes "
                      "once", (long long)b->attr->index[fit] + 1, a->rank);
    memcpy(begin_index(b), b->attr->index, (size_t)a->rank * sizeof *shape);
    return take_shape(b, a->rank, shape);
}

static bool infer_expand(struct build *b)
{
    const struct cr_node *a = b->in[0];
    if (!take_shape(b, b->attr->rank, b->attr->shape))
        return false;
    return cr_expands_to(a->rank, a->shape, b->node->rank, b->node->shape) ||
           misfit(b, "shape %s does not broadcast to %s, expected sizes that are equal or 1, from the last axis on",
                  shape_of(a), shape_of(b->node));
}

/* Infers a slice: a range of shape[i] elements of each axis i that starts at index[i]. */
static bool infer_slice(struct build *b)
{
    const struct cr_node *a = b->in[0];
    int64_t *index = begin_index(b);
    for (int i = 0; i < a->rank; i++) {
        int64_t start = b->attr->index[i], size = b->attr->shape[i];
        if (size < 1 || !cr_is_inside(start, size, a->shape[i]))
            return misfit(b, "found %lld elements from %lld on of axis %d of %s, expected a range "
                          "inside the axis", (long long)size, (long long)start, i + 1, shape_of(a));
        index[i] = start;
    }
    if (b->attr->part && (a->op != CR_OP_param || a->rank != 2))
        return misfit(b, "found a part of %s %s, expected one of a parameter with two axes",
                      cr_ops[a->op].name, shape_of(a));
    if (b->attr->part)
        b->node->name = a->name;
    return take_shape(b, a->rank, b->attr->shape);
}

/* Infers a move: it keeps the type; each op has a rule for its shape. */
static bool infer_move(struct build *b)
{
    b->node->dtype = b->in[0]->dtype;
    switch (b->node->op) {
    case CR_OP_reshape:
        return infer_reshape(b);
    case CR_OP_permute:
        return infer_permute(b);
    case CR_OP_expand:
        return infer_expand(b);
    case CR_OP_limit:
    case CR_OP_detach:
        copy_shape(b, b->in[0]);
        return true;
    default:
        return infer_slice(b);
    }
}

/* Infers a concat: operands differ only in their sizes along the axis, which are added. */
static bool infer_concat(struct build *b)
{
    const struct cr_node *first = b->in[0];
    if (!take_axis(b, first->rank))
        return false;
    int axis = b->node->axis;
    int64_t shape[CR_MAX_RANK];
    memcpy(shape, first->shape, sizeof shape);
    for (int i = 1; i < b->n; i++) {
        const struct cr_node *next = &b->g->nodes[b->ids[i]];
        if (!cr_differ_along(axis, first->rank, first->shape, next->rank, next->shape) || next->dtype != first->dtype)
            return misfit(b, "found %s %s and %s %s, expected one type, and shapes that differ "
                          "along axis %d only", cr_dtype_name(first->dtype), shape_of(first),
                          cr_dtype_name(next->dtype), shape_of(next), axis + 1);
        shape[axis] += next->shape[axis];
    }
    b->node->dtype = first->dtype;
    return take_shape(b, first->rank, shape);
}

/* Infers a gather: one row of the table for each index, so the shape of the index comes first,
 * then the shape of a row. */
static bool infer_gather(struct build *b)
{
    const struct cr_node *table = b->in[0], *index = b->in[1];
    if (index->dtype != CR_I32)
        return misfit(b, "index is %s, expected i32", cr_dtype_name(index->dtype));
    if (table->rank < 1 || index->rank + table->rank - 1 > CR_MAX_RANK)
        return misfit(b, "found a table %s and an index %s, expected a result of rank %d or less",
                      shape_of(table), shape_of(index), CR_MAX_RANK);
    int64_t shape[CR_MAX_RANK];
    int rank = cr_gather_shape(shape, table->rank, table->shape, index->rank, index->shape);
    b->node->dtype = table->dtype;
    return take_shape(b, rank, shape);
}

/* Infers a take: the result has the shape of the index, which has the sizes of the first operand
 * on all other axes. */
static bool infer_take(struct build *b)
{
    const struct cr_node *a = b->in[0], *index = b->in[1];
    if (index->dtype != CR_I32)
        return misfit(b, "index is %s, expected i32", cr_dtype_name(index->dtype));
    copy_shape(b, index);
    b->node->dtype = a->dtype;
    if (!take_axis(b, a->rank))
        return false;
    return cr_differ_along(b->node->axis, a->rank, a->shape, index->rank, index->shape) ||
           misfit(b, "found shape %s and an index %s, expected equal sizes on all axes but %d",
                  shape_of(a), shape_of(index), b->node->axis + 1);
}

/* Infers a scatter_add.  The result is a table: an attribute gives its number of rows; each row
 * has the shape of `rows` without the leading axes, which are the axes of the index. */
static bool infer_scatter(struct build *b)
{
    const struct cr_node *rows = b->in[0], *index = b->in[1];
    int rank = rows->rank - index->rank;
    if (rows->dtype != CR_F32 || index->dtype != CR_I32)
        return misfit(b, "rows are %s and the index is %s, expected f32 and i32",
                      cr_dtype_name(rows->dtype), cr_dtype_name(index->dtype));
    if (rank < 0 || memcmp(rows->shape, index->shape, (size_t)index->rank * sizeof *index->shape))
        return misfit(b, "found rows %s and an index %s, expected the axes of the index first "
                      "among those of the rows", shape_of(rows), shape_of(index));
    if (rank == CR_MAX_RANK)
        return misfit(b, "found rows %s, expected a result of rank %d or less", shape_of(rows),
                      CR_MAX_RANK);
    int64_t shape[CR_MAX_RANK] = {b->attr->shape[0]};
    memcpy(shape + 1, rows->shape + index->rank, (size_t)rank * sizeof *shape);
    b->node->dtype = CR_F32;
    return take_shape(b, rank + 1, shape);
}

/* Infers a write: the rows have the shape of the first operand, which they are written to, but
 * may be fewer along the axis. */
static bool infer_write(struct build *b)
{
    const struct cr_node *a = b->in[0], *rows = b->in[1], *at = b->in[2];
    if (at->dtype != CR_I32 || cr_elements(at->rank, at->shape) != 1)
        return misfit(b, "`at` is %s %s, expected one i32", cr_dtype_name(at->dtype),
                      shape_of(at));
    if (!take_axis(b, a->rank))
        return false;
    if (!cr_differ_along(b->node->axis, a->rank, a->shape, rows->rank, rows->shape) || rows->dtype != a->dtype)
        return misfit(b, "found %s %s and rows %s %s, expected one type, and shapes that differ "
                      "along axis %d only", cr_dtype_name(a->dtype), shape_of(a),
                      cr_dtype_name(rows->dtype), shape_of(rows), b->node->axis + 1);
    if (rows->shape[b->node->axis] > a->shape[b->node->axis])
        return misfit(b, "found %lld rows to write to %s, expected at most %lld",
                      (long long)rows->shape[b->node->axis], shape_of(a),
                      (long long)a->shape[b->node->axis]);
    copy_shape(b, a);
    b->node->dtype = a->dtype;
    return true;
}

static bool infer_random(struct build *b)
{
    const struct cr_node *seed = b->in[0];
    if (seed->dtype != CR_I32 || cr_elements(seed->rank, seed->shape) != 1)
        return misfit(b, "the seed is %s %s, expected one i32", cr_dtype_name(seed->dtype),
                      shape_of(seed));
    b->node->dtype = CR_F32;
    b->node->value = b->attr->value;
    return take_shape(b, b->attr->rank, b->attr->shape);
}

/* Infers a scan: it keeps the shape; integers are added modulo 2^32. */
static bool infer_scan(struct build *b)
{
    copy_shape(b, b->in[0]);
    b->node->dtype = b->in[0]->dtype;
    begin_index(b)[0] = b->attr->index[0] != 0;
    if (b->node->dtype == CR_BOOL)
        return misfit(b, "operand is bool, expected f32 or i32");
    return take_axis(b, b->node->rank);
}

/* Infers an exchange: the result has the shape of one rank's operand, preceded by an axis that
 * counts the ranks. */
static bool infer_exchange(struct build *b)
{
    const struct cr_node *a = b->in[0];
    int64_t shape[CR_MAX_RANK];
    if (a->rank == CR_MAX_RANK || !(b->attr->value >= 1) || b->attr->value > INT32_MAX)
        return misfit(b, "found %s from %.14g ranks, expected one axis less, and at least 1 rank", shape_of(a),
                      b->attr->value);
    shape[0] = (int64_t)b->attr->value;
    memcpy(shape + 1, a->shape, (size_t)a->rank * sizeof *shape);
    b->node->dtype = a->dtype;
    b->node->value = (double)shape[0];
    return take_shape(b, a->rank + 1, shape);
}

/* The rule for each kind of op. */
static bool (*const infer[])(struct build *) = {
    [CR_KIND_LEAF] = infer_leaf,         [CR_KIND_ELEMENTWISE] = infer_elementwise,
    [CR_KIND_REDUCE] = infer_reduce,     [CR_KIND_CONTRACT] = infer_contract,
    [CR_KIND_MOVE] = infer_move,         [CR_KIND_CONCAT] = infer_concat,
    [CR_KIND_GATHER] = infer_gather,     [CR_KIND_SCATTER] = infer_scatter,
    [CR_KIND_TAKE] = infer_take,         [CR_KIND_WRITE] = infer_write,
    [CR_KIND_RANDOM] = infer_random,     [CR_KIND_SCAN] = infer_scan,
    [CR_KIND_EXCHANGE] = infer_exchange,
};

/* Resets a node to a given op.  Assigns each field separately: cr_build infers every node several
 * times, and clearing the whole struct takes longer. */
static void clear_node(struct cr_node *node, enum cr_op op, int n, const struct cr_where *where)
{
    node->op = op;
    node->dtype = CR_F32;
    node->rank = node->axis = node->first_in = 0;
    node->n_in = n;
    node->value = 0;
    node->name = node->tap = NULL;
    node->init = CR_INIT_UNIFORM;
    node->format = CR_FORMAT_f32;
    node->arithmetic = CR_ARITHMETIC_f32;
    node->where = *where;
    node->kernel = CR_NONE;
    node->shape = node->index = cr_no_axes;
    memset(node->lengths, 0, sizeof node->lengths);
}

/* Interns the node's shape and index if they still point into `b`. */
static void intern_axes(struct build *b)
{
    if (b->node->shape == b->shape)
        b->node->shape = cr_intern_axes(b->g, b->shape);
    if (b->node->index == b->index)
        b->node->index = cr_intern_axes(b->g, b->index);
}

/* Infers b->node; its shape and index may still point into *b.  The caller leaves *b
 * uninitialised except for `node`: clearing `shape` and `index`, which few ops use, would cost
 * time. */
static bool infer_node(struct build *b, struct cr_graph *g, enum cr_op op, int n, const cr_id *in,
                       const struct cr_attr *attr)
{
    static const struct cr_attr none;
    clear_node(b->node, op, n, &g->here);
    b->g = g;
    b->info = &cr_ops[op];
    b->n = n;
    b->ids = in;
    b->attr = attr ? attr : &none;
    if (b->info->arity < 0 ? n < 1 : n != b->info->arity)
        return misfit(b, "found %d operands, expected %d", n,
                      b->info->arity < 0 ? 1 : b->info->arity);
    for (int i = 0; i < n; i++)
        if (cr_is_empty(&g->nodes[in[i]]) && op != CR_OP_reshape)
            return misfit(b, "operand %d is %s, which has no elements, expected such a tensor as "
                          "an output only", i + 1, shape_of(&g->nodes[in[i]]));
    for (int i = 0; i < n && i < 3; i++)
        b->in[i] = &g->nodes[in[i]];
    return infer[b->info->kind](b);
}

/* Infers the lengths of b->node, whose shape is known. */
static bool infer_lengths(struct build *b)
{
    return !b->g->n_lengths || cr_infer_lengths(b->g, b->node, b->ids, b->attr->lengths);
}

bool cr_infer(struct cr_graph *g, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr,
              struct cr_node *node)
{
    struct build b;
    b.node = node;
    if (!infer_node(&b, g, op, n, in, attr) || !infer_lengths(&b))
        return false;
    intern_axes(&b);
    return true;
}

/* True if the axes of a node are interned and equal the inferred axes. */
static bool same_axes(const struct cr_graph *g, const int64_t *inferred, const int64_t *axes)
{
    return inferred == axes || (cr_are_interned(g, axes) &&
                                memcmp(inferred, axes, sizeof cr_no_axes) == 0);
}

const char *cr_check_inference(struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    struct cr_attr attr;
    struct cr_node again;
    struct build b;
    bool has_attributes = cr_has_attributes(node->op);
    if (has_attributes)
        cr_get_attr(node, &attr);
    b.node = &again;
    if (!infer_node(&b, g, node->op, node->n_in, cr_inputs(g, node), has_attributes ? &attr : NULL) ||
        !infer_lengths(&b))
        return g->error;
    if (again.rank != node->rank || again.dtype != node->dtype ||
        !same_axes(g, again.shape, node->shape))
        return "shape or type is not what its operands give";
    if (memcmp(again.lengths, node->lengths, sizeof again.lengths) != 0)
        return "its lengths are not what its operands give";
    if (again.axis != node->axis || again.init != node->init || again.format != node->format ||
        again.arithmetic != node->arithmetic || !same_axes(g, again.index, node->index) ||
        memcmp(&again.value, &node->value, sizeof again.value) != 0)
        return "it has an attribute that its op does not";
    return again.name == node->name ? NULL : "its name is not interned";
}

/* Appends an inferred node to the graph. */
static cr_id add_node(struct cr_graph *g, struct cr_node *node, int n, const cr_id *in)
{
    node->first_in = g->n_operands;
    if (node->name)
        node->where.entry = 0; /* all entries share it */
    for (int i = 0; i < n; i++)
        *CR_PUSH(g->operands, g->n_operands, g->cap_operands) = in[i];
    *CR_PUSH(g->nodes, g->n_nodes, g->cap_nodes) = *node;
    return g->n_nodes - 1;
}

cr_id cr_build(struct cr_graph *g, enum cr_op op, int n, const cr_id *in,
               const struct cr_attr *attr)
{
    struct cr_node node;
    return cr_infer(g, op, n, in, attr, &node) ? add_node(g, &node, n, in) : CR_NONE;
}

cr_id cr_must(struct cr_graph *g, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr)
{
    struct cr_node node;
    struct build b;
    b.node = &node;
    if (!infer_node(&b, g, op, n, in, attr))
        cr_throw("bug: a pass built a node that does not fit: %s", g->error);
    infer_lengths(&b);
    intern_axes(&b);
    return add_node(g, &node, n, in);
}
