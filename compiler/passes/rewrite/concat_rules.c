/*
 * concat_rules.c - applies elementwise ops to the parts of a concat instead of the concat, if a
 * slice or a reduction reads the result.
 *
 * Attention with a sink is often written as concat({scores, sink}), softmax, and a slice without
 * the sink.  These rules replace it: the maximum and the sum of the scores are combined with the
 * sink (softmax.h), and nothing is concatenated.
 */
#include "concat_rules.h"

#include <string.h>

/* A range of elements along an axis: `size` elements from `start` on. */
struct range {
    int axis;
    int64_t start, size;
};

/* Returns the operand of the concat `id` that covers exactly the range, or CR_NONE. */
static cr_id whole_part(const struct cr_graph *g, cr_id id, const struct range *r)
{
    const struct cr_node *node = &g->nodes[id];
    int64_t start = 0;
    for (int i = 0; node->op == CR_OP_concat && node->axis == r->axis && i < node->n_in; i++) {
        cr_id in = cr_in(g, id, i);
        if (start == r->start && g->nodes[in].shape[r->axis] == r->size)
            return in;
        start += g->nodes[in].shape[r->axis];
    }
    return CR_NONE;
}

/* True if all elements of a node along an axis are equal: it is a constant, an iota along another
 * axis, or an expand along this axis.  An iota must count, because the rules have to apply to the
 * graph of a whole text if they apply to the graph of some of its tokens, where positions are an
 * expand. */
static bool repeats(const struct cr_graph *g, cr_id id, int axis)
{
    const struct cr_node *node = &g->nodes[id];
    if (node->op == CR_OP_const || (node->op == CR_OP_iota && node->axis != axis))
        return true;
    if (node->op != CR_OP_expand)
        return false;
    const struct cr_node *in = &g->nodes[cr_in(g, id, 0)];
    int at = axis - (node->rank - in->rank);
    return at < 0 || in->shape[at] == 1;
}

/* True if a range of node `id` can be computed by elementwise ops from whole operands of concats
 * and from nodes that are constant along the axis.  Sets *joined if there is such a concat. */
static bool can_take(const struct cr_graph *g, cr_id id, const struct range *r, bool *joined,
                     int *budget)
{
    if (--*budget < 0)
        return false;
    if (whole_part(g, id, r) != CR_NONE)
        return *joined = true;
    if (repeats(g, id, r->axis))
        return true;
    if (cr_kind_of(g, id) != CR_KIND_ELEMENTWISE)
        return false;
    for (int i = 0; i < g->nodes[id].n_in; i++)
        if (!can_take(g, cr_in(g, id, i), r, joined, budget))
            return false;
    return true;
}

/* Returns a node with the range of node `id`, for which can_take is true. */
static cr_id take(struct cr_rewrite *rw, cr_id id, const struct range *r)
{
    const struct cr_graph *g = rw->to;
    cr_id part = whole_part(g, id, r), in[3] = {0};
    if (part != CR_NONE)
        return part;
    int n = g->nodes[id].n_in;
    struct cr_attr attr = cr_attr_of(&g->nodes[id]);
    enum cr_op op = g->nodes[id].op;
    attr.shape[r->axis] = r->size;
    for (int i = 0; i < n; i++)
        in[i] = cr_in(g, id, i);
    if (repeats(g, id, r->axis))
        return cr_rewrite_add(rw, op, n, in, &attr);
    for (int i = 0; i < n; i++)
        in[i] = take(rw, in[i], r);
    return cr_rewrite_add(rw, op, n, in, NULL);
}

/* True if can_take is true for the range and finds a concat. */
static bool is_made_of_parts(const struct cr_graph *g, cr_id id, const struct range *r)
{
    bool joined = false;
    int budget = 32;
    return can_take(g, id, r, &joined, &budget) && joined;
}

/* Returns a concat of two operands along `axis` from which elementwise ops compute the node;
 * CR_NONE if there is none. */
static cr_id find_concat(const struct cr_graph *g, cr_id id, int axis, int *budget)
{
    const struct cr_node *node = &g->nodes[id];
    if (--*budget < 0)
        return CR_NONE;
    if (node->op == CR_OP_concat)
        return node->axis == axis && node->n_in == 2 ? id : CR_NONE;
    if (cr_kind_of(g, id) != CR_KIND_ELEMENTWISE)
        return CR_NONE;
    for (int i = 0; i < node->n_in; i++) {
        cr_id found = find_concat(g, cr_in(g, id, i), axis, budget);
        if (found != CR_NONE)
            return found;
    }
    return CR_NONE;
}

