/*
 * shard.c - cuts a model for several ranks.  Each rank has a part of every weight matrix, of the heads and of
 * the caches, and computes a part of the values.  An all_gather gives all ranks a whole value.
 *
 * A product is cut by columns, never along k.  So each element of the result is one chain of sums on one
 * rank, and the bits are those of a single rank.
 *
 * A value is *cut* along one axis, which consists of segments (one, but for a product that computes queries,
 * keys and values together, or several projections at once).  A segment is cut in units that stay together,
 * such as the columns of a head, or of a group of heads that share keys.  All ranks get equally many units,
 * or the last ranks would need code of their own: where the units do not divide evenly, the last ranks'
 * shares end with the segment, and overlap.
 *
 *   find_demands   backwards: the units and segments that the readers of a product's columns ask for
 *   decide         forwards: along which axis a node is cut, by those of its operands
 *   build          forwards: the new graph
 */
#include "shard.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/attention/attention.h"
#include "compiler/passes/rewrite/rewrite.h"
#include "compiler/passes/rewrite/users.h"

enum {
    SEGMENTS = 6,
    LEAST_COLUMNS = 32, /* narrower products are not cut */
    PANEL = 32          /* columns: CR_PANEL of the runtime */
};

struct segment {
    int64_t size, unit;
};

/* The cut of a node; n is 0 for a whole one. */
struct cut {
    int axis, n;
    struct segment segments[SEGMENTS];
};

/* A part of an axis that a slice takes, and the unit in which its readers cut it. */
struct wanted {
    int64_t begin;
    struct segment segment;
};

/* The units and slices that the readers of a node ask for. */
struct demand {
    int64_t unit[CR_MAX_RANK]; /* by axis */
    int axis, n;               /* the sliced axis, and the number of parts; -1: too many */
    struct wanted parts[SEGMENTS];
};

/* The facts about a node. */
struct node_facts {
    bool is_weight; /* moves and concats of parameters alone compute it */
    bool is_scores; /* it is a product whose columns are the keys of an attention */
    int attention;  /* 1 + the index of the attention that computes it from its scores, or 0 */
    bool is_output; /* it is the last of those: the product by the values */
    bool stays;     /* it is a state that cannot be cut */
    bool is_common; /* it is a slice of a cut node that all ranks have: a segment of one unit */
    bool gathered;  /* it is cut, but some reader needs it whole, and so all read it whole */
    struct cut cut; /* how it is computed */
    struct demand demand;
    cr_id whole; /* if it is cut: the gathered value in the new graph, or CR_NONE */
};

struct shard {
    struct cr_rewrite rw;
    const struct cr_graph *g;
    struct cr_users users;
    int rank, ranks;
    bool attends; /* there are attentions */
    bool *is_whole; /* by attention: it is not cut */
    bool stores_gathered; /* see struct cr_module */
    struct node_facts *of; /* by node */
};

/* ---- cuts ---- */

static int64_t share_of(const struct shard *s, const struct segment *segment)
{
    int64_t units = segment->size / segment->unit;
    return (units + s->ranks - 1) / s->ranks * segment->unit;
}

/* Returns the size of a rank's part of the axis. */
static int64_t local_size(const struct shard *s, const struct cut *cut)
{
    int64_t size = 0;
    for (int i = 0; i < cut->n; i++)
        size += share_of(s, &cut->segments[i]);
    return size;
}

/* True if each rank has the same elements by both cuts. */
static bool same_cut(const struct shard *s, const struct cut *a, const struct cut *b)
{
    bool same = a->n == b->n && (a->n == 0 || a->axis == b->axis);
    for (int i = 0; i < a->n && same; i++)
        same = a->segments[i].size == b->segments[i].size &&
               share_of(s, &a->segments[i]) == share_of(s, &b->segments[i]);
    return same;
}

/* Returns the cut of a node as its readers see it: a gathered node is whole for all of them. */
static const struct cut *read_cut(const struct shard *s, cr_id id)
{
    static const struct cut whole;
    return s->of[id].gathered ? &whole : &s->of[id].cut;
}

/* ---- axes of moves ---- */

/* The axis of a reshape that corresponds to an axis of its operand.  It has the same size; or the
 * operand's axis is split, and it is the outermost of the parts; or it merges the operand's axis
 * with axes behind it. */
struct place {
    int axis;
    int64_t split, merged; /* factor by which the reshape shrinks the axis, or grows it */
};

/* Finds the axis of a reshape that corresponds to axis `axis` of its operand.  Returns false if
 * there is none, for example if the reshape merges the axis with axes before it. */
static bool place_of(const struct cr_node *in, const struct cr_node *out, int axis,
                     struct place *place)
{
    int64_t before = cr_elements(axis, in->shape), size = in->shape[axis], n = 1;
    int b = 0;
    while (b < out->rank && n < before)
        n *= out->shape[b++];
    while (b < out->rank && out->shape[b] == 1)
        b++;
    if (n != before || b == out->rank || size == 1)
        return false;
    *place = (struct place){b, 1, 1};
    if (size % out->shape[b] == 0)
        place->split = size / out->shape[b];
    else if (out->shape[b] % size == 0)
        place->merged = out->shape[b] / size;
    else
        return false;
    return true;
}

/* ---- demands ---- */

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

/* Demands that parts of an axis consist of whole units.  Ignores a unit whose common multiple with
 * the demands so far does not divide the axis. */
static void ask_units(struct shard *s, cr_id id, int axis, int64_t unit)
{
    int64_t *known = &s->of[id].demand.unit[axis], both = common_multiple(*known, unit);
    if (s->g->nodes[id].shape[axis] % both == 0)
        *known = both;
}

