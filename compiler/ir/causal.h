/*
 * causal.h - finds the common value of all elements that belong to a later token.
 *
 * An element of a tensor may belong to a pair of tokens: a query, given by its position along one
 * axis, and a key, given by its position along another.  In a causal model, pairs whose key is
 * later than the query affect no result: a mask sets their scores to -inf, so that their weights
 * are 0.
 */
#ifndef CR_CAUSAL_H
#define CR_CAUSAL_H

#include "graph.h"

enum cr_later {
    CR_LATER_UNKNOWN,
    CR_LATER_ZERO,   /* 0: a sum may omit the elements */
    CR_LATER_HIDDEN, /* -inf or at most -CR_HIDES: a maximum may omit the elements, and their
                      * exponential is 0 */
    CR_LATER_TIED,   /* at most -CR_HIDES, but the element of the query's own token may be as low:
                      * if the query sees no key, this number is the maximum */
};

/* Scores are assumed to be smaller in magnitude: a number of at most -CR_HIDES, added to a score,
 * hides it. */
#define CR_HIDES 1e9

/*
 * Returns the common value of all elements that belong to a later key, that is, whose position
 * along axis `key` is larger than along axis `query`.  It is derived from masks made of `iota`,
 * constants and literals, assuming that factors of a 0 are finite and divisors are not 0.
 */
enum cr_later cr_find_later(const struct cr_graph *g, cr_id id, int query, int key);

#endif