/* Replaces a slice of f(concat(a, b)) that covers exactly a by f(a), for elementwise f. */
cr_id cr_rule_work_on_part(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    const struct cr_node *in = &g->nodes[d->in[0]];
    int cut = 0;
    struct range r = {0};
    for (int i = 0; i < in->rank; i++)
        if (d->attr->shape[i] != in->shape[i]) {
            r = (struct range){i, d->attr->index[i], d->attr->shape[i]};
            cut++;
        }
    if (cr_kind_of(g, d->in[0]) != CR_KIND_ELEMENTWISE || cut != 1 ||
        !is_made_of_parts(g, d->in[0], &r))
        return CR_NONE;
    return take(rw, d->in[0], &r);
}

/* Replaces the sum over rows of f(concat(a, b)), where b has one column, by sum(f(a)) + f(b); and
 * the maximum likewise. */
cr_id cr_rule_reduce_parts(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_graph *g = rw->to;
    int axis = d->attr->axis, budget = 32;
    bool rows = rw->has_concat && axis == g->nodes[d->in[0]].rank - 1;
    cr_id concat = rows ? find_concat(g, d->in[0], axis, &budget) : CR_NONE;
    if (concat == CR_NONE)
        return CR_NONE;
    int64_t first = g->nodes[cr_in(g, concat, 0)].shape[axis];
    int64_t second = g->nodes[cr_in(g, concat, 1)].shape[axis];
    const struct range parts[2] = {{axis, 0, first}, {axis, first, second}};
    int one = second == 1; /* the number of the operand with one column */
    if (parts[one].size != 1 || !is_made_of_parts(g, d->in[0], &parts[0]) ||
        !is_made_of_parts(g, d->in[0], &parts[1]))
        return CR_NONE;
    cr_id many = take(rw, d->in[0], &parts[!one]);
    const cr_id both[] = {cr_rewrite_add(rw, d->op, 1, &many, d->attr),
                          take(rw, d->in[0], &parts[one])};
    return cr_rewrite_add(rw, d->op == CR_OP_sum ? CR_OP_add : CR_OP_maximum, 2, both, NULL);
}

/* ---- constants ---- */

enum { MOST_WORDS = 1024 }; /* the most words of a literal that cr_rule_join_constants makes */

/* Returns the value of a constant as a 32-bit word of a literal. */
static uint32_t word_of(const struct cr_node *node)
{
    float number = (float)node->value;
    uint32_t word;
    if (node->dtype == CR_I32)
        return (uint32_t)(int32_t)node->value;
    memcpy(&word, &number, sizeof word);
    return word;
}

/* True if all operands are f32 or i32 constants and have at most MOST_WORDS elements in all. */
static bool are_constants(const struct cr_rewrite *rw, const struct cr_draft *d)
{
    for (int i = 0; i < d->n; i++) {
        const struct cr_node *in = &rw->to->nodes[cr_draft_operand(rw, d, i)];
        if (in->op != CR_OP_const || in->dtype == CR_BOOL)
            return false;
    }
    return d->n <= MOST_WORDS;
}

/* Writes the elements of a concat of constants to `words`; `node` has the shape of the concat. */
static void join_words(const struct cr_rewrite *rw, const struct cr_draft *d,
                       const struct cr_node *node, uint32_t *words)
{
    int axis = d->attr->axis;
    for (int64_t row = 0; row < cr_elements(axis, node->shape); row++)
        for (int i = 0; i < d->n; i++) {
            const struct cr_node *in = &rw->to->nodes[cr_draft_operand(rw, d, i)];
            for (int64_t j = 0; j < cr_elements(in->rank - axis, in->shape + axis); j++)
                *words++ = word_of(in);
        }
}

/* Replaces a concat of a few constants, such as the slopes of ALiBi, by a literal, or by one
 * constant if all are equal. */
cr_id cr_rule_join_constants(struct cr_rewrite *rw, const struct cr_draft *d)
{
    cr_id all[MOST_WORDS];
    uint32_t words[MOST_WORDS];
    struct cr_node node;
    if (!are_constants(rw, d))
        return CR_NONE;
    for (int i = 0; i < d->n; i++)
        all[i] = cr_draft_operand(rw, d, i);
    if (!cr_infer(rw->to, d->op, d->n, all, d->attr, &node) ||
        cr_elements(node.rank, node.shape) > MOST_WORDS)
        return CR_NONE;
    struct cr_attr attr = cr_attr_of(&node);
    const int64_t n = cr_elements(node.rank, node.shape);
    bool equal = true;
    join_words(rw, d, &node, words);
    for (int64_t i = 1; i < n; i++)
        equal &= words[i] == words[0];
    attr.value = equal ? rw->to->nodes[all[0]].value
                       : cr_add_literal(rw->to, &(struct cr_literal){node.dtype, n, words});
    return cr_rewrite_add(rw, equal ? CR_OP_const : CR_OP_literal, 0, NULL, &attr);
}
