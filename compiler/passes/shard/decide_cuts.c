/*
 * decide_cuts.c - decides along which axis each node is cut, from the cuts of its operands; in which form it reads each
 * operand; and which values all ranks gather.
 */
#include "cuts.h"

#include <string.h>

#include "compiler/ir/axes.h"

/* Returns the cut of gathered rows by the columns of the table.  Whole if it would have several
 * segments, or if a part would split a format's blocks of columns. */
static struct cr_axis_cut cut_of_rows(const struct cr_shard *s, cr_id id)
{
    struct cr_axis_cut cut = cr_cut_of_columns(s, id);
    int64_t block = cr_formats[s->g->nodes[cr_in(s->g, id, 0)].format].block;
    if (cut.n != 1 || cut.segments[0].unit % block || cut.segments[0].size % block)
        cut.n = 0;
    return cut;
}

/* Returns the cut of a product: that of its left operand, unless along k; else that of its right
 * operand, unless along k; else, if the right operand is a weight, a cut by columns. */
static struct cr_axis_cut decide_contract(const struct cr_shard *s, cr_id id)
{
    const struct cr_axis_cut *a = cr_read_cut(s, cr_in(s->g, id, 0)),
                             *b = cr_read_cut(s, cr_in(s->g, id, 1));
    int r = s->g->nodes[id].rank;
    if (a->n && a->axis < r - 1)
        return *a;
    if (b->n && b->axis != r - 2)
        return *b;
    if (s->of[cr_in(s->g, id, 1)].is_weight && !s->of[id].is_scores)
        return cr_cut_of_columns(s, id);
    return (struct cr_axis_cut){.n = 0};
}

/* Returns the cut of a reshape: that of its operand, on the corresponding axis.  Whole if there is
 * no such axis, or if the reshape would split a unit. */
static struct cr_axis_cut decide_reshape(const struct cr_node *in, const struct cr_node *node,
                                         struct cr_axis_cut cut)
{
    struct cr_reshaped_axis place;
    if (!cr_find_reshaped_axis(in, node, cut.axis, &place) || (place.split > 1 && cut.n > 1))
        return (struct cr_axis_cut){.n = 0};
    cut.axis = place.axis;
    for (int i = 0; i < cut.n; i++) {
        struct cr_cut_segment *segment = &cut.segments[i];
        if (segment->unit * place.merged % place.split || segment->size % place.split)
            return (struct cr_axis_cut){.n = 0};
        segment->unit = segment->unit * place.merged / place.split;
        segment->size = segment->size * place.merged / place.split;
    }
    return cut;
}

static struct cr_axis_cut decide_slice(const struct cr_node *node, struct cr_axis_cut cut)
{
    int first, n;
    if (!cr_find_segments(&cut, node->index[cut.axis], node->shape[cut.axis], &first, &n))
        return (struct cr_axis_cut){.n = 0};
    memmove(cut.segments, cut.segments + first, (size_t)n * sizeof *cut.segments);
    cut.n = n;
    return cut;
}

/* True if a slice covers whole segments of its operand that are the same on all ranks. */
static bool is_common_slice(const struct cr_shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    if (node->op != CR_OP_slice || !cr_read_cut(s, cr_in(s->g, id, 0))->n)
        return false;
    struct cr_axis_cut cut = decide_slice(node, *cr_read_cut(s, cr_in(s->g, id, 0)));
    return cut.n && cr_local_size(s, &cut) == node->shape[cut.axis];
}

/* Returns the cut of a movement op: that of its operand, on the corresponding axis. */
static struct cr_axis_cut decide_move(const struct cr_shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id], *in = &s->g->nodes[cr_in(s->g, id, 0)];
    struct cr_axis_cut cut = *cr_read_cut(s, cr_in(s->g, id, 0));
    if (!cut.n || node->rank == CR_MAX_RANK)
        return (struct cr_axis_cut){.n = 0};
    switch (node->op) {
    case CR_OP_reshape:
        return decide_reshape(in, node, cut);
    case CR_OP_slice:
        return decide_slice(node, cut);
    default: /* a permute, expand, detach or limit */
        for (int a = 0; a < node->rank; a++)
            if (cr_operand_axis(s->g, id, 0, a) == cut.axis) {
                cut.axis = a;
                return cut;
            }
        return (struct cr_axis_cut){.n = 0}; /* the axis is broadcast, so every rank has all of
                                                it */
    }
}

/* Returns the cut of the first operand that is cut along an axis other than `not_along`; whole if
 * none is. */