/* Demands that a part of an axis, which a slice takes, is divided among the ranks by itself. */
static void ask_part(struct shard *s, cr_id id, int axis, struct wanted part)
{
    struct demand *d = &s->of[id].demand;
    if (d->n && d->axis != axis)
        d->n = -1;
    d->axis = axis;
    for (int i = 0; i < d->n; i++) {
        struct wanted *known = &d->parts[i];
        if (known->begin != part.begin || known->segment.size != part.segment.size)
            continue;
        int64_t both = common_multiple(known->segment.unit, part.segment.unit);
        if (part.segment.size % both == 0)
            known->segment.unit = both;
        return;
    }
    if (d->n == SEGMENTS)
        d->n = -1;
    if (d->n >= 0)
        d->parts[d->n++] = part;
}

/* Copies the demand on an axis of a node to an axis of the same size of an operand. */
static void hand_on(struct shard *s, cr_id id, int axis, cr_id in, int to)
{
    const struct demand *d = &s->of[id].demand;
    ask_units(s, in, to, d->unit[axis]);
    for (int i = 0; d->axis == axis && i < d->n; i++)
        ask_part(s, in, to, d->parts[i]);
    if (d->axis == axis && d->n < 0)
        s->of[in].demand.n = -1;
}

/* Returns the unit in which a slice is cut along an axis.  If its readers want parts of it that cannot be cut, neither
 * can the slice. */
static int64_t unit_of_slice(const struct shard *s, cr_id id, int axis)
{
    const struct demand *d = &s->of[id].demand;
    bool no_part_is_cut = d->axis == axis && d->n > 0;
    for (int i = 0; i < d->n && no_part_is_cut; i++)
        no_part_is_cut = d->parts[i].segment.unit == d->parts[i].segment.size;
    return no_part_is_cut ? s->g->nodes[id].shape[axis] : d->unit[axis];
}

static void demand_slice(struct shard *s, cr_id id, cr_id in)
{
    const struct cr_node *node = &s->g->nodes[id], *of = &s->g->nodes[in];
    for (int a = 0; a < node->rank; a++)
        if (node->shape[a] == of->shape[a])
            hand_on(s, id, a, in, a);
        else
            ask_part(s, in, a, (struct wanted){node->index[a], {node->shape[a], unit_of_slice(s, id, a)}});
}

/* Copies the demand on a reshape to its operand.  A unit is multiplied by the factor of an axis
 * that is split, and divided by that of an axis that is merged. */
static void demand_reshape(struct shard *s, cr_id id, cr_id in)
{
    const struct cr_node *node = &s->g->nodes[id], *of = &s->g->nodes[in];
    struct place place;
    for (int a = 0; a < of->rank; a++) {
        if (!place_of(of, node, a, &place))
            continue;
        int64_t unit = s->of[id].demand.unit[place.axis];
        if (place.split == 1 && place.merged == 1)
            hand_on(s, id, place.axis, in, a);
        else if (unit * place.split % place.merged == 0)
            ask_units(s, in, a, unit * place.split / place.merged);
    }
}

/* Returns the rank of the indices of a gather: the axes of a row follow theirs. */
static int index_rank(const struct cr_graph *g, cr_id gather)
{
    return g->nodes[cr_in(g, gather, 1)].rank;
}

/* Copies the demand on a node to its operand i. */
static void demand_operand(struct shard *s, cr_id id, int i)
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
    int first = kind == CR_KIND_GATHER ? index_rank(s->g, id) : 0;
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
            hand_on(s, id, a, in, to);
        else if (kind == CR_KIND_CONCAT && a == node->axis && s->of[id].demand.unit[a] == node->shape[a])
            ask_units(s, in, a, of->shape[a]);
    }
}

/* Demands that the columns of queries, keys and values are not cut, as an attention is cut by heads alone: of keys
 * that all heads share, each rank computes all columns. */
static void demand_heads(struct shard *s, cr_id id)
{
    const struct node_facts *of = &s->of[id];
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

static void find_demands(struct shard *s)
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
    const struct wanted *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Returns the cut of a product's columns into the units that its readers ask for; whole if a share
 * would be as large as the whole. */
static struct cut cut_of_columns(const struct shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    const struct demand *d = &s->of[id].demand;
    int axis = node->rank - 1;
    int64_t N = node->shape[axis], end = 0;
    struct cut cut = {.axis = axis};
    struct wanted parts[SEGMENTS];
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
        cut.segments[0] = (struct segment){N, d->unit[axis]};
    }
    for (int i = 0; i < cut.n; i++)
        if (cut.segments[i].unit == 1 && cut.segments[i].size % PANEL == 0)
            cut.segments[i].unit = PANEL;
    if (local_size(s, &cut) == N)
        cut.n = 0;
    return cut;
}

/* ---- decisions ---- */

static struct cut decide_contract(const struct shard *s, cr_id id)
{
    const struct cut *a = read_cut(s, cr_in(s->g, id, 0)), *b = read_cut(s, cr_in(s->g, id, 1));
    int r = s->g->nodes[id].rank;
    if (a->n && a->axis < r - 1)
        return *a;
    if (b->n && b->axis != r - 2)
        return *b;
    if (s->of[cr_in(s->g, id, 1)].is_weight && !s->of[id].is_scores)
        return cut_of_columns(s, id);
    return (struct cut){.n = 0};
}

/* Returns the cut of a reshape: its operand's, on the corresponding axis.  Whole if there is no
 * such axis, or if a unit would be split. */
static struct cut decide_reshape(const struct cr_node *in, const struct cr_node *node,
                                 struct cut cut)
{
    struct place place;
    if (!place_of(in, node, cut.axis, &place) || (place.split > 1 && cut.n > 1))
        return (struct cut){.n = 0};
    cut.axis = place.axis;
    for (int i = 0; i < cut.n; i++) {
        struct segment *segment = &cut.segments[i];
        if (segment->unit * place.merged % place.split || segment->size % place.split)
            return (struct cut){.n = 0};
        segment->unit = segment->unit * place.merged / place.split;
        segment->size = segment->size * place.merged / place.split;
    }
    return cut;
}

