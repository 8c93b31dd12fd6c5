/*
 * softmax.h - finding softmax over rows.
 *
 * Rules have brought its spellings into one, e / sum(e) with e = exp(x) or exp(x - max(x)).  There may
 * be more in the denominator: one score more, which is no key's.  Such a *sink* takes a share of
 * the weights: e / (sum(e) + exp(sink)), where the sink is a number for each row, of a
 * parameter for instance (as of GPT-OSS), or 0: e / (sum(e) + 1).  If e is exp(x - m), what is added
 * is exp(sink - m), for any m.
 */
#ifndef CR_SOFTMAX_H
#define CR_SOFTMAX_H

#include "compiler/passes/module/module.h"

enum { CR_SOFTMAX_PARTS = 32 };

struct cr_softmax {
    cr_id logits, exp;
    bool is_shifted;               /* by the maximum of the logits, or something larger */
    struct cr_sink sink;
    cr_id parts[CR_SOFTMAX_PARTS]; /* its nodes, the probabilities first */
    int n;
};

/* True if a node is a softmax, with a sink or without; its parts may have other users, too. */
bool cr_match_softmax(const struct cr_graph *g, struct cr_softmax *s, cr_id id);

/* True if a node is such a softmax, or after dropout: one times other things.  The products on the
 * way to it become its last parts. */
bool cr_match_dropped(const struct cr_graph *g, struct cr_softmax *s, cr_id dropped);

#endif
