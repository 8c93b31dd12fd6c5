/*
 * wordpiece.h - WordPiece: splits a word into the longest tokens from left to right.
 *
 * Tokens after the first one of a word have a prefix in the vocabulary, such as "##ing".  If tokens
 * cannot make up a word, it becomes one unknown token.  Source: Schuster and Nakajima, "Japanese
 * and Korean voice search" (2012), as BERT applies it.
 */
#ifndef CR_WORDPIECE_H
#define CR_WORDPIECE_H

#include "tokenizer_part.h"

struct cr_wordpiece {
    const char *unknown; /* text of the unknown token */
    const char *prefix;  /* of tokens that continue a word */
    int64_t longest;     /* characters of a word; a longer word is unknown */
};

/* The decoder: removes the prefix of tokens, puts spaces between words and, with `cleanup`, none
 * before punctuation and English contractions. */
int cr_read_wordpiece_decoder(struct cr_text_part *part, const struct cr_document *document,
                              int object, const char *where, struct cr_error *error);
int cr_decode_wordpiece(const struct cr_text_part *part, struct cr_decoding *state, const char *text,
                        size_t n, struct cr_text *out, struct cr_error *error);

#endif