/* Finds the first of the segments that a slice covers, and their number; false if the slice covers
 * a part of a segment. */
static bool find_segments(const struct cut *cut, int64_t begin, int64_t size, int *first, int *n)
{
    int64_t at = 0;
    int i = 0;
    for (; i < cut->n && at < begin; i++)
        at += cut->segments[i].size;
    bool begins = at == begin;
    *first = i;
    for (; i < cut->n && at < begin + size; i++)
        at += cut->segments[i].size;
    *n = i - *first;
    return begins && at == begin + size && *n > 0;
}

static struct cut decide_slice(const struct cr_node *node, struct cut cut)
{
    int first, n;
    if (!find_segments(&cut, node->index[cut.axis], node->shape[cut.axis], &first, &n))
        return (struct cut){.n = 0};
    memmove(cut.segments, cut.segments + first, (size_t)n * sizeof *cut.segments);
    cut.n = n;
    return cut;
}

/* True if a slice covers segments of its operand that all ranks have whole. */
static bool is_common_slice(const struct shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    if (node->op != CR_OP_slice || !read_cut(s, cr_in(s->g, id, 0))->n)
        return false;
    struct cut cut = decide_slice(node, *read_cut(s, cr_in(s->g, id, 0)));
    return cut.n && local_size(s, &cut) == node->shape[cut.axis];
}

/* Returns the cut of a movement op: its operand's, on the axis that corresponds to the operand's
 * cut axis. */
static struct cut decide_move(const struct shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id], *in = &s->g->nodes[cr_in(s->g, id, 0)];
    struct cut cut = *read_cut(s, cr_in(s->g, id, 0));
    if (!cut.n || node->rank == CR_MAX_RANK)
        return (struct cut){.n = 0};
    switch (node->op) {
    case CR_OP_reshape:
        return decide_reshape(in, node, cut);
    case CR_OP_slice:
        return decide_slice(node, cut);
    case CR_OP_permute:
        for (int a = 0; a < node->rank; a++)
            if (node->index[a] == read_cut(s, cr_in(s->g, id, 0))->axis)
                cut.axis = a;
        return cut;
    default: /* expand, detach, limit */
        cut.axis += node->rank - in->rank;
        if (node->shape[cut.axis] != in->shape[cut.axis - node->rank + in->rank])
            cut.n = 0; /* the cut axis has size 1 in the operand, and every rank has all of it */
        return cut;
    }
}

/* Returns the cut of the first operand that is cut along an axis other than `not_along`; whole if
 * none is. */
static struct cut first_cut(const struct shard *s, cr_id id, int not_along)
{
    for (int i = 0; i < s->g->nodes[id].n_in; i++) {
        const struct cut *cut = read_cut(s, cr_in(s->g, id, i));
        if (cut->n && cut->axis != not_along)
            return *cut;
    }
    return (struct cut){.n = 0};
}

/* Returns the cut of a concat: the cut of an operand along another axis than the concat's; or, if
 * all operands are cut along the concat's axis, the segments of all of them. */
static struct cut decide_concat(const struct shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct cut cut = first_cut(s, id, node->axis);
    if (cut.n)
        return cut;
    cut.axis = node->axis;
    for (int i = 0; i < node->n_in; i++) {
        const struct cut *in = read_cut(s, cr_in(s->g, id, i));
        if (!in->n || cut.n + in->n > SEGMENTS)
            return (struct cut){.n = 0};
        memcpy(cut.segments + cut.n, in->segments, (size_t)in->n * sizeof *in->segments);
        cut.n += in->n;
    }
    return cut;
}

/* Returns the cut of a write: the cut of the rows that are written, so that each rank writes its
 * part of them.  Whole if they are cut along the axis of the rows. */
static struct cut decide_write(const struct shard *s, cr_id id)
{
    const struct cut *rows = read_cut(s, cr_in(s->g, id, 1));
    if (!rows->n || rows->axis == s->g->nodes[id].axis)
        return (struct cut){.n = 0};
    return *rows;
}

/* True if a gather reads a table [rows, columns] that is a parameter, and nothing reads the table but
 * gathers of its rows and products.  Otherwise a rank would have its part beside the whole table. */
static bool gathers_from_table(const struct shard *s, cr_id id)
{
    cr_id table = cr_in(s->g, id, 0);
    bool good = s->g->nodes[table].op == CR_OP_param && s->g->nodes[table].rank == 2;
    for (int i = s->users.first[table]; i < s->users.first[table + 1] && good; i++) {
        cr_id user = s->users.list[i];
        enum cr_op op = s->g->nodes[user].op;
        good = op == CR_OP_permute || op == CR_OP_gather ||
               (op == CR_OP_matmul && cr_in(s->g, user, 0) != table);
    }
    return good && !s->users.output[table];
}

/* Returns the cut of a table's rows by columns; whole if it has several segments, or if a format's
 * blocks of columns would be split. */
static struct cut cut_of_rows(const struct shard *s, cr_id id)
{
    struct cut cut = cut_of_columns(s, id);
    int64_t block = cr_formats[s->g->nodes[cr_in(s->g, id, 0)].format].block;
    if (cut.n != 1 || cut.segments[0].unit % block || cut.segments[0].size % block)
        cut.n = 0;
    return cut;
}

/* Returns the product of the head that shares its weights with a table: its right operand is the
 * table's transpose, so the rows of the table are cut as the columns of the product are.  CR_NONE
 * if there is no such product, or if it is not cut. */