static struct cr_axis_cut first_cut(const struct cr_shard *s, cr_id id, int not_along)
{
    for (int i = 0; i < s->g->nodes[id].n_in; i++) {
        const struct cr_axis_cut *cut = cr_read_cut(s, cr_in(s->g, id, i));
        if (cut->n && cut->axis != not_along)
            return *cut;
    }
    return (struct cr_axis_cut){.n = 0};
}

/* Returns the cut of a concat: that of an operand along another axis than the concat's; else, if
 * all operands are cut along the concat's axis, the segments of all of them. */
static struct cr_axis_cut decide_concat(const struct cr_shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct cr_axis_cut cut = first_cut(s, id, node->axis);
    if (cut.n)
        return cut;
    cut.axis = node->axis;
    for (int i = 0; i < node->n_in; i++) {
        const struct cr_axis_cut *in = cr_read_cut(s, cr_in(s->g, id, i));
        if (!in->n || cut.n + in->n > CR_SEGMENTS)
            return (struct cr_axis_cut){.n = 0};
        memcpy(cut.segments + cut.n, in->segments, (size_t)in->n * sizeof *in->segments);
        cut.n += in->n;
    }
    return cut;
}

/* Returns the cut of a write: that of the rows that are written, so that each rank writes its part
 * of them.  Whole if the rows are cut along the written axis. */
static struct cr_axis_cut decide_write(const struct cr_shard *s, cr_id id)
{
    const struct cr_axis_cut *rows = cr_read_cut(s, cr_in(s->g, id, 1));
    if (!rows->n || rows->axis == s->g->nodes[id].axis)
        return (struct cr_axis_cut){.n = 0};
    return *rows;
}

/* Returns the cut of a gather: that of its indices if they are cut, else that of the table's rows.
 * Whole if the table is tied to a head (cr_is_tied). */
static struct cr_axis_cut decide_gather(const struct cr_shard *s, cr_id id)
{
    const struct cr_axis_cut *index = cr_read_cut(s, cr_in(s->g, id, 1)),
                             *table = cr_read_cut(s, cr_in(s->g, id, 0));
    if (s->g->nodes[id].rank == CR_MAX_RANK)
        return (struct cr_axis_cut){.n = 0};
    if (cr_is_tied(s, id))
        return (struct cr_axis_cut){.n = 0};
    if (!index->n && cr_gathers_from_table(s, id))
        return cut_of_rows(s, id);
    if (index->n || !table->n || table->axis == 0)
        return *index;
    struct cr_axis_cut cut = *table;
    cut.axis += cr_index_rank(s->g, id) - 1;
    return cut;
}

/* Returns the cut of a node, given the cuts of its operands; whole if a rank cannot compute a part
 * of it. */
static struct cr_axis_cut decide(const struct cr_shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    int attention = s->of[id].attention;
    if (attention && s->is_whole[attention - 1])
        return (struct cr_axis_cut){.n = 0};
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
        return (struct cr_axis_cut){.n = 0};
    }
}

/* Decides the cuts of all nodes in the order of the graph.  The cuts of states must be set
 * before. */
void cr_decide_cuts(struct cr_shard *s)
{
    for (cr_id id = 0; id < s->g->n_nodes; id++) {
        struct cr_shard_facts *of = &s->of[id];
        if (s->g->nodes[id].op == CR_OP_state)
            continue;
        of->cut = decide(s, id);
        of->is_common = of->cut.n && is_common_slice(s, id);
        if (of->is_common)
            of->cut.n = 0;
    }
}

/* Sets the cut of each state to that of its next value.  The state stays whole if its next value is
 * an output, or if several entries give it next values with different cuts.  Returns true if the
 * cut of a state has changed. */
bool cr_settle_states(struct cr_shard *s)
{
    bool changed = false;
    for (int i = cr_n_results(s->g); i < s->g->n_outputs; i++) {
        cr_id state = s->g->outputs[i].state;
        const struct cr_axis_cut *next = &s->of[s->g->outputs[i].id].cut;
        struct cr_axis_cut *cut = &s->of[state].cut;
        if (cr_same_cut(s, cut, next))
            continue;
        s->of[state].stays |= cut->n > 0 || cr_is_entry_output(s->g, s->g->outputs[i].id);
        *cut = s->of[state].stays ? (struct cr_axis_cut){.n = 0} : *next;
        changed |= !s->of[state].stays || cut->n != next->n;
    }
    return changed;
}

/* ---- forms of operands ---- */

