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
    CR_LATER_ZERO,   /* 0, so that a sum is the same without it */
    CR_LATER_HIDDEN, /* -inf or at most -CR_HIDES, so that a maximum is the same without it, and its
                      * exponential is 0 */
};

/* Scores are taken to be of a smaller magnitude than this: what takes so much from them hides them. */
#define CR_HIDES 1e9

/*
 * What all elements are that stand for a later key: of the axes `query` and `key`, the position along
 * `key` is the larger one.  It follows from masks made by `iota`, of constants and of literals; what
 * such a 0 is multiplied with is taken to be finite, and divided by not to be 0.
 */
enum cr_later cr_find_later(const struct cr_graph *g, cr_id id, int query, int key);

#endif