static cr_id tied_head(const struct shard *s, cr_id table)
{
    for (int i = s->users.first[table]; i < s->users.first[table + 1]; i++) {
        cr_id right = s->users.list[i], head = cr_only_user(&s->users, right);
        bool turned = s->g->nodes[right].op == CR_OP_permute;
        while (cr_is_op(s->g, head, CR_OP_expand)) {
            right = head;
            head = cr_only_user(&s->users, right);
        }
        if (turned && cr_is_op(s->g, head, CR_OP_matmul) && cr_in(s->g, head, 1) == right &&
            cut_of_columns(s, head).n == 1)
            return head;
    }
    return CR_NONE;
}

/* True if a gather reads a table whose rows are cut because a head shares it: a rank looks rows up
 * in its part only. */
static bool is_tied(const struct shard *s, cr_id id)
{
    cr_id index = cr_in(s->g, id, 1);
    return s->g->nodes[id].rank < CR_MAX_RANK && !read_cut(s, index)->n && gathers_from_table(s, id) &&
           tied_head(s, cr_in(s->g, id, 0)) != CR_NONE;
}

/* Returns the cut of a gather: that of its indices if they are cut, else that of the rows of the
 * table.  Rows of a tied table are whole. */
static struct cut decide_gather(const struct shard *s, cr_id id)
{
    const struct cut *index = read_cut(s, cr_in(s->g, id, 1)),
                     *table = read_cut(s, cr_in(s->g, id, 0));
    if (s->g->nodes[id].rank == CR_MAX_RANK)
        return (struct cut){.n = 0};
    if (is_tied(s, id))
        return (struct cut){.n = 0};
    if (!index->n && gathers_from_table(s, id))
        return cut_of_rows(s, id);
    if (index->n || !table->n || table->axis == 0)
        return *index;
    struct cut cut = *table;
    cut.axis += index_rank(s->g, id) - 1;
    return cut;
}

/* Returns the cut of a node, given the cuts of its operands; whole if a rank cannot compute a part
 * of it. */
static struct cut decide(const struct shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    int attention = s->of[id].attention;
    if (attention && s->is_whole[attention - 1])
        return (struct cut){.n = 0};
    switch (cr_ops[node->op].kind) {
    case CR_KIND_ELEMENTWISE:
        return first_cut(s, id, CR_NONE);
    case CR_KIND_REDUCE:
    case CR_KIND_TAKE:
        return first_cut(s, id, node->axis);
    case CR_KIND_CONTRACT:
        return decide_contract(s, id);
    case CR_KIND_MOVE:
        return decide_move(s, id);
    case CR_KIND_CONCAT:
        return decide_concat(s, id);
    case CR_KIND_WRITE:
        return decide_write(s, id);
    case CR_KIND_GATHER:
        return decide_gather(s, id);
    default:
        return (struct cut){.n = 0};
    }
}

/* Decides the cuts of all nodes in graph order; the cuts of states are already decided. */
static void decide_all(struct shard *s)
{
    for (cr_id id = 0; id < s->g->n_nodes; id++) {
        struct node_facts *of = &s->of[id];
        if (s->g->nodes[id].op == CR_OP_state)
            continue;
        of->cut = decide(s, id);
        of->is_common = of->cut.n && is_common_slice(s, id);
        if (of->is_common)
            of->cut.n = 0;
    }
}

/* Gives each state the cut of its next value.  A state stays whole if its next value is an output,
 * or if its entries give it next values with different cuts.  Returns true if the cut of a state
 * has changed. */
static bool settle_states(struct shard *s)
{
    bool changed = false;
    for (int i = cr_n_results(s->g); i < s->g->n_outputs; i++) {
        cr_id state = s->g->outputs[i].state;
        const struct cut *next = &s->of[s->g->outputs[i].id].cut;
        struct cut *cut = &s->of[state].cut;
        if (same_cut(s, cut, next))
            continue;
        s->of[state].stays |= cut->n > 0 || cr_is_entry_output(s->g, s->g->outputs[i].id);
        *cut = s->of[state].stays ? (struct cut){.n = 0} : *next;
        changed |= !s->of[state].stays || cut->n != next->n;
    }
    return changed;
}

/* ---- whole operands and parts ---- */

enum need {
    NEEDS_WHOLE,
    NEEDS_PART, /* with the cut of the node */
    NEEDS_OWN,  /* with the cut of the operand, from which the cut of the node follows */
    NEEDS_TABLE /* the columns of a table of which the node gathers rows */
};

/* Returns in which form a node reads operand i.  A product is not cut along k: of its operands it
 * reads one by rows or columns, and the other whole, unless both are cut along a batch axis. */
static enum need need_of(const struct shard *s, cr_id id, int i)
{
    const struct cr_node *node = &s->g->nodes[id];
    const struct cut *cut = &s->of[id].cut;
    int r = node->rank;
    if (!cut->n)
        return s->of[id].is_common ? NEEDS_OWN : NEEDS_WHOLE;
    switch (cr_ops[node->op].kind) {
    case CR_KIND_CONTRACT:
        return cut->axis < r - 2 || (cut->axis == r - 2) == (i == 0) ? NEEDS_PART : NEEDS_WHOLE;
    case CR_KIND_CONCAT:
        return cut->axis == node->axis ? NEEDS_OWN : NEEDS_PART;
    case CR_KIND_MOVE:
        return NEEDS_OWN;
    case CR_KIND_GATHER:
        if (cut->axis < index_rank(s->g, id))
            return i == 1 ? NEEDS_PART : NEEDS_WHOLE;
        if (i == 1)
            return NEEDS_WHOLE;
        return read_cut(s, cr_in(s->g, id, 0))->n ? NEEDS_OWN : NEEDS_TABLE;
    case CR_KIND_WRITE:
        return i < 2 ? NEEDS_PART : NEEDS_WHOLE;
    default:
        return NEEDS_PART;
    }
}

