/*
 * rank_parts.c - adds nodes to the new graph: this rank's part of a whole value, and the whole value gathered from the
 * parts of all ranks.
 */
#include "cuts.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

cr_id cr_shard_add(struct cr_shard *s, enum cr_op op, cr_id in, const struct cr_attr *attr)
{
    return cr_rewrite_add(&s->rw, op, 1, &in, attr);
}

const struct cr_node *cr_shard_made(const struct cr_shard *s, cr_id id)
{
    return &s->rw.to->nodes[id];
}

cr_id cr_shard_slice(struct cr_shard *s, cr_id in, int axis, int64_t begin, int64_t size)
{
    struct cr_attr attr = cr_attr_of(cr_shard_made(s, in));
    if (begin == 0 && size == attr.shape[axis])
        return in;
    memset(attr.index, 0, sizeof attr.index);
    memset(attr.lengths, 0, sizeof attr.lengths);
    attr.part = false;
    attr.index[axis] = begin;
    attr.shape[axis] = size;
    return cr_shard_add(s, CR_OP_slice, in, &attr);
}

static cr_id add_concat(struct cr_shard *s, int n, const cr_id *in, int axis)
{
    return n == 1 ? in[0]
                  : cr_rewrite_add(&s->rw, CR_OP_concat, n, in, &(struct cr_attr){.axis = axis});
}

/* `n` ranges of elements along an axis, whose parts are joined in this order; `all` is the sum of
 * their sizes. */
struct ranges {
    int n;
    int64_t begin[CR_SEGMENTS], size[CR_SEGMENTS], all;
};

/* The parts added so far for one cut, by node of the new graph. */
struct parts {
    const struct ranges *ranges;
    int n;       /* number of nodes before the first part was added */
    cr_id *made; /* by node: the node's part along axis[node], or CR_NONE */
    int *axis;
};

static cr_id add_part(struct cr_shard *s, struct parts *p, cr_id id, int axis);

/* True if element i of a node along an axis depends only on elements i of its operands along that
 * axis.  This holds for constants, for iotas along other axes, and for arithmetic along a batch
 * axis, such as heads.  In a graph without attentions it returns false for arithmetic, so that none
 * is done twice: gradients read the inside of a softmax, and a copy of that softmax would look like
 * an attention. */
static bool is_along_axis(const struct cr_shard *s, cr_id id, int axis)
{
    const struct cr_node *node = cr_shard_made(s, id);
    enum cr_kind kind = cr_ops[node->op].kind;
    if (node->op == CR_OP_const || (node->op == CR_OP_iota && node->axis != axis))
        return true;
    return s->attends && axis < node->rank - 2 &&
           (kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_CONTRACT ||
            ((kind == CR_KIND_REDUCE || kind == CR_KIND_CONCAT) && node->axis != axis));
}

/* Adds a node that computes only the elements in the ranges, by applying the op of node `id` to
 * parts of its operands. */
static cr_id add_work(struct cr_shard *s, struct parts *p, cr_id id, int axis)
{
    struct cr_attr attr = cr_attr_of(cr_shard_made(s, id));
    enum cr_op op = cr_shard_made(s, id)->op;
    int n = cr_shard_made(s, id)->n_in;
    cr_id *in = cr_calloc((size_t)n + 1, sizeof *in);
    attr.shape[axis] = p->ranges->all;
    for (int i = 0; i < n; i++)
        in[i] = add_part(s, p, cr_in(s->rw.to, id, i), axis);
    cr_id part = cr_rewrite_add(&s->rw, op, n, in, &attr);
    free(in);
    return part;
}

/* True if a part of node `id` is its movement op applied to a part of its operand: for a permute,
 * an expand, or a slice along other axes. */
static bool moves_along(const struct cr_graph *g, cr_id id, int axis)
{
    const struct cr_node *node = &g->nodes[id];
    return node->op == CR_OP_permute || node->op == CR_OP_expand ||
           (node->op == CR_OP_slice && g->nodes[cr_in(g, id, 0)].shape[axis] == node->shape[axis]);
}

/* Adds a movement op that returns only the elements in the ranges; moves_along must be true for
 * node `id`. */
static cr_id add_move(struct cr_shard *s, struct parts *p, cr_id id, int axis)
{
    const struct cr_node *node = cr_shard_made(s, id);
    struct cr_attr attr = cr_attr_of(node);
    enum cr_op op = node->op;
    cr_id in = cr_in(s->rw.to, id, 0);
    int below = op == CR_OP_permute ? (int)node->index[axis]
                                    : axis - (node->rank - cr_shard_made(s, in)->rank);
    if (below >= 0 && cr_shard_made(s, in)->shape[below] == node->shape[axis])
        in = add_part(s, p, in, below);
    attr.shape[axis] = p->ranges->all;
    return cr_shard_add(s, op, in, &attr);
}

/* True if a node is a view of the result of an all_gather. */
static bool views_gathered(const struct cr_graph *g, cr_id id)
{
    while (cr_ops[g->nodes[id].op].kind == CR_KIND_MOVE)
        id = cr_in(g, id, 0);
    return g->nodes[id].op == CR_OP_all_gather;
}

static cr_id add_slices(struct cr_shard *s, const struct ranges *ranges, cr_id id, int axis)
{
    cr_id parts[CR_SEGMENTS];
    s->stores_gathered |= views_gathered(s->rw.to, id);
    for (int i = 0; i < ranges->n; i++)
        parts[i] = cr_shard_slice(s, id, axis, ranges->begin[i], ranges->size[i]);
    return add_concat(s, ranges->n, parts, axis);
}

