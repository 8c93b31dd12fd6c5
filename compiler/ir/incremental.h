/*
 * incremental.h - converts a causal model of a whole sequence into one that continues a sequence.
 *
 * A causal model computes the result of a token from that token and earlier ones, so values of
 * earlier tokens need not be computed again: states keep them (for attention, the KV cache).  The
 * resulting graph takes the next n tokens; it follows from the ops alone, not from known layers.
 * Its results equal those of the whole sequence.
 */
#ifndef CR_INCREMENTAL_H
#define CR_INCREMENTAL_H

#include "error.h"
#include "graph.h"

#define CR_IDS "ids"       /* the input of tokens, i32 [batch, tokens] */
#define CR_LOGITS "logits" /* the output of the result, [batch, tokens, ...] */
#define CR_AT "at"         /* the state that counts the earlier tokens, one i32 */
#define CR_TOKENS "n"      /* the length that is the number of new tokens */

struct cr_incremental_how {
    int64_t chunk;  /* maximum number of new tokens in a run */
    bool last_only; /* the output has only the last token's result, [batch, 1, ...] */
};

/*
 * Converts a model with input CR_IDS, [batch, context], and with output CR_LOGITS, or one output
 * of any name, that has a row for each token.  *result gets the length CR_TOKENS with the bound
 * how->chunk, the state CR_AT, and a state for each tensor that later tokens read.  Fails, naming
 * a node's script line, if that node reads later tokens or cannot be computed token by token.
 */
int cr_incremental(const struct cr_graph *g, const struct cr_incremental_how *how,
                   struct cr_graph **result, const char *path, struct cr_error *error);

#endif