/* Returns the only cut operand of an elementwise node; CR_NONE for others. */
static cr_id only_cut_operand(const struct shard *s, cr_id id)
{
    cr_id only = CR_NONE;
    if (cr_kind_of(s->g, id) != CR_KIND_ELEMENTWISE)
        return CR_NONE;
    for (int i = 0; i < s->g->nodes[id].n_in; i++) {
        cr_id in = cr_in(s->g, id, i);
        if (read_cut(s, in)->n && only != CR_NONE && in != only)
            return CR_NONE;
        if (read_cut(s, in)->n)
            only = in;
    }
    return only;
}

static bool has_user_but(const struct shard *s, cr_id id, cr_id user)
{
    for (int i = s->users.first[id]; i < s->users.first[id + 1]; i++)
        if (s->users.list[i] != user)
            return true;
    return false;
}

/* Returns the value to gather for a reduction over the columns of `in`.  This is `in` itself, or
 * the value that `in` is computed of element by element if other nodes read that value, too.  A
 * norm, for example, sums squares of x and scales x: after a gather of x neither the squares nor
 * the result have to be gathered. */
static cr_id source_of(const struct shard *s, cr_id in)
{
    for (cr_id id = in, next; (next = only_cut_operand(s, id)) != CR_NONE; id = next)
        if (has_user_but(s, next, id))
            return next;
    return in;
}

/* Marks a node as gathered.  Inside an attention nothing is gathered, as no kernel would compute it as one
 * attention then, and another order of sums would give other bits: all of it becomes whole. */
static void mark_gathered(struct shard *s, cr_id id)
{
    int attention = s->of[id].attention;
    if (attention && !s->of[id].is_output)
        s->is_whole[attention - 1] = true;
    else
        s->of[id].gathered = true;
}

/* Marks the cut nodes that have to be gathered, because a reader, or with `for_reductions` a
 * reduction, needs another form of them.  Returns true if it has marked one that was not.  Moves
 * and concats of weights are never gathered, as they are never cut. */
static bool find_gathered(struct shard *s, bool for_reductions)
{
    bool more = false;
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        for (int i = 0; i < s->g->nodes[id].n_in; i++) {
            cr_id in = cr_in(s->g, id, i);
            enum need need = need_of(s, id, i);
            bool fits = need == NEEDS_OWN ||
                        (need == NEEDS_PART && same_cut(s, read_cut(s, in), &s->of[id].cut));
            if (!read_cut(s, in)->n || fits ||
                (for_reductions && cr_kind_of(s->g, id) != CR_KIND_REDUCE))
                continue;
            mark_gathered(s, for_reductions ? source_of(s, in) : in);
            more = true;
        }
    return more;
}

/* ---- building ---- */

static cr_id add(struct shard *s, enum cr_op op, cr_id in, const struct cr_attr *attr)
{
    return cr_rewrite_add(&s->rw, op, 1, &in, attr);
}

static const struct cr_node *made(const struct shard *s, cr_id id)
{
    return &s->rw.to->nodes[id];
}

static cr_id add_slice(struct shard *s, cr_id in, int axis, int64_t begin, int64_t size)
{
    struct cr_attr attr = cr_attr_of(made(s, in));
    if (begin == 0 && size == attr.shape[axis])
        return in;
    memset(attr.index, 0, sizeof attr.index);
    memset(attr.lengths, 0, sizeof attr.lengths);
    attr.part = false;
    attr.index[axis] = begin;
    attr.shape[axis] = size;
    return add(s, CR_OP_slice, in, &attr);
}

static cr_id add_concat(struct shard *s, int n, const cr_id *in, int axis)
{
    return n == 1 ? in[0]
                  : cr_rewrite_add(&s->rw, CR_OP_concat, n, in, &(struct cr_attr){.axis = axis});
}

/* Elements of an axis: `n` ranges, one after another. */
struct ranges {
    int n;
    int64_t begin[SEGMENTS], size[SEGMENTS], all;
};

/* The parts of nodes that were already made for one cut, by node of the new graph. */
struct parts {
    const struct ranges *ranges;
    int n;       /* number of nodes before the first part was made */
    cr_id *made; /* by node: its part along axis[node], or CR_NONE */
    int *axis;
};

static cr_id add_part(struct shard *s, struct parts *p, cr_id id, int axis);

/* True if element i of a node along an axis depends only on elements i of its operands along that
 * axis.  Such nodes are constants, iotas along other axes, and arithmetic along a batch axis, such
 * as the heads.  In a graph without attentions it is false for arithmetic, so that none is done
 * twice: gradients read the inside of a softmax, and a copy of that softmax would look like an
 * attention. */
static bool goes_along(const struct shard *s, cr_id id, int axis)
{
    const struct cr_node *node = made(s, id);
    enum cr_kind kind = cr_ops[node->op].kind;
    if (node->op == CR_OP_const || (node->op == CR_OP_iota && node->axis != axis))
        return true;
    return s->attends && axis < node->rank - 2 &&
           (kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_CONTRACT ||
            ((kind == CR_KIND_REDUCE || kind == CR_KIND_CONCAT) && node->axis != axis));
}

/* Adds a node that computes only the elements in the ranges, from parts of its operands. */
static cr_id add_work(struct shard *s, struct parts *p, cr_id id, int axis)
{
    struct cr_attr attr = cr_attr_of(made(s, id));
    enum cr_op op = made(s, id)->op;
    int n = made(s, id)->n_in;
    cr_id *in = cr_calloc((size_t)n + 1, sizeof *in);
    attr.shape[axis] = p->ranges->all;
    for (int i = 0; i < n; i++)
        in[i] = add_part(s, p, cr_in(s->rw.to, id, i), axis);
    cr_id part = cr_rewrite_add(&s->rw, op, n, in, &attr);
    free(in);
    return part;
}

/* True if the elements of a node in the ranges are the same movement op applied to a part of its
 * operand: a permute, an expand, or a slice along other axes. */
