/*
 * softmax.h - matches softmax over rows.
 *
 * The rewrite rules have given it one form, e / sum(e) with e = exp(x) or exp(x - max(x)).  The
 * denominator may contain a *sink*: one more score, which belongs to no key and takes a share of
 * the weights: e / (sum(e) + exp(sink)).  The sink is one number a row, for example computed from a
 * parameter (as in GPT-OSS), or the constant 0: e / (sum(e) + 1).  If e is exp(x - m), then the
 * term of the sink is exp(sink - m), for any m.
 */
#ifndef CR_SOFTMAX_H
#define CR_SOFTMAX_H

#include "compiler/passes/module/module.h"

enum { CR_SOFTMAX_PARTS = 32 };

struct cr_softmax {
    cr_id logits, exp;
    bool is_shifted;               /* true if the maximum of the logits, or a larger number, is
                                      subtracted */
    struct cr_sink sink;
    cr_id parts[CR_SOFTMAX_PARTS]; /* the nodes of the softmax, the probabilities first */
    int n;
};

/* True if a node is a softmax, with or without a sink; fills in *s.  Nodes outside may read its
 * parts, too. */
bool cr_match_softmax(const struct cr_graph *g, struct cr_softmax *s, cr_id id);

/* True if a node is a softmax, or a softmax times the factors of a dropout.  The products between
 * the softmax and `dropped` become its last parts. */
bool cr_match_dropped(const struct cr_graph *g, struct cr_softmax *s, cr_id dropped);

#endif
