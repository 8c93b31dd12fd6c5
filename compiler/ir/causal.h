/*
 * causal.h - what becomes of tokens that come later.
 *
 * An element of a tensor may stand for a pair of tokens: a query, by its position along one axis, and
 * a key, by that along another.  In a causal model the pairs whose key comes later than the query
 * have no part in any result: a mask makes their scores -inf, so that their weights are 0.
 */
#ifndef CR_CAUSAL_H
#define CR_CAUSAL_H

#include "graph.h"

enum cr_later {
    CR_LATER_UNKNOWN,
    CR_LATER_ZERO,   /* 0: leaving it out does not change a sum */
    CR_LATER_HIDDEN, /* -inf or at most -CR_HIDES: leaving it out does not change a maximum, and its
                      * exponential is 0 */
};

/* The bound on the magnitude of scores: adding at most -CR_HIDES hides a score. */
#define CR_HIDES 1e9

/*
 * Returns the common value of all elements that stand for a later key, that is, whose position
 * along axis `key` is larger than along axis `query`.  It follows from masks made of `iota`,
 * constants and literals, if factors of a 0 are finite and divisors are not 0.
 */
enum cr_later cr_find_later(const struct cr_graph *g, cr_id id, int query, int key);

#endif