static bool moves_along(const struct cr_graph *g, cr_id id, int axis)
{
    const struct cr_node *node = &g->nodes[id];
    return node->op == CR_OP_permute || node->op == CR_OP_expand ||
           (node->op == CR_OP_slice && g->nodes[cr_in(g, id, 0)].shape[axis] == node->shape[axis]);
}

/* Adds a movement op that gives only the elements in the ranges; moves_along must be true. */
static cr_id add_move(struct shard *s, struct parts *p, cr_id id, int axis)
{
    const struct cr_node *node = made(s, id);
    struct cr_attr attr = cr_attr_of(node);
    enum cr_op op = node->op;
    cr_id in = cr_in(s->rw.to, id, 0);
    int below =
        op == CR_OP_permute ? (int)node->index[axis] : axis - (node->rank - made(s, in)->rank);
    if (below >= 0 && made(s, in)->shape[below] == node->shape[axis])
        in = add_part(s, p, in, below);
    attr.shape[axis] = p->ranges->all;
    return add(s, op, in, &attr);
}

/* True if a node is a view of an all_gather's result. */
static bool views_gathered(const struct cr_graph *g, cr_id id)
{
    while (cr_ops[g->nodes[id].op].kind == CR_KIND_MOVE)
        id = cr_in(g, id, 0);
    return g->nodes[id].op == CR_OP_all_gather;
}

static cr_id add_slices(struct shard *s, const struct ranges *ranges, cr_id id, int axis)
{
    cr_id parts[SEGMENTS];
    s->stores_gathered |= views_gathered(s->rw.to, id);
    for (int i = 0; i < ranges->n; i++)
        parts[i] = add_slice(s, id, axis, ranges->begin[i], ranges->size[i]);
    return add_concat(s, ranges->n, parts, axis);
}

/* Returns the elements of a node that lie in the ranges.  A movement op is applied to a part of its
 * operand, so that later passes still see a weight.  Arithmetic along a batch axis is done for a
 * part of the axis, so that they still see an attention.  Any other node is sliced. */
static cr_id add_part(struct shard *s, struct parts *p, cr_id id, int axis)
{
    if (id < p->n && p->made[id] != CR_NONE && p->axis[id] == axis)
        return p->made[id];
    cr_id part = goes_along(s, id, axis)           ? add_work(s, p, id, axis)
                 : moves_along(s->rw.to, id, axis) ? add_move(s, p, id, axis)
                                                   : add_slices(s, p->ranges, id, axis);
    if (id < p->n) {
        p->made[id] = part;
        p->axis[id] = axis;
    }
    return part;
}

static cr_id add_ranges(struct shard *s, cr_id id, int axis, const struct ranges *ranges)
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

/* Returns where this rank's part of a segment begins. */
static int64_t begin_of(const struct shard *s, const struct segment *segment)
{
    int64_t share = share_of(s, segment), first = share * s->rank;
    return first > segment->size - share ? segment->size - share : first;
}

/* Adds this rank's columns of a table, which are laid out by themselves. */
static cr_id add_table(struct shard *s, cr_id table, const struct cut *cut)
{
    const struct segment *columns = &cut->segments[0];
    return add(s, CR_OP_slice, table,
               &(struct cr_attr){.part = true,
                                 .index = {0, begin_of(s, columns)},
                                 .shape = {made(s, table)->shape[0], share_of(s, columns)}});
}

/* Returns this rank's part of a whole value. */
static cr_id take_part(struct shard *s, cr_id whole, const struct cut *cut)
{
    struct ranges ranges = {.n = cut->n, .all = local_size(s, cut)};
    int64_t begin = 0;
    for (int i = 0; i < cut->n; i++) {
        int64_t share = share_of(s, &cut->segments[i]);
        ranges.begin[i] = begin + begin_of(s, &cut->segments[i]);
        ranges.size[i] = share;
        begin += cut->segments[i].size;
    }
    return add_ranges(s, whole, cut->axis, &ranges);
}

/* Moves the first axis of `parts`, which is the rank, to `axis` and merges it with that axis. */
static cr_id join_parts(struct shard *s, cr_id parts, int axis)
{
    const struct cr_node *node = made(s, parts);
    struct cr_attr move = {.rank = node->rank}, join = {.rank = node->rank - 1};
    int r = node->rank;
    for (int a = 0; a < r; a++)
        move.index[a] = a < axis ? a + 1 : a == axis ? 0 : a;
    for (int a = 0; a < r - 1; a++)
        join.shape[a] = node->shape[a + 1] * (a == axis ? node->shape[0] : 1);
    return add(s, CR_OP_reshape, add(s, CR_OP_permute, parts, &move), &join);
}

/* Returns a whole segment.  The parts of the first ranks follow one another; if the size of a share
 * does not divide the segment, the next rank's part overlaps the one before it, and only its end is
 * used. */
static cr_id join_segment(struct shard *s, cr_id parts, int axis, const struct segment *segment)
{
    int64_t share = share_of(s, segment), full = segment->size / share,
            rest = segment->size % share;
    cr_id pieces[2] = {join_parts(s, add_slice(s, parts, 0, 0, full), axis)};
    if (!rest)
        return pieces[0];
    cr_id last = add_slice(s, add_slice(s, parts, 0, full, 1), axis + 1, share - rest, rest);
    pieces[1] = join_parts(s, last, axis);
    return add_concat(s, 2, pieces, axis);
}

/* Returns the whole value of a node, in the new graph. */
static cr_id whole_of(struct shard *s, cr_id id)
{
    const struct cut *cut = &s->of[id].cut;
    cr_id segments[SEGMENTS];
    int64_t begin = 0;
    if (!cut->n)
        return s->rw.map[id];
    if (s->of[id].whole != CR_NONE)
        return s->of[id].whole;
    cr_id all = add(s, CR_OP_all_gather, s->rw.map[id], &(struct cr_attr){.value = s->ranks});
    for (int i = 0; i < cut->n; i++) {
        int64_t share = share_of(s, &cut->segments[i]);
        cr_id parts = add_slice(s, all, cut->axis + 1, begin, share);
        segments[i] = join_segment(s, parts, cut->axis, &cut->segments[i]);
        begin += share;
    }
    return s->of[id].whole = add_concat(s, cut->n, segments, cut->axis);
}

