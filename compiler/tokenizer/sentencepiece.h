/* sentencepiece.h - SentencePiece's normalizer as a part of a tokenizer.  Source: its class
 * `Normalizer`. */
#ifndef CR_SENTENCEPIECE_H
#define CR_SENTENCEPIECE_H

#include "tokenizer_part.h"

/* Appends SentencePiece's normalizer and returns it.  The caller sets its map, the texts that it
 * does not change, and its settings for spaces.  The normalizer puts a space only before the
 * first piece of a text. */
struct cr_text_part *cr_add_sentencepiece(struct cr_text_parts *normalizers);

/* Returns the score of a user-defined token in a unigram model, which files do not contain: a tenth
 * for each byte except the first, as in SentencePiece 0.2.3.  It exceeds the score of any path of
 * normal tokens. */
double cr_user_defined_score(size_t length);

#endif