/* Returns the elements of a node that are in the ranges.  A movement op is applied to a part of its
 * operand, so that later passes still recognise a weight.  Arithmetic along a batch axis is done
 * for a part of the axis, so that they still recognise an attention.  Any other node is sliced. */
static cr_id add_part(struct cr_shard *s, struct parts *p, cr_id id, int axis)
{
    if (id < p->n && p->made[id] != CR_NONE && p->axis[id] == axis)
        return p->made[id];
    cr_id part = is_along_axis(s, id, axis)        ? add_work(s, p, id, axis)
                 : moves_along(s->rw.to, id, axis) ? add_move(s, p, id, axis)
                                                   : add_slices(s, p->ranges, id, axis);
    if (id < p->n) {
        p->made[id] = part;
        p->axis[id] = axis;
    }
    return part;
}

static cr_id add_ranges(struct cr_shard *s, cr_id id, int axis, const struct ranges *ranges)
{
    struct parts p = {.ranges = ranges, .n = s->rw.to->n_nodes};
    p.made = cr_calloc((size_t)p.n, sizeof *p.made);
    p.axis = cr_calloc((size_t)p.n, sizeof *p.axis);
    for (int i = 0; i < p.n; i++)
        p.made[i] = CR_NONE;
    cr_id part = add_part(s, &p, id, axis);
    free(p.made);
    free(p.axis);
    return part;
}

/* Adds the slice of a table with this rank's columns.  The slice has a layout of its own in the
 * weights. */
cr_id cr_add_table(struct cr_shard *s, cr_id table, const struct cr_axis_cut *cut)
{
    const struct cr_cut_segment *columns = &cut->segments[0];
    return cr_shard_add(
        s, CR_OP_slice, table,
        &(struct cr_attr){.part = true,
                          .index = {0, cr_begin_of(s, columns)},
                          .shape = {cr_shard_made(s, table)->shape[0], cr_share_of(s, columns)}});
}

/* Returns the part of a whole value that `cut` gives this rank. */
static cr_id take_part(struct cr_shard *s, cr_id whole, const struct cr_axis_cut *cut)
{
    struct ranges ranges = {.n = cut->n, .all = cr_local_size(s, cut)};
    int64_t begin = 0;
    for (int i = 0; i < cut->n; i++) {
        int64_t share = cr_share_of(s, &cut->segments[i]);
        ranges.begin[i] = begin + cr_begin_of(s, &cut->segments[i]);
        ranges.size[i] = share;
        begin += cut->segments[i].size;
    }
    return add_ranges(s, whole, cut->axis, &ranges);
}

/* Moves the first axis of `parts`, over the ranks, to the position of `axis` and merges the two. */
static cr_id join_parts(struct cr_shard *s, cr_id parts, int axis)
{
    const struct cr_node *node = cr_shard_made(s, parts);
    struct cr_attr move = {.rank = node->rank}, join = {.rank = node->rank - 1};
    int r = node->rank;
    for (int a = 0; a < r; a++)
        move.index[a] = a < axis ? a + 1 : a == axis ? 0 : a;
    for (int a = 0; a < r - 1; a++)
        join.shape[a] = node->shape[a + 1] * (a == axis ? node->shape[0] : 1);
    return cr_shard_add(s, CR_OP_reshape, cr_shard_add(s, CR_OP_permute, parts, &move), &join);
}

/* Returns a whole segment from the parts of all ranks.  The parts of the first ranks are adjacent.
 * If the size of a share does not divide the segment, the part of the next rank overlaps the one
 * before, and only its end is used. */
static cr_id join_segment(struct cr_shard *s, cr_id parts, int axis,
                          const struct cr_cut_segment *segment)
{
    int64_t share = cr_share_of(s, segment), full = segment->size / share,
            rest = segment->size % share;
    cr_id pieces[2] = {join_parts(s, cr_shard_slice(s, parts, 0, 0, full), axis)};
    if (!rest)
        return pieces[0];
    cr_id last =
        cr_shard_slice(s, cr_shard_slice(s, parts, 0, full, 1), axis + 1, share - rest, rest);
    pieces[1] = join_parts(s, last, axis);
    return add_concat(s, 2, pieces, axis);
}

/* Returns the whole value of a node in the new graph; adds the exchange that gathers it if the node
 * is cut. */
cr_id cr_whole_of(struct cr_shard *s, cr_id id)
{
    const struct cr_axis_cut *cut = &s->of[id].cut;
    cr_id segments[CR_SEGMENTS];
    int64_t begin = 0;
    if (!cut->n)
        return s->rw.map[id];
    if (s->of[id].whole != CR_NONE)
        return s->of[id].whole;
    cr_id all =
        cr_shard_add(s, CR_OP_all_gather, s->rw.map[id], &(struct cr_attr){.value = s->ranks});
    for (int i = 0; i < cut->n; i++) {
        int64_t share = cr_share_of(s, &cut->segments[i]);
        cr_id parts = cr_shard_slice(s, all, cut->axis + 1, begin, share);
        segments[i] = join_segment(s, parts, cut->axis, &cut->segments[i]);
        begin += share;
    }
    return s->of[id].whole = add_concat(s, cut->n, segments, cut->axis);
}

/* Returns the part of a node that `cut` gives this rank: the node itself if it has this cut, else a
 * part of its whole value. */
cr_id cr_part_of(struct cr_shard *s, cr_id id, const struct cr_axis_cut *cut)
{
    return cr_same_cut(s, cr_read_cut(s, id), cut) ? s->rw.map[id]
                                                   : take_part(s, cr_whole_of(s, id), cut);
}