/* Returns this rank's part of a node by `cut`: the node itself if it has this cut, else a part of
 * its whole value. */
static cr_id part_of(struct shard *s, cr_id id, const struct cut *cut)
{
    return same_cut(s, read_cut(s, id), cut) ? s->rw.map[id] : take_part(s, whole_of(s, id), cut);
}

/* Returns operand i of a node in the new graph, in the form that need_of gives. */
static cr_id operand_for(struct shard *s, cr_id id, int i)
{
    cr_id in = cr_in(s->g, id, i);
    switch (need_of(s, id, i)) {
    case NEEDS_WHOLE:
        return whole_of(s, in);
    case NEEDS_OWN:
        return s->rw.map[in];
    case NEEDS_TABLE:
        return add_table(s, s->rw.map[in], &s->of[id].cut);
    default:
        return part_of(s, in, &s->of[id].cut);
    }
}

/* Returns the attributes of a node, with the size of this rank's part.  The begin of a slice
 * becomes the begin in this rank's part of the operand. */
static struct cr_attr local_attr(const struct shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    const struct cut *cut = &s->of[id].cut;
    struct cr_attr attr = cr_attr_of(node);
    int first, n;
    if (!cut->n && !s->of[id].is_common)
        return attr;
    if (cut->n)
        attr.shape[cut->axis] = local_size(s, cut);
    if (node->op != CR_OP_slice)
        return attr;
    const struct cut *of = read_cut(s, cr_in(s->g, id, 0));
    struct cut before = *of;
    find_segments(of, node->index[of->axis], node->shape[of->axis], &first, &n);
    before.n = first;
    attr.index[of->axis] = local_size(s, &before);
    return attr;
}

/* ---- tied tables ---- */

/* A lookup in a table that is cut by rows: the ids, and the segment of rows that the ranks
 * share. */
struct lookup {
    cr_id ids;
    const struct segment *rows;
};

/* Returns the least id that rank r looks up. */
static int64_t first_id(const struct shard *s, const struct lookup *l, int r)
{
    return share_of(s, l->rows) * r;
}

/* Adds a number as a tensor of the shape of the ids. */
static cr_id add_number(struct shard *s, const struct lookup *l, int64_t value)
{
    struct cr_attr attr = cr_attr_of(made(s, l->ids));
    attr.value = (double)value;
    attr.name = NULL;
    return cr_rewrite_add(&s->rw, CR_OP_const, 0, NULL, &attr);
}

/* Adds a bool for each id: true if rank r or a later rank looks it up. */
static cr_id add_reaches(struct shard *s, const struct lookup *l, int r)
{
    const cr_id in[] = {l->ids, add_number(s, l, first_id(s, l, r))};
    return cr_rewrite_add(&s->rw, CR_OP_ge, 2, in, NULL);
}

static cr_id add_where(struct shard *s, cr_id condition, cr_id a, cr_id b)
{
    const cr_id in[] = {condition, a, b};
    return cr_rewrite_add(&s->rw, CR_OP_where, 3, in, NULL);
}

/* Adds for each id its row in the part of the rank that looks it up.  All ranks compute this row,
 * as they run one program; a rank whose part lacks the id looks up a row that is not used. */
static cr_id add_local_ids(struct shard *s, const struct lookup *l)
{
    cr_id begin = add_number(s, l, 0);
    for (int r = 1; r < s->ranks && first_id(s, l, r) < l->rows->size; r++) {
        int64_t last = l->rows->size - share_of(s, l->rows), first = first_id(s, l, r);
        begin = add_where(s, add_reaches(s, l, r), add_number(s, l, first < last ? first : last), begin);
    }
    const cr_id in[] = {l->ids, begin};
    return cr_rewrite_add(&s->rw, CR_OP_sub, 2, in, NULL);
}

/* Adds the rows that rank r has looked up: a slice of `all`, the gathered rows of all ranks. */
static cr_id add_found(struct shard *s, cr_id all, int r)
{
    cr_id one = add_slice(s, all, 0, r, 1);
    struct cr_attr attr = {.rank = made(s, one)->rank - 1};
    memcpy(attr.shape, made(s, one)->shape + 1, (size_t)attr.rank * sizeof *attr.shape);
    return add(s, CR_OP_reshape, one, &attr);
}

/* Adds the condition add_reaches for each column of a row. */
static cr_id add_row_reaches(struct shard *s, const struct lookup *l, int r, cr_id row)
{
    struct cr_attr column = {.rank = made(s, row)->rank}, whole = {.rank = made(s, row)->rank};
    memcpy(whole.shape, made(s, row)->shape, (size_t)whole.rank * sizeof *whole.shape);
    memcpy(whole.lengths, made(s, row)->lengths, sizeof whole.lengths);
    memcpy(column.shape, whole.shape, sizeof column.shape);
    column.shape[column.rank - 1] = 1;
    return add(s, CR_OP_expand, add(s, CR_OP_reshape, add_reaches(s, l, r), &column), &whole);
}

/* Adds a lookup of rows in a table that is cut by rows: each rank looks all ids up in its part, and the rows of the
 * rank that has them are taken. */
