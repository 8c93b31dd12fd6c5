/*
 * softmax.h - matches softmax over rows.
 *
 * Rules have given it one spelling, e / sum(e) with e = exp(x) or exp(x - max(x)).  The
 * denominator may contain a *sink*: one score more, which belongs to no key and takes a share of
 * the weights: e / (sum(e) + exp(sink)).  The sink is a number for each row, computed from a
 * parameter for instance (as in GPT-OSS), or a constant 0: e / (sum(e) + 1).  If e is exp(x - m),
 * then exp(sink - m) is added, for any m.
 */
#ifndef CR_SOFTMAX_H
#define CR_SOFTMAX_H

#include "compiler/passes/module/module.h"

enum { CR_SOFTMAX_PARTS = 32 };

struct cr_softmax {
    cr_id logits, exp;
    bool is_shifted;               /* subtracts the logits' maximum, or something larger */
    struct cr_sink sink;
    cr_id parts[CR_SOFTMAX_PARTS]; /* the nodes of the softmax; the probabilities come first */
    int n;
};

/* True if a node is a softmax, with or without a sink.  Its parts may have other users, too. */
bool cr_match_softmax(const struct cr_graph *g, struct cr_softmax *s, cr_id id);

/* True if a node is a softmax, or one with dropout: a softmax times other factors.  The products
 * between the two become its last parts. */
bool cr_match_dropped(const struct cr_graph *g, struct cr_softmax *s, cr_id dropped);

#endif
