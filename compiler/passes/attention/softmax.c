#include "softmax.h"

#include <math.h>

#include "compiler/passes/rewrite/factors.h"
#include "compiler/passes/rewrite/rule_tools.h"

static void part(struct cr_softmax *s, cr_id id)
{
    if (s->n < CR_SOFTMAX_PARTS)
        s->parts[s->n++] = id;
}

/* True if `id` reduces `of` by `op` over the last axis. */
static bool is_row_reduction(const struct cr_graph *g, cr_id id, enum cr_op op, cr_id of)
{
    const struct cr_node *node = &g->nodes[id];
    return node->op == op && cr_in(g, id, 0) == of && node->axis == node->rank - 1;
}

/* True if a node has one number a row: it has one column, or it expands a node with one column. */
static bool is_row_number(const struct cr_graph *g, cr_id id, int rank)
{
    const struct cr_node *node = &g->nodes[cr_operand_of_expand(g, id)];
    return node->rank == rank && node->shape[rank - 1] == 1;
}

/* Follows elementwise ops from the shift `id` to the maximum of the logits, and appends the nodes
 * on the paths to the softmax's parts.  Returns false if no path is found within `budget`
 * visits. */
static bool add_shift(const struct cr_graph *g, struct cr_softmax *s, cr_id id, int *budget)
{
    bool leads = is_row_reduction(g, id, CR_OP_max, s->logits);
    if (--*budget < 0)
        return false;
    if (!leads && cr_kind_of(g, id) == CR_KIND_ELEMENTWISE)
        for (int i = 0; i < g->nodes[id].n_in; i++)
            leads |= add_shift(g, s, cr_in(g, id, i), budget);
    if (leads)
        part(s, id);
    return leads;
}

/* Matches exp(x - max(x)) or exp(x), and sets the logits x. */
static bool match_exp(const struct cr_graph *g, struct cr_softmax *s, cr_id id)
{
    if (!cr_is_op(g, id, CR_OP_exp))
        return false;
    s->exp = id;
    s->logits = cr_in(g, id, 0);
    part(s, id);
    if (!cr_is_op(g, s->logits, CR_OP_sub))
        return true;
    cr_id difference = s->logits, x = cr_in(g, difference, 0), wide = cr_in(g, difference, 1);
    cr_id top = cr_operand_of_expand(g, wide);
    if (!is_row_reduction(g, top, CR_OP_max, x))
        return true; /* the logits are a difference, without a shift */
    part(s, difference);
    part(s, wide);
    if (top != wide)
        part(s, top);
    s->logits = x;
    s->is_shifted = true;
    return true;
}

/* ---- sinks ---- */

/* Matches the term of a sink without a shift, exp(sink): a positive constant, or an exp with one
 * number a row. */
static bool find_plain_sink(const struct cr_graph *g, struct cr_softmax *s, cr_id more)
{
    const struct cr_node *node = &g->nodes[more];
    s->sink = (struct cr_sink){.there = true, .node = CR_NONE};
    if (node->op == CR_OP_exp)
        s->sink.node = cr_in(g, more, 0);
    else if (node->op == CR_OP_const && node->value > 0 && node->value < INFINITY)
        s->sink.number = log(node->value);
    else
        return false;
    if (s->sink.node != CR_NONE)
        part(s, more);
    return true;
}

/* Matches the term of a sink, exp(sink - m), where m, one number a row, is also subtracted from the
 * logits.  exp(-m) is the sink 0. */
static bool find_shifted_sink(const struct cr_graph *g, struct cr_softmax *s, cr_id more)
{
    cr_id inner = cr_is_op(g, more, CR_OP_exp) ? cr_in(g, more, 0) : CR_NONE;
    cr_id difference = cr_in(g, s->exp, 0);
    int rank = g->nodes[difference].rank, budget = 16;
    if (inner == CR_NONE || !cr_is_op(g, difference, CR_OP_sub) ||
        !is_row_number(g, cr_in(g, difference, 1), rank))
        return false;
    cr_id wide = cr_in(g, difference, 1), shift = cr_operand_of_expand(g, wide);
    bool negated = cr_is_op(g, inner, CR_OP_neg) && cr_in(g, inner, 0) == shift;
    if (!negated && !(cr_is_op(g, inner, CR_OP_sub) && cr_in(g, inner, 1) == shift))
        return false;
    s->sink = (struct cr_sink){.there = true, .node = negated ? CR_NONE : cr_in(g, inner, 0)};
    s->logits = cr_in(g, difference, 0);
    part(s, more);
    part(s, inner);
    part(s, difference);
    if (wide != shift)
        part(s, wide);
    s->is_shifted = add_shift(g, s, shift, &budget);
    return true;
}

/* Matches the denominator: sum(e), with or without the term of a sink added. */
static bool match_denominator(const struct cr_graph *g, struct cr_softmax *s, cr_id id)
{
    if (is_row_reduction(g, id, CR_OP_sum, s->exp))
        return true;
    for (int i = 0; cr_is_op(g, id, CR_OP_add) && i < 2; i++) {
        cr_id sum = cr_in(g, id, i), more = cr_in(g, id, 1 - i);
        if (!is_row_reduction(g, sum, CR_OP_sum, s->exp) ||
            !is_row_number(g, more, g->nodes[s->exp].rank))
            continue;
        part(s, sum);
        return find_shifted_sink(g, s, more) ||
               (!s->is_shifted && find_plain_sink(g, s, more));
    }
    return false;
}

bool cr_match_softmax(const struct cr_graph *g, struct cr_softmax *s, cr_id id)
{
    *s = (struct cr_softmax){.n = 0};
    if (!cr_is_op(g, id, CR_OP_div))
        return false;
    part(s, id);
    if (!match_exp(g, s, cr_in(g, id, 0)))
        return false;
    cr_id wide = cr_in(g, id, 1), sum = cr_operand_of_expand(g, wide);
    part(s, wide);
    if (sum != wide)
        part(s, sum);
    return match_denominator(g, s, sum) && s->n < CR_SOFTMAX_PARTS;
}

/* ---- dropout ---- */

/* Matches a softmax, or the product of a softmax and a dropout's factors. */
bool cr_match_dropped(const struct cr_graph *g, struct cr_softmax *s, cr_id dropped)
{
    struct cr_factors f;
    if (!cr_find_factors(g, dropped, &f))
        return false;
    for (int i = 0; i < f.n; i++) {
        cr_id probs = f.nodes[i];
        if (probs < 0 || !cr_match_softmax(g, s, probs) || !cr_take_factor(&f, probs))
            continue;
        if (!cr_is_dropout(g, &f) || (cr_choose(g, &f) && !s->is_shifted))
            return false; /* without a shift, an infinite score is NaN only in its own element,
                             which dropout may remove */
        for (cr_id id = dropped; id != probs; id = cr_operand_with_factor(g, id, probs))
            part(s, id);
        return s->n < CR_SOFTMAX_PARTS;
    }
    return false;
}