static cr_id add_lookup(struct shard *s, cr_id id)
{
    cr_id table = cr_in(s->g, id, 0);
    const struct cut cut = cut_of_columns(s, tied_head(s, table));
    const struct lookup l = {whole_of(s, cr_in(s->g, id, 1)), &cut.segments[0]};
    int64_t columns = s->g->nodes[table].shape[1];
    cr_id part = add(s, CR_OP_slice, s->rw.map[table],
                     &(struct cr_attr){.part = true,
                                       .index = {begin_of(s, l.rows), 0},
                                       .shape = {share_of(s, l.rows), columns}});
    const cr_id in[] = {part, add_local_ids(s, &l)};
    cr_id own = cr_rewrite_add(&s->rw, CR_OP_gather, 2, in, NULL);
    cr_id all = add(s, CR_OP_all_gather, own, &(struct cr_attr){.value = s->ranks});
    cr_id row = add_found(s, all, 0);
    for (int r = 1; r < s->ranks && first_id(s, &l, r) < l.rows->size; r++)
        row = add_where(s, add_row_reaches(s, &l, r, row), add_found(s, all, r), row);
    return row;
}

/* Adds a node to the new graph, with the operands that it needs and the sizes of this rank's
 * part. */
static void build_node(struct shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    bool as_before = !s->of[id].cut.n;
    for (int i = 0; i < node->n_in; i++)
        as_before &= !s->of[cr_in(s->g, id, i)].cut.n;
    cr_rewrite_at(&s->rw, id);
    if (node->op == CR_OP_gather && is_tied(s, id)) {
        s->rw.map[id] = add_lookup(s, id);
        return;
    }
    if (as_before) {
        cr_rewrite_copy(&s->rw, id);
        return;
    }
    cr_id *in = cr_calloc((size_t)node->n_in + 1, sizeof *in);
    for (int i = 0; i < node->n_in; i++)
        in[i] = operand_for(s, id, i);
    struct cr_attr attr = local_attr(s, id);
    cr_rewrite_replace(&s->rw, id, node->op, node->n_in, in, &attr);
    free(in);
}

/* Results are whole; a state's next value is cut as the state is. */
static void build_outputs(struct shard *s)
{
    cr_id *of = cr_calloc((size_t)s->g->n_outputs, sizeof *of);
    for (int i = 0; i < s->g->n_outputs; i++) {
        const struct cr_output *o = &s->g->outputs[i];
        of[i] = o->state == CR_NONE ? whole_of(s, o->id) : part_of(s, o->id, &s->of[o->state].cut);
    }
    for (int i = 0; i < s->g->n_outputs; i++)
        s->rw.map[s->g->outputs[i].id] = of[i];
    free(of);
}

/* ---- the pass ---- */

static void find_weights(struct shard *s)
{
    for (cr_id id = 0; id < s->g->n_nodes; id++) {
        enum cr_kind kind = cr_kind_of(s->g, id);
        s->of[id].is_weight =
            s->g->nodes[id].op == CR_OP_param || kind == CR_KIND_MOVE || kind == CR_KIND_CONCAT;
        for (int i = 0; i < s->g->nodes[id].n_in; i++)
            s->of[id].is_weight &= s->of[cr_in(s->g, id, i)].is_weight;
    }
}

/* True if a length has a value for each row of a batch; all_gather moves the same number of
 * elements for each row. */
static bool is_ragged(const struct cr_graph *g)
{
    for (int i = 0; i < g->n_lengths; i++)
        if (g->lengths[i].batch)
            return true;
    return false;
}

/* Marks the nodes that an attention computes from its scores, and its output. */
static void mark_attention(struct shard *s, const struct cr_attention *attention, int number)
{
    for (cr_id id = attention->scores; id <= attention->output; id++) {
        bool inside = id == attention->scores;
        for (int i = 0; i < s->g->nodes[id].n_in; i++)
            inside |= s->of[cr_in(s->g, id, i)].attention == number;
        if (inside)
            s->of[id].attention = number;
    }
    s->of[attention->scores].is_scores = true;
    s->of[attention->output].is_output = true;
}

/* Marks what attentions compute.  Then empties the module's list of
 * attentions, which has to be made from the new graph. */
static void find_scores(struct shard *s, struct cr_module *module)
{
    cr_find_attentions(module, &s->users);
    for (int i = 0; i < module->n_attentions; i++)
        mark_attention(s, &module->attentions[i], i + 1);
    s->is_whole = cr_calloc((size_t)module->n_attentions + 1, sizeof *s->is_whole);
    s->attends = module->n_attentions > 0;
    module->n_attentions = 0;
}

/* Decides the cuts of all nodes, again and again until no state changes its cut and no further node
 * has to be gathered; then builds the new graph. */
void cr_pass_shard(struct cr_module *module)
{
    static const struct cr_rewrite_rules no_rules = {0}; /* rules might split joined sums */
    struct shard s = {
        .g = module->graph, .rank = module->settings.rank, .ranks = module->settings.ranks};
    bool listed =
        module->has & CR_HAS_GRADIENTS; /* else it is unknown which gradients are attentions' */
    if (s.ranks < 2 || module->settings.update || !listed || module->n_backwards || is_ragged(module->graph))
        return;
    s.of = cr_calloc((size_t)s.g->n_nodes, sizeof *s.of);
    for (cr_id id = 0; id < s.g->n_nodes; id++)
        s.of[id].whole = CR_NONE;
    cr_users_find(&s.users, s.g);
    find_weights(&s);
    find_scores(&s, module);
    find_demands(&s);
    do
        decide_all(&s);
    while (settle_states(&s) || find_gathered(&s, true) || find_gathered(&s, false));
    cr_rewrite_begin(&s.rw, module->graph, &no_rules);
    for (cr_id id = 0; id < s.g->n_nodes; id++)
        if (s.rw.live[id])
            build_node(&s, id);
    build_outputs(&s);
    module->graph = cr_rewrite_end(&s.rw);
    module->stores_gathered = s.stores_gathered;
    cr_users_free(&s.users);
    free(s.is_whole);
    free(s.of);
}
