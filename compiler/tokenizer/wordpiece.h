/*
 * wordpiece.h - WordPiece: splits a word from left to right into the longest tokens.
 *
 * In the vocabulary, tokens that continue a word begin with a prefix, such as "##ing".  A word that
 * is not a sequence of tokens becomes one unknown token.  Source: Schuster and Nakajima, "Japanese
 * and Korean voice search" (2012), as BERT applies it.
 */
#ifndef CR_WORDPIECE_H
#define CR_WORDPIECE_H

#include "tokenizer_part.h"

struct cr_wordpiece {
    const char *unknown; /* the text of the unknown token */
    const char *prefix;  /* begins tokens that continue a word */
    int64_t longest;     /* the most characters of a word; a longer word is unknown */
};

/* Reads the decoder WordPiece.  It removes the prefix of tokens and puts spaces between words; with
 * `cleanup`, not before punctuation and English contractions. */
int cr_read_wordpiece_decoder(struct cr_text_part *part, const struct cr_document *document,
                              int object, const char *where, struct cr_error *error);
int cr_decode_wordpiece(const struct cr_text_part *part, struct cr_decoding *state, const char *text,
                        size_t n, struct cr_text *out, struct cr_error *error);

#endif
