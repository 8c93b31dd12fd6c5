/*
 * demand_units.c - finds, from the last node to the first, the units and segments of a product's columns that its
 * readers need.
 */
#include "cuts.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_COLUMNS = 32, /* narrower products are not cut */
    PANEL = 32          /* columns of a panel: CR_PANEL of the runtime */
};

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Records that parts of an axis must consist of whole units.  Ignores the unit if the least common
 * multiple of it and of earlier units does not divide the axis. */
static void ask_units(struct cr_shard *s, cr_id id, int axis, int64_t unit)
{
    int64_t *known = &s->of[id].demand.unit[axis], both = common_multiple(*known, unit);
    if (s->g->nodes[id].shape[axis] % both == 0)
        *known = both;
}

/* Records that the part of an axis that a slice reads must be divided among the ranks
 * separately. */
static void ask_part(struct cr_shard *s, cr_id id, int axis, struct cr_wanted_part part)
{
    struct cr_demand *d = &s->of[id].demand;
    if (d->n && d->axis != axis)
        d->n = -1;
    d->axis = axis;
    for (int i = 0; i < d->n; i++) {
        struct cr_wanted_part *known = &d->parts[i];
        if (known->begin != part.begin || known->segment.size != part.segment.size)
            continue;
        int64_t both = common_multiple(known->segment.unit, part.segment.unit);
        if (part.segment.size % both == 0)
            known->segment.unit = both;
        return;
    }
    if (d->n == CR_SEGMENTS)
        d->n = -1;
    if (d->n >= 0)
        d->parts[d->n++] = part;
}

/* Copies the demand on an axis of node `id` to axis `to`, of the same size, of its operand `in`. */
static void copy_demand(struct cr_shard *s, cr_id id, int axis, cr_id in, int to)
{
    const struct cr_demand *d = &s->of[id].demand;
    ask_units(s, in, to, d->unit[axis]);
    for (int i = 0; d->axis == axis && i < d->n; i++)
        ask_part(s, in, to, d->parts[i]);
    if (d->axis == axis && d->n < 0)
        s->of[in].demand.n = -1;
}

/* Returns the unit in which the elements of a slice can be cut along an axis.  If its readers need
 * parts of it that cannot be cut, the slice cannot be cut either. */
static int64_t unit_of_slice(const struct cr_shard *s, cr_id id, int axis)
{
    const struct cr_demand *d = &s->of[id].demand;
    bool no_part_is_cut = d->axis == axis && d->n > 0;
    for (int i = 0; i < d->n && no_part_is_cut; i++)
        no_part_is_cut = d->parts[i].segment.unit == d->parts[i].segment.size;
    return no_part_is_cut ? s->g->nodes[id].shape[axis] : d->unit[axis];
}

static void demand_slice(struct cr_shard *s, cr_id id, cr_id in)
{
    const struct cr_node *node = &s->g->nodes[id], *of = &s->g->nodes[in];
    for (int a = 0; a < node->rank; a++)
        if (node->shape[a] == of->shape[a])
            copy_demand(s, id, a, in, a);
        else
            ask_part(
                s, in, a,
                (struct cr_wanted_part){node->index[a], {node->shape[a], unit_of_slice(s, id, a)}});
}

/* Copies the demand on a reshape to its operand.  The unit is multiplied by the factor by which an
 * axis is split, and divided by the factor by which axes are merged. */
static void demand_reshape(struct cr_shard *s, cr_id id, cr_id in)
{
    const struct cr_node *node = &s->g->nodes[id], *of = &s->g->nodes[in];
    struct cr_reshaped_axis place;
    for (int a = 0; a < of->rank; a++) {
        if (!cr_find_reshaped_axis(of, node, a, &place))
            continue;
        int64_t unit = s->of[id].demand.unit[place.axis];
        if (place.split == 1 && place.merged == 1)
            copy_demand(s, id, place.axis, in, a);
        else if (unit * place.split % place.merged == 0)
            ask_units(s, in, a, unit * place.split / place.merged);
    }
}

