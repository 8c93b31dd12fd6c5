/*
 * limit_rules.c - removes a `limit` that is not needed, so that other rules and kernels match the
 * same nodes as in a graph without lengths.
 *
 * A `limit` gives lengths to the axes of its operand.  A constant, an iota and an expand can have
 * lengths themselves, and need no `limit`.
 */
#include "limit_rules.h"

#include <string.h>

/* Removes a limit whose operand already has its lengths, merges two limits, and moves the lengths
 * into an operand that can have them. */
cr_id cr_rule_limit_nothing(struct cr_rewrite *rw, const struct cr_draft *d)
{
    const struct cr_node *in = cr_draft_in(rw, d, 0);
    bool same = true;
    if (in->op == CR_OP_limit) {
        struct cr_attr attr = *d->attr;
        cr_id below = cr_in(rw->to, d->in[0], 0);
        for (int a = 0; a < in->rank; a++)
            attr.lengths[a] = attr.lengths[a] ? attr.lengths[a] : in->lengths[a];
        return cr_rewrite_add(rw, CR_OP_limit, 1, &below, &attr);
    }
    for (int a = 0; a < in->rank; a++)
        same &= !d->attr->lengths[a] || in->lengths[a];
    if (same)
        return d->in[0];
    return cr_can_be_limited(in->op) ? cr_rewrite_limited(rw, d->in[0], d->attr->lengths) : CR_NONE;
}

/* If operand i of a draft is a constant or an iota with lengths, returns the same node without
 * lengths; otherwise CR_NONE. */
static cr_id unlimited(struct cr_rewrite *rw, const struct cr_draft *d, int i)
{
    const struct cr_node *node = cr_draft_in(rw, d, i);
    bool any = false;
    if (node->op != CR_OP_const && node->op != CR_OP_iota)
        return CR_NONE;
    for (int a = 0; a < node->rank; a++)
        any |= node->lengths[a] != 0;
    struct cr_attr attr = cr_attr_of(node);
    return any ? cr_rewrite_add(rw, node->op, 0, NULL, &attr) : CR_NONE;
}

/* Removes the lengths of an operand that is a constant or an iota, if the op gets the same lengths
 * from another operand. */
cr_id cr_rule_limit_once(struct cr_rewrite *rw, const struct cr_draft *d)
{
    struct cr_node with, without;
    struct cr_draft other = *d;
    cr_id in[3];
    for (int i = 0; i < d->n && rw->to->n_lengths; i++) {
        memcpy(in, d->in, sizeof in);
        other.all = in;
        in[i] = unlimited(rw, d, i);
        if (in[i] != CR_NONE && cr_infer_draft(rw, d, &with) &&
            cr_infer_draft(rw, &other, &without) &&
            memcmp(with.lengths, without.lengths, sizeof with.lengths) == 0)
            return cr_rewrite_add(rw, d->op, d->n, in, d->attr);
    }
    return CR_NONE;
}

/* Removes limits from operands if all operands are constants, so that the op is folded.
 * cr_rewrite_add puts the lengths on the result (rewrite.h). */
cr_id cr_rule_limit_constant(struct cr_rewrite *rw, const struct cr_draft *d)
{
    cr_id in[3];
    bool limited = false;
    for (int i = 0; i < d->n; i++) {
        const struct cr_node *node = cr_draft_in(rw, d, i);
        bool limit = node->op == CR_OP_limit;
        in[i] = limit ? cr_in(rw->to, d->in[i], 0) : d->in[i];
        limited |= limit;
        if (rw->to->nodes[in[i]].op != CR_OP_const)
            return CR_NONE;
    }
    return limited ? cr_rewrite_add(rw, d->op, d->n, in, d->attr) : CR_NONE;
}