/* Returns the form in which node `id` reads operand i.  A product is not cut along k: it reads one
 * operand by rows or columns and the other one whole, unless both are cut along a batch axis. */
enum cr_operand_form cr_form_of_operand(const struct cr_shard *s, cr_id id, int i)
{
    const struct cr_node *node = &s->g->nodes[id];
    const struct cr_axis_cut *cut = &s->of[id].cut;
    int r = node->rank;
    if (!cut->n)
        return s->of[id].is_common ? CR_NEEDS_OWN : CR_NEEDS_WHOLE;
    switch (cr_ops[node->op].kind) {
    case CR_KIND_CONTRACT:
        return cut->axis < r - 2 || (cut->axis == r - 2) == (i == 0) ? CR_NEEDS_PART
                                                                     : CR_NEEDS_WHOLE;
    case CR_KIND_CONCAT:
        return cut->axis == node->axis ? CR_NEEDS_OWN : CR_NEEDS_PART;
    case CR_KIND_MOVE:
        return CR_NEEDS_OWN;
    case CR_KIND_GATHER:
        if (cut->axis < cr_index_rank(s->g, id))
            return i == 1 ? CR_NEEDS_PART : CR_NEEDS_WHOLE;
        if (i == 1)
            return CR_NEEDS_WHOLE;
        return cr_read_cut(s, cr_in(s->g, id, 0))->n ? CR_NEEDS_OWN : CR_NEEDS_TABLE;
    case CR_KIND_WRITE:
        return i < 2 ? CR_NEEDS_PART : CR_NEEDS_WHOLE;
    default:
        return CR_NEEDS_PART;
    }
}

/* Returns the only cut operand of an elementwise node; CR_NONE if it has none or several, and for
 * other nodes. */
static cr_id only_cut_operand(const struct cr_shard *s, cr_id id)
{
    cr_id only = CR_NONE;
    if (cr_kind_of(s->g, id) != CR_KIND_ELEMENTWISE)
        return CR_NONE;
    for (int i = 0; i < s->g->nodes[id].n_in; i++) {
        cr_id in = cr_in(s->g, id, i);
        if (cr_read_cut(s, in)->n && only != CR_NONE && in != only)
            return CR_NONE;
        if (cr_read_cut(s, in)->n)
            only = in;
    }
    return only;
}

static bool has_user_but(const struct cr_shard *s, cr_id id, cr_id user)
{
    for (int i = s->users.first[id]; i < s->users.first[id + 1]; i++)
        if (s->users.list[i] != user)
            return true;
    return false;
}

/* Returns the value to gather for a reduction over the columns of `in`: `in` itself, or a value
 * from which elementwise ops compute `in` and that other nodes read, too.  A norm, for example,
 * sums squares of x and scales x: if x is gathered, neither the squares nor the result have to be
 * gathered. */
static cr_id source_of(const struct cr_shard *s, cr_id in)
{
    for (cr_id id = in, next; (next = only_cut_operand(s, id)) != CR_NONE; id = next)
        if (has_user_but(s, next, id))
            return next;
    return in;
}

/* Marks a node as gathered.  If the node is inside an attention, makes the whole attention whole
 * instead: no kernel computes an attention from which a value is gathered, and another order of
 * sums would give other bits. */
static void mark_gathered(struct cr_shard *s, cr_id id)
{
    int attention = s->of[id].attention;
    if (attention && !s->of[id].is_output)
        s->is_whole[attention - 1] = true;
    else
        s->of[id].gathered = true;
}

/* Marks the cut nodes that have to be gathered, because a reader needs another part of them.  With
 * `for_reductions`, considers only reductions as readers.  Returns true if it has marked a node
 * that was not marked.  Movement ops and concats of weights are never cut, so they are never
 * gathered. */
bool cr_find_gathered(struct cr_shard *s, bool for_reductions)
{
    bool more = false;
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        for (int i = 0; i < s->g->nodes[id].n_in; i++) {
            cr_id in = cr_in(s->g, id, i);
            enum cr_operand_form need = cr_form_of_operand(s, id, i);
            bool fits =
                need == CR_NEEDS_OWN ||
                (need == CR_NEEDS_PART && cr_same_cut(s, cr_read_cut(s, in), &s->of[id].cut));
            if (!cr_read_cut(s, in)->n || fits ||
                (for_reductions && cr_kind_of(s->g, id) != CR_KIND_REDUCE))
                continue;
            mark_gathered(s, for_reductions ? source_of(s, in) : in);
            more = true;
        }
    return more;
}
