/*
 * incremental.h - from a causal model of all tokens at once to one that goes on from those before.
 *
 * A causal model computes what it says of a token from that token and those before it, so what it
 * computed of those need not be computed again: it is kept in states (of attention: the KV cache).  The
 * graph that is made takes the next n tokens, whatever the script's formulas are.  Its results are those
 * of the whole sequence.
 */
#ifndef CR_INCREMENTAL_H
#define CR_INCREMENTAL_H

#include "error.h"
#include "graph.h"

#define CR_IDS "ids"       /* the input of tokens, i32 [batch, tokens] */
#define CR_LOGITS "logits" /* the output that is kept, [batch, tokens, ...] */
#define CR_AT "at"         /* the state that says how many tokens came before, one i32 */
#define CR_TOKENS "n"      /* the length: how many tokens come now */

struct cr_incremental_how {
    int64_t chunk;  /* tokens that can come at once */
    bool last_only; /* results of the last one of them are wanted, [batch, 1, ...], not of all */
};

/*
 * Makes the graph of a model whose input CR_IDS is [batch, context] and whose output CR_LOGITS, or its
 * only output, is of each token: with the length CR_TOKENS up to how->chunk, the state CR_AT, and a
 * state for each tensor that later tokens look at.  Fails with the line of a node that looks at later
 * tokens, or that cannot go on from those before.
 */
int cr_incremental(const struct cr_graph *g, const struct cr_incremental_how *how,
                   struct cr_graph **result, const char *path, struct cr_error *error);

#endif
