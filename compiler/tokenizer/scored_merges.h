/* scored_merges.h - derives the merges of SentencePiece's BPE: its files have scores of tokens
 * instead of merges. */
#ifndef CR_SCORED_MERGES_H
#define CR_SCORED_MERGES_H

#include "bpe.h"

/* The tokens of a file, by id. */
struct cr_scored_tokens {
    const double *scores;
    const bool *whole; /* the token is not split, so no merge makes it */
    int n;
};

/* Adds as merges all pairs of tokens that form a token.  Of several pairs in a text, the one whose
 * token has the highest score is merged first, and of equal scores the leftmost. */
int cr_add_scored_merges(struct cr_bpe *bpe, const struct cr_scored_tokens *tokens,
                         const char *path, struct cr_error *error);

#endif
