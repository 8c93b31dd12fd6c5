#include "lengths.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "axes.h"

/* The input and output of an inference rule: a node with known shape, and its operands. */
struct finder {
    struct cr_graph *g;
    const struct cr_node *node;
    const cr_id *in;
    const signed char *asked; /* by axis: the lengths that the node's own attributes declare */
    signed char *found;       /* by axis: the node's inferred lengths; zeros at first */
};

static bool fail(const struct finder *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets g->error to the op's name and the reason why the op does not allow a length; returns
 * false. */
static bool fail(const struct finder *f, const char *format, ...)
{
    size_t size = sizeof f->g->error;
    int at = snprintf(f->g->error, size, "%s: ", cr_ops[f->node->op].name);
    va_list args;
    va_start(args, format);
    vsnprintf(f->g->error + at, size - (size_t)at, format, args);
    va_end(args);
    return false;
}

static const signed char *of_operand(const struct finder *f, int i)
{
    return f->g->nodes[f->in[i]].lengths;
}

/* Fails because operand `operand` has a length along an axis where the op allows none. */
static bool fail_at(const struct finder *f, const char *what, int operand, int axis)
{
    return fail(f, "%s length %s (axis %d), expected it to stay an axis of its own and whole", what,
                f->g->lengths[of_operand(f, operand)[axis] - 1].name, axis + 1);
}

/* Sets *result to the length of an axis that has length a in one operand and b in another, where
 * 0 means no length.  Fails if they are two different lengths. */
static bool meet(const struct finder *f, int axis, int a, int b, signed char *result)
{
    if (a && b && a != b)
        return fail(f,
                    "axis %d is the length %s in one operand and %s in another, expected the same",
                    axis + 1, f->g->lengths[a - 1].name, f->g->lengths[b - 1].name);
    *result = (signed char)(a ? a : b);
    return true;
}

/* ---- a rule for each kind of op ---- */

/* Fails unless the size of an axis equals the bound of the length that an input's or a limit's
 * attributes declare for it. */
static bool check_asked(const struct finder *f, int axis)
{
    int length = f->asked[axis];
    int64_t size = f->node->shape[axis];
    if (length < 0 || length > f->g->n_lengths)
        return fail(f, "axis %d: found length number %d, expected one of the %d of the graph",
                    axis + 1, length, f->g->n_lengths);
    if (!length || f->g->lengths[length - 1].bound == size)
        return true;
    return fail(f, "axis %d: found size %lld, expected that of length %s, whose bound is %lld",
                axis + 1, (long long)size, f->g->lengths[length - 1].name,
                (long long)f->g->lengths[length - 1].bound);
}

/* Returns the length that the node's attributes declare for an axis, or 0.  Passes copy
 * attributes to nodes of other shapes, so a declared length whose bound differs from the axis's
 * size is ignored.  A length of at most 1 is treated as the number 1, because its axis may be
 * broadcast. */
static signed char asked(const struct finder *f, int axis)
{
    int length = f->asked[axis];
    if (length < 1 || length > f->g->n_lengths || f->node->shape[axis] == 1 ||
        f->g->lengths[length - 1].bound != f->node->shape[axis])
        return 0;
    return (signed char)length;
}

static bool find_leaf(struct finder *f)
{
    for (int i = 0; cr_takes_lengths(f->node->op) && i < f->node->rank; i++) {
        if (f->node->op == CR_OP_input && !check_asked(f, i))
            return false;
        f->found[i] = asked(f, i);
    }
    return true;
}

/* Gives each axis of the result the common length of the operands' axes that correspond to it. */
static bool find_meeting(struct finder *f)
{
    static const signed char none[CR_MAX_RANK];
    for (int i = 0; i < f->node->n_in; i++) {
        const struct cr_node *in = &f->g->nodes[f->in[i]];
        if (memcmp(in->lengths, none, sizeof none) == 0)
            continue;
        for (int a = 0; a < f->node->rank; a++) {
            int from = cr_axis_in_operand(f->node, i, in, a);
            if (from != CR_NONE && in->lengths[from] != f->found[a] &&
                !meet(f, a, f->found[a], in->lengths[from], &f->found[a]))
                return false;
        }
    }
    return true;
}

/* Infers a concat: the size of its axis must not be a length. */
static bool find_concat(struct finder *f)
{
    int axis = f->node->axis;
    for (int i = 0; i < f->node->n_in; i++)
        if (of_operand(f, i)[axis])
            return fail_at(f, "cannot join parts along the", i, axis);
    return find_meeting(f);
}

/* Infers a contraction: the summed axes of both operands must have the same length. */
static bool find_contract(struct finder *f)
{
    int r = f->node->rank;
    signed char inner;
    return find_meeting(f) && meet(f, r - 1, of_operand(f, 0)[r - 1], of_operand(f, 1)[r - 2], &inner);
}

/* Infers a reshape: an axis with a length must have an axis of the result with the same size and
 * as many elements after it.  There is at most one such axis, as the bound is at least 2; see
 * `asked`. */
static bool find_reshape(struct finder *f)
{
    const struct cr_node *in = &f->g->nodes[f->in[0]];
    const signed char *from = of_operand(f, 0);
    for (int a = 0; a < in->rank; a++) {
        int to = from[a] ? cr_reshaped_axis(f->node, in, a) : CR_NONE;
        if (from[a] && to == CR_NONE)
            return fail_at(f, "cannot merge or cut the", 0, a);
        if (from[a])
            f->found[to] = from[a];
    }
    return true;
}

/* Infers a slice: an axis with a length must be kept whole. */
static bool find_slice(struct finder *f)
{
    const struct cr_node *in = &f->g->nodes[f->in[0]];
    for (int a = 0; a < in->rank; a++)
        if (of_operand(f, 0)[a] && f->node->shape[a] != in->shape[a])
            return fail_at(f, "cannot take a part of the", 0, a);
    return find_meeting(f);
}

/* Infers a limit or an expand: it has the operand's lengths and those that its attributes
 * declare. */
static bool find_asked(struct finder *f)
{
    if (!find_meeting(f))
        return false;
    for (int a = 0; a < f->node->rank; a++)
        if ((f->node->op == CR_OP_limit && !check_asked(f, a)) ||
            !meet(f, a, f->found[a], asked(f, a), &f->found[a]))
            return false;
    return true;
}

/* Infers a view. */
static bool find_move(struct finder *f)
{
    switch (f->node->op) {
    case CR_OP_reshape:
        return find_reshape(f);
    case CR_OP_slice:
        return find_slice(f);
    case CR_OP_limit:
    case CR_OP_expand:
        return find_asked(f);
    default: /* permute, detach */
        return find_meeting(f);
    }
}

static bool find_scatter(struct finder *f)
{
    for (int i = 0; i < f->node->n_in; i++)
        for (int a = 0; a < CR_MAX_RANK; a++)
            if (of_operand(f, i)[a])
                return fail_at(f, "cannot add up rows along the", i, a);
    return true;
}

/* Infers a scan.  The scanned axis may be a length.  No other axis may be, since the kernel
 * merges the axes before it into one and the axes after it into another. */
static bool find_scan(struct finder *f)
{
    int axis = f->node->axis;
    for (int a = 0; a < f->node->rank; a++)
        if (of_operand(f, 0)[a] && a != axis)
            return fail_at(f, "cannot take running sums beside the", 0, a);
    f->found[axis] = of_operand(f, 0)[axis];
    return true;
}

/* Infers a write.  The axis along which rows are written must not be a length; the number of
 * written rows may be one. */
static bool find_write(struct finder *f)
{
    const signed char *a = of_operand(f, 0), *rows = of_operand(f, 1);
    int axis = f->node->axis;
    if (a[axis])
        return fail_at(f, "cannot write rows along the", 0, axis);
    for (int i = 0; i < f->node->rank; i++)
        if (i != axis && !meet(f, i, a[i], rows[i], &f->found[i]))
            return false;
    return true;
}

static bool find_random(struct finder *f)
{
    (void)f;
    return true;
}

/* Infers an exchange: every rank's operand has the same lengths. */
static bool find_exchange(struct finder *f)
{
    memcpy(f->found + 1, of_operand(f, 0), (size_t)f->node->rank - 1);
    return true;
}

static bool (*const find[])(struct finder *) = {
    [CR_KIND_LEAF] = find_leaf,         [CR_KIND_ELEMENTWISE] = find_meeting,
    [CR_KIND_REDUCE] = find_meeting,    [CR_KIND_CONTRACT] = find_contract,
    [CR_KIND_MOVE] = find_move,         [CR_KIND_CONCAT] = find_concat,
    [CR_KIND_GATHER] = find_meeting,    [CR_KIND_SCATTER] = find_scatter,
    [CR_KIND_TAKE] = find_meeting,      [CR_KIND_WRITE] = find_write,
    [CR_KIND_RANDOM] = find_random,     [CR_KIND_SCAN] = find_scan,
    [CR_KIND_EXCHANGE] = find_exchange,
};

/* ---- ragged lengths ---- */

static bool has_length(const struct cr_node *node, int length)
{
    for (int a = 0; a < node->rank; a++)
        if (node->lengths[a] == length)
            return true;
    return false;
}

int cr_batch_axis(const struct cr_graph *g, const struct cr_node *node, int length)
{
    int batch = g->lengths[length - 1].batch;
    for (int a = 0; batch && a < node->rank; a++)
        if (node->lengths[a] == batch)
            return a;
    return CR_NONE;
}

/* True if a node has an axis of the ragged length and also the axis of its batch, so that each
 * row has its own size. */
static bool is_by_row(const struct finder *f, const struct cr_node *node, int length)
{
    return has_length(node, length) && cr_batch_axis(f->g, node, length) != CR_NONE;
}

/* Fails because the op does not keep the rows of a ragged length apart. */
static bool fail_ragged(const struct finder *f, int length, const char *what)
{
    const struct cr_length *ragged = &f->g->lengths[length - 1];
    return fail(f, "length %s has a size for each row of %s: %s", ragged->name,
                f->g->lengths[ragged->batch - 1].name, what);
}

/* Fails unless the result has at most one axis of the batch, and it stands left of all axes of
 * the ragged length.  An input must have the axis of the batch. */
static bool check_order(const struct finder *f, int length)
{
    int batch = f->g->lengths[length - 1].batch, n = 0;
    for (int a = 0; a < f->node->rank; a++) {
        n += f->found[a] == batch;
        if ((f->found[a] == length && n == 0 && is_by_row(f, f->node, length)) || n > 1)
            return fail_ragged(f, length, "expected one axis of the batch, left of the length's axis");
    }
    if (f->node->op == CR_OP_input && n == 0)
        return fail_ragged(f, length, "expected an axis of the batch left of the length's axis");
    return true;
}

/* Returns the length of the axis of operand i that the op removes: the axis that it sums over, or
 * from which it picks by an index; 0 if there is none. */
static int consumed(const struct finder *f, int i)
{
    const struct cr_node *in = &f->g->nodes[f->in[i]];
    switch (cr_ops[f->node->op].kind) {
    case CR_KIND_REDUCE:
        return in->lengths[f->node->axis];
    case CR_KIND_CONTRACT:
        return in->lengths[i == 0 ? in->rank - 1 : in->rank - 2];
    case CR_KIND_GATHER:
        return i == 0 ? in->lengths[0] : 0;
    case CR_KIND_TAKE:
        return i == 0 ? in->lengths[f->node->axis] : 0;
    default:
        return 0;
    }
}

/* True if a contraction sums over the ragged length and its other operand has the axis of the
 * batch. */
static bool other_is_by_row(const struct finder *f, int i, int length)
{
    return cr_ops[f->node->op].kind == CR_KIND_CONTRACT &&
           is_by_row(f, &f->g->nodes[f->in[1 - i]], length);
}

/* Fails if the op cannot handle the ragged length of operand i. */
static bool check_operand(const struct finder *f, int i, int length)
{
    const struct cr_node *in = &f->g->nodes[f->in[i]];
    enum cr_kind kind = cr_ops[f->node->op].kind;
    int consumes = consumed(f, i);
    if (!has_length(in, length))
        return true;
    if (kind == CR_KIND_SCAN || kind == CR_KIND_WRITE || kind == CR_KIND_SCATTER ||
        ((kind == CR_KIND_GATHER || kind == CR_KIND_TAKE) && consumes == length))
        return fail_ragged(f, length, "expected another op, or a length without rows");
    if (consumes == length && !is_by_row(f, in, length) && !other_is_by_row(f, i, length))
        return fail_ragged(f, length, "expected an axis of the batch in an operand");
    if (is_by_row(f, in, length) &&
        (consumes == f->g->lengths[length - 1].batch ||
         (has_length(f->node, length) && !is_by_row(f, f->node, length))))
        return fail_ragged(f, length, "expected the axis of the batch in the result, too");
    return true;
}

/* Fails if the op cannot handle a ragged length of an operand or of its result. */
static bool check_ragged(const struct finder *f)
{
    for (int length = 1; length <= f->g->n_lengths; length++) {
        if (!f->g->lengths[length - 1].batch)
            continue;
        if (has_length(f->node, length) && !check_order(f, length))
            return false;
        for (int i = 0; i < f->node->n_in; i++)
            if (!check_operand(f, i, length))
                return false;
    }
    return true;
}

bool cr_infer_lengths(struct cr_graph *g, struct cr_node *node, const cr_id *in,
                      const signed char *asked)
{
    struct finder f = {g, node, in, asked, node->lengths};
    return find[cr_ops[node->op].kind](&f) && check_ragged(&f);
}