/* Copies the demand on a node to its operand i. */
static void demand_operand(struct cr_shard *s, cr_id id, int i)
{
    const struct cr_node *node = &s->g->nodes[id];
    cr_id in = cr_in(s->g, id, i);
    const struct cr_node *of = &s->g->nodes[in];
    enum cr_kind kind = cr_ops[node->op].kind;
    if (node->op == CR_OP_slice) {
        demand_slice(s, id, in);
        return;
    }
    if (node->op == CR_OP_reshape) {
        demand_reshape(s, id, in);
        return;
    }
    int first = kind == CR_KIND_GATHER ? cr_index_rank(s->g, id) : 0;
    /* k of a product and the axis of a take are other axes in an operand than in the result */
    int k = kind == CR_KIND_CONTRACT ? node->rank - 1 - i
            : kind == CR_KIND_TAKE   ? node->axis
                                     : CR_NONE;
    bool same_axes = kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_REDUCE ||
                     kind == CR_KIND_TAKE || kind == CR_KIND_CONTRACT || kind == CR_KIND_MOVE ||
                     kind == CR_KIND_CONCAT || (kind == CR_KIND_WRITE && i < 2) ||
                     (kind == CR_KIND_GATHER && i == 0);
    for (int a = first; a < node->rank && same_axes; a++) {
        if (a == k)
            continue;
        int to = node->op == CR_OP_permute ? (int)node->index[a] : a - (node->rank - of->rank);
        if (to >= 0 && to < of->rank && of->shape[to] == node->shape[a])
            copy_demand(s, id, a, in, to);
        else if (kind == CR_KIND_CONCAT && a == node->axis &&
                 s->of[id].demand.unit[a] == node->shape[a])
            ask_units(s, in, a, of->shape[a]);
    }
}

/* Demands that the columns of queries, keys and values are not cut, because an attention is cut
 * only by heads.  Of keys that all heads share, each rank computes all columns. */
static void demand_heads(struct cr_shard *s, cr_id id)
{
    const struct cr_shard_facts *of = &s->of[id];
    if (!of->is_scores && !of->is_output)
        return;
    cr_id a = cr_in(s->g, id, 0), b = cr_in(s->g, id, 1);
    int r = s->g->nodes[id].rank;
    if (of->is_scores) {
        ask_units(s, a, r - 1, s->g->nodes[a].shape[r - 1]);
        ask_units(s, b, r - 2, s->g->nodes[b].shape[r - 2]);
    }
    if (of->is_output)
        ask_units(s, b, r - 1, s->g->nodes[b].shape[r - 1]);
}

void cr_find_demands(struct cr_shard *s)
{
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        for (int a = 0; a < CR_MAX_RANK; a++)
            s->of[id].demand.unit[a] = 1;
    for (cr_id id = s->g->n_nodes - 1; id >= 0; id--) {
        for (int i = 0; i < s->g->nodes[id].n_in; i++)
            demand_operand(s, id, i);
        demand_heads(s, id);
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct cr_wanted_part *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Returns the cut of a product's columns into the units that its readers need.  Whole if the
 * product is too narrow, or if a rank's part would be as large as the whole. */
struct cr_axis_cut cr_cut_of_columns(const struct cr_shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    const struct cr_demand *d = &s->of[id].demand;
    int axis = node->rank - 1;
    int64_t N = node->shape[axis], end = 0;
    struct cr_axis_cut cut = {.axis = axis};
    struct cr_wanted_part parts[CR_SEGMENTS];
    if (N < LEAST_COLUMNS || node->rank == CR_MAX_RANK)
        return cut;
    if (d->n > 0 && d->axis == axis) {
        memcpy(parts, d->parts, sizeof parts);
        qsort(parts, (size_t)d->n, sizeof *parts, by_begin);
        for (int i = 0; i < d->n && parts[i].begin == end; i++) {
            end += parts[i].segment.size;
            cut.segments[cut.n++] = parts[i].segment;
        }
    }
    if (end != N) {
        cut.n = 1;
        cut.segments[0] = (struct cr_cut_segment){N, d->unit[axis]};
    }
    for (int i = 0; i < cut.n; i++)
        if (cut.segments[i].unit == 1 && cut.segments[i].size % PANEL == 0)
            cut.segments[i].unit = PANEL;
    if (cr_local_size(s, &cut) == N)
        cut.n = 0;
    return cut;
}
