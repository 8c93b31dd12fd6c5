/*
 * unigram.h - the unigram language model of SentencePiece.  Of all ways to split a text into
 * tokens, it chooses the one with the greatest sum of scores, which are logarithms of
 * probabilities.
 *
 * Source: Kudo, "Subword regularization" (2018); the search is Viterbi's.
 */
#ifndef CR_UNIGRAM_H
#define CR_UNIGRAM_H

#include <stdbool.h>

#include "bpe.h"
#include "vocabulary.h"

struct cr_unigram {
    const struct cr_vocabulary *vocabulary;
    double *scores; /* by id; -INFINITY: the token is not searched for in texts */
    int n_scores, scores_cap;
    double unknown_score; /* the score of a character that is not a token; 0: 10 less than the
                             lowest score of a token */
    int32_t unknown;      /* the id of the unknown token, or -1 */
    int32_t bytes[256];   /* by byte: with byte_fallback, the id of the byte's token <0xHH>; else
                             -1 */
    bool byte_fallback;
    bool single; /* scores are added in float32, as in SentencePiece, and not in float64, as in
                    Hugging Face's library */
    uint32_t *longest; /* by a hash of a token's first bytes: the length of the longest token with
                          that hash */
};

/* Adds a token; its id is the number of tokens added before. */
int cr_add_unigram(struct cr_unigram *unigram, struct cr_vocabulary *vocabulary, const char *text,
                   size_t length, double score, const char *path, struct cr_error *error);

/* Builds the tables for encoding.  Call it once, after all tokens were added. */
void cr_index_unigram(struct cr_unigram *unigram);
void cr_free_unigram(struct cr_unigram *unigram);

/* Encodes a text and appends the ids.  Fails if a character is not a token and there is no unknown
 * token. */
int cr_unigram_encode(const struct cr_unigram *unigram, const char *text, size_t n,
                      struct cr_ids *ids, struct cr_error *error);

#endif
